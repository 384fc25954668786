"""The README's lines do what it says, on a real Plugboard."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_types.methods import validate_server_result

from api.access.api_key import KEY_PATTERN
from api.agents.schemas import MAX_SERVERS
from api.http.request_body import MAX_BODY_BYTES
from api.kit.egress.policy import EgressPolicy
from api.main.settings import Settings
from api.toolbox.calling.bulkheads import Bulkheads
from api.toolbox.calling.circuit_breakers import FAILURES_TO_OPEN, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS
from api.toolbox.failures import FailureKind
from api.toolbox.json_schema.validation import MAX_DEPTH, MAX_VALUES
from api.toolbox.listing.client_formats import OPENAI_DESCRIPTION
from api.toolbox.listing.tool_list import LIST_SECONDS
from api.toolbox.output.results import MAX_BLOCKS, MAX_MEDIA, MAX_STRUCTURED, MAX_TEXT
from api.toolbox.schemas import UnavailableView
from api.toolbox.toolsets.catalog import LONGEST_TEXT, LONGEST_TOOL
from api.toolbox.toolsets.http import LIMITS
from integrations.mcp.tools import MAX_BYTES, MAX_TOOLS
from tests.conformance.browser import Browser
from tests.e2e.process import free_port, until
from tests.fakes.authorization_server import authorization_server
from tests.fakes.mcp_servers import MODERN
from tests.harness import Workspace, caller, served

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
DEMO = "http://127.0.0.1:8401"
AT_HOME = EgressPolicy.parse("127.0.0.1/32")
# What only one of the README's blocks holds, and the test that runs that block.
RUN_BY = {
    "make run ": "tests/e2e/test_first_start.py",
    "make demo": "tests/e2e/test_first_start.py",
    "mcp_weather_get_weather": "here",
    "billing.example.com": "here",
    "/oauth/authorize": "here",
    "posthog": "here",
    "PLUGBOARD_STORE=dynamodb": "tests/e2e/test_first_start.py",
    "VACUUM INTO": "here",
}
# The vendors' clients, scripted: they want the weather and a tool that there is not, and tell what came of it.
OPENAI = """
from types import SimpleNamespace as Given

class OpenAI:
    def __init__(self):
        self.chat = self.completions = self

    def create(self, model, messages, tools):
        assert (model, tools[1]["type"]) == ("a-model", "function")
        told = [each["content"] for each in messages if isinstance(each, dict) and each["role"] == "tool"]
        wanted = [(tools[1]["function"]["name"], '{"city": "Oslo"}'), ("mcp_made_up", "")]
        used = [Given(id=name, function=Given(name=name, arguments=args)) for name, args in wanted if not told]
        return Given(choices=[Given(message=Given(content=" | ".join(told), tool_calls=used))])
"""
ANTHROPIC = """
from types import SimpleNamespace as Given

class Anthropic:
    def __init__(self):
        self.messages = self

    def create(self, model, max_tokens, messages, tools):
        assert (model, tools[1].keys()) == ("a-model", {"name", "description", "input_schema"})
        results = messages[-1]["content"] if len(messages) > 1 else []
        assert [each["is_error"] for each in results] in ([], [False, True])
        wanted = [(tools[1]["name"], {"city": "Oslo"}), ("mcp_made_up", {})]
        used = [Given(type="tool_use", id=name, name=name, input=args) for name, args in wanted if not results]
        said = Given(type="text", text=" | ".join(each["content"] for each in results))
        return Given(content=[*used, said])
