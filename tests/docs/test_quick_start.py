"""The README's blocks do what it says, on a real Plugboard."""

import json
import re
import sys
from pathlib import Path

from api.main.settings import Settings
from demo.oauth_provider.server import oauth_provider
from tests.docs.clients import OPENAI_ONCE
from tests.docs.reader import Reader, functions_of, run
from tests.documents import README
from tests.harness import served

QUICK_START = "mcp_weather_get_weather"


def test_the_quick_start_ends_with_the_shown_response(reader: Reader) -> None:
    check, tools, answer = map(json.loads, reader.run(README, QUICK_START))

    assert (check["status"], check["protocol"], check["toolCount"]) == ("ok", "modern 2026-07-28", 2)
    names = [tool["name"] for tool in tools["tools"]]
    assert names[0].startswith("mcp_server_")
    assert names[1:] == ["mcp_weather_get_weather", "mcp_weather_get_forecast"]
    assert answer == json.loads(*README.blocks_in("json"))


def test_a_second_run_of_the_quick_start_has_the_tool_that_the_readme_names(reader: Reader) -> None:
    reader.run(README, QUICK_START)

    _, tools, _ = map(json.loads, reader.run(README, QUICK_START))

    (name,) = re.findall(r"`(mcp_weather-2_\w+)`", README.text)
    assert name in [tool["name"] for tool in tools["tools"]]


def test_a_refused_request_prints_what_to_change(reader: Reader) -> None:
    create = """api "$URL/mcp-servers" -d '{"name": "Home", "url": "http://10.0.0.1/mcp", "authType": "none"}' """

    printed = reader.type(f"{functions_of(README)}! SERVER=$({create} | id_of 2> refused.json) && cat refused.json")

    problem = json.loads("".join(printed))
    assert (problem["code"], [error["path"] for error in problem["errors"]]) == ("invalid", ["url"])


def test_the_lines_for_connect_return_a_link(tmp_path: Path) -> None:
    with oauth_provider() as provider:
        settings = Settings.from_environment(provider.environment() | {"PLUGBOARD_DATA_DIR": str(tmp_path / "var")})
        with served(settings) as plugboard:
            moved = {"https://mcp.example.com/mcp": provider.tenant("acme").mcp_url}
            reader = Reader(plugboard.make_workspace(), tmp_path, moved)
            block = reader.shell_lines(README.block("sh", "/oauth/authorize"))
            (link,) = reader.type(functions_of(README) + block)

    assert json.loads(link)["authUrl"].startswith(f"{settings.public_url}/connect/")


def test_the_lines_for_a_model_client_call_a_tool(reader: Reader) -> None:
    *_, agent = reader.run(README, QUICK_START, then='echo "$AGENT"')
    (reader.folder / "openai.py").write_text(OPENAI_ONCE, encoding="utf-8")
    (lines,) = README.blocks_in("python")

    printed = run([sys.executable, "-c", lines], reader.folder, **reader.variables, AGENT=agent, MODEL="a-model")

    assert printed.strip() == json.loads(*README.blocks_in("json"))["text"]
