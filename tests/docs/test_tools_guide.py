"""The blocks of `docs/tools.md`."""

import json
import sys

import pytest

from tests.docs.clients import CLIENTS
from tests.docs.reader import Reader, run
from tests.documents import README, guide

TOOLS = guide("tools")
WEATHER = json.loads(*README.blocks_in("json"))


@pytest.fixture
def ids(reader: Reader) -> dict[str, str]:
    """What the quick start has made."""
    server, agent = reader.run(README, "mcp_weather_get_weather", then='echo "$SERVER"; echo "$AGENT"')[-2:]
    return {"SERVER": server, "AGENT": agent}


def test_the_tools_of_an_agent_are_listed_called_and_limited(reader: Reader, ids: dict[str, str]) -> None:
    listed, answer, of_server, agent, for_openai = map(json.loads, reader.run(TOOLS, "api() {", **ids))

    assert len(listed["tools"]) == 3
    assert answer == WEATHER
    assert [tool["upstreamName"] for tool in of_server["tools"]] == ["get_weather", "get_forecast"]
    assert agent["enabledMcpServerToolNames"] == {ids["SERVER"]: ["get_weather"]}
    assert [tool["function"]["name"] for tool in for_openai["tools"]] == ["mcp_weather_get_weather"]


@pytest.mark.parametrize("vendor", CLIENTS)
def test_the_agent_loop_calls_tools_and_returns_their_results(reader: Reader, ids: dict[str, str], vendor: str) -> None:
    (reader.folder / f"{vendor}.py").write_text(CLIENTS[vendor], encoding="utf-8")
    shared, *loops = TOOLS.blocks_in("python")
    (loop,) = [block for block in loops if f"from {vendor} import" in block]

    printed = run([sys.executable, "-c", shared + loop], reader.folder, **reader.variables, **ids, MODEL="a-model")

    weather, made_up = printed.strip().split(" | ")
    assert weather == WEATHER["text"]
    assert "mcp_made_up" in made_up