"""
CLIENTS = {"openai": OPENAI, "anthropic": ANTHROPIC}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def block(sign: str) -> str:
    (found,) = [each for each in blocks("sh") if sign in each]
    return found


def calls(sign: str, demo: str) -> str:
    """A block that calls the API, without the two lines in which the reader fills in what was printed."""
    return re.sub(r"^(URL|KEY)=.*…\n", "", block(sign), flags=re.MULTILINE).replace(DEMO, demo)


def shown() -> Any:
    (answer,) = blocks("json")
    return json.loads(answer)


def run(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    if not all(map(shutil.which, ("bash", "curl", "python3"))):
        pytest.skip("the README's lines need bash, curl and python3")
    path = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(command, cwd=folder, env=path | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_a_shell(lines: str, folder: Path, **environment: str) -> list[str]:
    said = run(["bash", "-euo", "pipefail", "-c", lines], folder, **environment)
    return [line for line in said.splitlines() if line]


@contextmanager
def demo() -> Iterator[str]:
    port = free_port()
    popen = subprocess.Popen([sys.executable, "examples/weather.py", str(port)], cwd=PROJECT, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: is_up(url))
        yield url
    finally:
        popen.terminate()
        popen.wait()


def is_up(url: str) -> bool:
    try:
        with caller(url) as anyone:
            return anyone.get("/mcp").status_code == 405
    except httpx2.TransportError:
        return False


@dataclass(frozen=True)
class Reader:
    """Has begun the tour, with a Plugboard and the demo running."""

    workspace: Workspace
    demo: str
    folder: Path

    @property
    def filled_in(self) -> dict[str, str]:
        return {"URL": f"{self.workspace.plugboard.url}{self.workspace.path}", "KEY": self.workspace.key}

    def calls(self, *signs: str, then: str = "") -> list[str]:
        lines = "\n".join([*(calls(sign, self.demo) for sign in signs), then])
        return in_a_shell(lines, self.folder, **self.filled_in)


def nowhere(_: str) -> Sequence[str]:
    raise OSError("no name leads anywhere in a test")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    settings = Settings(data_dir=tmp_path / "var", egress=AT_HOME)
    with demo() as url, served(settings, lookup=nowhere) as plugboard:
        yield Reader(plugboard.make_workspace(), url, tmp_path)


def test_every_block_of_the_shell_is_run_by_a_test() -> None:
    assert sorted(block(sign) for sign in RUN_BY) == sorted(blocks("sh"))


def test_the_tour_ends_with_the_answer_that_is_shown(reader: Reader) -> None:
    check, listed, answer = map(json.loads, reader.calls("mcp_weather_get_weather"))

    assert (check["status"], check["protocol"], check["toolCount"]) == ("ok", "modern 2026-07-28", 2)
    names = [tool["name"] for tool in listed["tools"]]
    assert names[0].startswith("mcp_server_")
    assert names[1:] == ["mcp_weather_get_weather", "mcp_weather_get_forecast"]
    assert answer == shown()


def test_the_calls_after_it_do_what_the_readme_says(reader: Reader) -> None:
    _, _, _, *said = reader.calls("mcp_weather_get_weather", "billing.example.com")
    servers, agent, listed, refused, audit = map(json.loads, said)

    assert {server["name"]: server["configured"] for server in servers} == {"Weather": [], "Billing": ["headerValue"]}
    assert list(agent["enabledMcpServerToolNames"].values()) == [["get_invoice"]]
    assert [(each["name"], each["reason"]) for each in listed["unavailable"]] == [("Billing", "unreachable")]
    assert len(listed["tools"]) == 3
    assert (refused["status"], refused["code"]) == (409, "in_use")
    assert [record["action"] for record in audit[:2]] == ["server.deleted", "agent.updated"]
    assert "a-token" not in "".join(said)


def test_the_lines_for_connect_connect_a_server_and_disconnect_it(tmp_path: Path) -> None:
    begin, look = block("/oauth/authorize").split("# Who is connected")
    functions = "".join(re.findall(r"^\w+\(\) .*\n", block("mcp_weather_get_weather"), re.MULTILINE))
    with authorization_server() as provider:
        acme = provider.tenant("acme")
        settings = Settings.from_environment(provider.environment() | {"PLUGBOARD_DATA_DIR": str(tmp_path / "var")})
        with served(settings) as plugboard:
            reader = Reader(plugboard.make_workspace(), acme.mcp_url, tmp_path)
            begun = functions + begin.replace("https://mcp.example.com/mcp", acme.mcp_url) + 'echo "$ISSUES"'

            page, issues = in_a_shell(begun, tmp_path, **reader.filled_in)
            came = Browser(settings.public_url, plugboard.url).connect(json.loads(page)["authUrl"])
            said = in_a_shell(f"{functions}#{look}", tmp_path, ISSUES=issues, **reader.filled_in)
            until(lambda: not acme.live("access"))
            servers = reader.workspace.admin.get(reader.workspace.servers).json()

    assert came == {"connected": issues}
    assert [json.loads(line)["connected"] for line in said] == [True, False]
    assert {each["name"]: each["serviceType"] for each in servers} == {"Issues": "external", "Tasks": "linear"}


def test_the_lines_for_services_call_their_tools(tmp_path: Path) -> None:
    functions = "".join(re.findall(r"^\w+\(\) .*\n", block("mcp_weather_get_weather"), re.MULTILINE))
    with authorization_server() as provider:
        settings = Settings.from_environment(provider.environment() | {"PLUGBOARD_DATA_DIR": str(tmp_path / "var")})
        with served(settings) as plugboard:
            reader = Reader(plugboard.make_workspace(), "", tmp_path)
            tasks = {"name": "Tasks", "authType": "oauth", "serviceType": "linear", "url": None, "config": {}}
            server = reader.workspace.make_server(**tasks)["id"]
            begun = reader.workspace.admin.get(f"{reader.workspace.servers}/{server}/oauth/authorize").json()
            Browser(settings.public_url, plugboard.url).connect(begun["authUrl"])

            said = in_a_shell(functions + block("posthog"), tmp_path, TASKS=server, **reader.filled_in)

    issues, events = map(json.loads, said)
    assert [each["identifier"][:4] for each in issues["structuredContent"]["issues"]] == ["ENG-"] * 3
    assert len(events["structuredContent"]["rows"]) > 1
    assert [each["isError"] for each in (issues, events)] == [False, False]


@pytest.mark.parametrize("vendor", CLIENTS)
def test_the_lines_for_a_vendors_client_give_it_the_tools_and_what_came_of_its_calls(
    reader: Reader, vendor: str
) -> None:
    *_, agent = reader.calls("mcp_weather_get_weather", then='echo "$AGENT"')
    (reader.folder / f"{vendor}.py").write_text(CLIENTS[vendor], encoding="utf-8")
    shared, *clients = blocks("python")
    (lines,) = [each for each in clients if f"from {vendor} import" in each]

    said = run([sys.executable, "-c", shared + lines], reader.folder, **reader.filled_in, AGENT=agent, MODEL="a-model")

    weather, made_up = said.strip().split(" | ")
    assert weather == shown()["text"]
    assert made_up == "Error: tool mcp_made_up is not in this agent's toolbox. Its tools are listed at `tools`."


def test_a_backup_made_as_the_readme_says_can_be_served(reader: Reader) -> None:
    stored = reader.workspace.make_server()

    in_a_shell(block("VACUUM INTO"), reader.folder)

    with (
        served(Settings(data_dir=reader.folder / "backup")) as restored,
        restored.caller(reader.workspace.key) as admin,
    ):
        assert admin.get(f"{reader.workspace.servers}/{stored['id']}").json() == stored


def posted(url: str, method: str, params: Mapping[str, Any], **headers: str) -> httpx2.Response:
    with caller(url) as anyone:
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return anyone.post("/mcp", json=message, headers=headers)


def result(answer: httpx2.Response) -> dict[str, Any]:
    """Raises where there is none."""
    found: dict[str, Any] = answer.json()["result"]
    return found


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "get_forecast", "arguments": {"city": "Lisbon"}}),
        ("tools/call", {"name": "get_weather", "arguments": {"city": "Rome"}}),
    ],
)
def test_the_demo_answers_as_the_newest_protocol_has_it(method: str, params: dict[str, Any]) -> None:
    with demo() as url:
        found = result(posted(url, method, params, **{"MCP-Protocol-Version": MODERN, "Mcp-Method": method}))

    validate_server_result(method, MODERN, found)


def test_the_demo_answers_earlier_clients_too() -> None:
    with demo() as url:
        greeted = result(posted(url, "initialize", {"protocolVersion": "2025-06-18"}))
        called = result(posted(url, "tools/call", {"name": "get_forecast", "arguments": {"city": "Oslo", "days": 2}}))
        lost = result(posted(url, "tools/call", {"name": "get_weather", "arguments": {"city": "Rome"}}))

    assert greeted["protocolVersion"] == "2025-11-25"
    assert called["content"] == [{"type": "text", "text": "Oslo: 4 °C, then 2 °C."}]
    assert lost["isError"]


def test_the_demo_refuses_a_request_whose_headers_say_something_else() -> None:
    newest = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call"}
    with demo() as url:
        refused = posted(url, "tools/list", {}, **newest)
        unknown = posted(url, "tools/none", {}, **newest | {"Mcp-Method": "tools/none"})

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, -32601)


def test_the_kinds_of_failures_are_those_of_the_code() -> None:
    assert re.findall(r"^\| `([a-z_]+)` \|", section("When a call fails"), re.MULTILINE) == list(FailureKind)


def test_the_reasons_why_tools_are_missing_are_those_of_the_contract() -> None:
    told = UnavailableView.model_fields["reason"].description or ""
    names = set(re.findall(r"`([a-z_]+)`", told))

    assert names <= set(re.findall(r"`([a-z_]+)`", section("Tools and their names")))


def test_the_limits_are_those_of_the_code() -> None:
    full = [each.default for each in signature(Bulkheads).parameters.values()]
    told = [
        "{} to one server, {} from one workspace, {} in one process".format(*full),
        f"after {FAILURES_TO_OPEN} (no connection",
        f"about {FIRST_PAUSE_SECONDS:g} seconds, and each time twice as long, up to {LONGEST_PAUSE_SECONDS / 60:g} min",
        f"a body of {MAX_BODY_BYTES // 2**20} MB, {MAX_DEPTH} levels, {MAX_VALUES:,} values",
        f"| an upstream's answer | {LIMITS.decoded // 2**20} MB |",
        f"{MAX_TEXT:,} characters of text, {MAX_STRUCTURED:,} bytes of `structuredContent`, {MAX_MEDIA // 10**6} MB of",
        f"{MAX_BLOCKS} parts",
        f"{MAX_TOOLS} tools, {MAX_BYTES // 2**20} MB; with more",
        f"more than {LONGEST_TOOL:,} characters is left out",
        f"cut at {LONGEST_TEXT:,} characters (for OpenAI at {OPENAI_DESCRIPTION}",
    ]

    assert [each for each in told if each not in section("Limits")] == []
    assert f"answers within {LIST_SECONDS:g} seconds" in README
    assert f"An agent enables {MAX_SERVERS} servers at the most" in README


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_pattern_for_secret_scanners_is_that_of_the_code() -> None:
    assert f"`{KEY_PATTERN.pattern}`" in README
