"""Failures of a server are told apart for people, while agents read one short text."""

from __future__ import annotations

import datetime as dt
import json
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from api.kit.egress.policy import EgressPolicy
from api.kit.logs import JsonLines, RequestLine
from api.kit.transport_errors import Fault
from api.main.settings import Settings
from demo.mcp_servers import McpResponse, PlainServer, error
from tests.fakes.certificates import Authority
from tests.fakes.hostile_mcp import mcp
from tests.fakes.raw_upstream import upstream_in_thread
from tests.harness import Plugboard, Workspace, listening, served
from tests.toolbox.toolbox_client import ToolboxClient, failure, generic

HOST, OTHER_HOST = "mcp.example.com", "other.example.com"
UNKNOWN_HOST, INTERNAL_HOST, LOST_HOST = "unknown.example.com", "internal.example.com", "lost.example.com"
YESTERDAY = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
TOMORROW = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
NOT_REACHED = "Error calling MCP server: The upstream could not be reached."
AT_HOME = EgressPolicy.parse("127.0.0.1/32")
NONE: dict[str, Any] = {"authType": "none", "config": {}}


def lookup(name: str) -> Sequence[str]:
    if name == UNKNOWN_HOST:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    if name == LOST_HOST:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    return ["10.1.2.3"] if name == INTERNAL_HOST else ["127.0.0.1"]


@dataclass(frozen=True)
class Diagnosed:
    plugboard: Plugboard
    authority: Authority

    def workspace(self) -> Workspace:
        return self.plugboard.make_workspace()


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Diagnosed]:
    authority = Authority(tmp_path_factory.mktemp("authority"))
    settings = Settings(data_dir=tmp_path_factory.mktemp("diagnosed"), egress=AT_HOME)
    with served(settings, lookup=lookup, trust=authority.trusted()) as plugboard:
        yield Diagnosed(plugboard, authority)


@contextmanager
def speaking_tls(authority: Authority, host: str = HOST, **validity: Any) -> Iterator[str]:
    with upstream_in_thread(mcp({}), tls=authority.serving(host, **validity)) as there:
        yield there.url("/mcp", host=HOST, scheme="https")


@contextmanager
def without_tls(_: Authority) -> Iterator[str]:
    with listening(PlainServer()) as url:
        yield f"https://{HOST}:{urlsplit(url).port}/mcp"


@contextmanager
def closed_port(_: Authority) -> Iterator[str]:
    with socket.socket() as bound:  # it never listens
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"


@contextmanager
def full_port(_: Authority) -> Iterator[str]:
    """Its queue of connections is full, so that Linux drops further ones without an answer."""
    with ExitStack() as sockets:
        listening = sockets.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(2):
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


@contextmanager
def silent_port(_: Authority) -> Iterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


@contextmanager
def elsewhere(host: str) -> Iterator[str]:
    yield f"https://{host}/mcp"


Place = Callable[[Authority], Any]
PLACES: dict[Fault, Place] = {
    Fault.UNKNOWN_HOST: lambda _: elsewhere(UNKNOWN_HOST),
    Fault.LOOKUP_FAILED: lambda _: elsewhere(LOST_HOST),
    Fault.EGRESS_REFUSED: lambda _: elsewhere(INTERNAL_HOST),
    Fault.CONNECTION_REFUSED: closed_port,
    Fault.CONNECT_TIMEOUT: full_port,
    Fault.READ_TIMEOUT: silent_port,
    Fault.TLS_FAILED: without_tls,
    Fault.CERTIFICATE_EXPIRED: lambda authority: speaking_tls(authority, ends=YESTERDAY),
    Fault.CERTIFICATE_NOT_YET_VALID: lambda authority: speaking_tls(authority, begins=TOMORROW),
    Fault.CERTIFICATE_UNTRUSTED: lambda authority: speaking_tls(Authority(authority.folder, "Another authority")),
    Fault.CERTIFICATE_OF_ANOTHER_NAME: lambda authority: speaking_tls(authority, OTHER_HOST),
}
TIMEOUTS = {
    Fault.CONNECT_TIMEOUT: "Error calling MCP server: no connection in time. Nothing was sent.",
    Fault.READ_TIMEOUT: "Error calling MCP server: no answer within 2 s.",
}


def lines(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    records = [record for record in caplog.records if record.getMessage() == message]
    return [json.loads(JsonLines().format(record)) for record in records]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("fault", PLACES, ids=lambda fault: fault.value)
def test_a_failure_is_told_apart_in_check_list_and_log(
    diagnosed: Diagnosed, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    workspace = diagnosed.workspace()
    with PLACES[fault](diagnosed.authority) as url, caplog.at_level(logging.INFO):
        server = workspace.make_server(url=url, timeoutSeconds=2, **NONE)
        agent = workspace.make_agent(enabledMcpServerIds=[server["id"]])["id"]
        checked = workspace.admin.post(f"{workspace.servers}/{server['id']}/check")
        listed = workspace.admin.get(f"{workspace.agents}/{agent}/tools")
        call = {"toolName": generic(server), "args": {"method": "tools/list"}}
        called = workspace.admin.post(f"{workspace.agents}/{agent}/tool-calls", json=call)

    (unavailable,) = listed.json()["unavailable"]
    assert checked.json()["status"] == "unreachable"
    assert checked.json()["detail"].endswith(fault.explanation)
    assert unavailable["detail"].endswith(fault.explanation)
    assert failure(called.json())[1].startswith(TIMEOUTS.get(fault, NOT_REACHED))
    assert fault.explanation not in called.text
    shared = {"level": "warning", "workspace": workspace.id, "server": server["id"], "cause": fault.value}
    for message, response, its_agent in (
        ("check failed", checked, None),
        ("tools not listed", listed, agent),
        ("tool call failed", called, agent),
    ):
        (line,) = lines(caplog, message)
        assert {name: line.get(name) for name in shared} == shared
        assert (line["request_id"], line.get("agent")) == (response.headers["X-Request-Id"], its_agent)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_valid_certificate_of_the_host_is_accepted(diagnosed: Diagnosed) -> None:
    workspace = diagnosed.workspace()
    with speaking_tls(diagnosed.authority) as url:
        server = workspace.make_server(url=url, **NONE)
        checked = workspace.admin.post(f"{workspace.servers}/{server['id']}/check").json()

    assert checked["status"] == "ok"


@pytest.mark.requirement("EGR-16")
def test_no_text_for_people_names_an_address(diagnosed: Diagnosed) -> None:
    workspace = diagnosed.workspace()
    server = workspace.make_server(url=f"https://{INTERNAL_HOST}/mcp", **NONE)

    checked = workspace.admin.post(f"{workspace.servers}/{server['id']}/check").text

    assert "10.1.2.3" not in checked
    assert INTERNAL_HOST not in checked


@pytest.mark.parametrize(
    ("answer", "outcome", "cause"),
    [
        (lambda _: McpResponse(503), "upstream_unavailable", "status_503"),
        (lambda _: McpResponse(429), "rate_limited", "status_429"),
        (lambda request: error(request, -32000, "canary"), "upstream_refused", "rpc_error_-32000"),
        (lambda _: McpResponse(body=b"<html>canary"), "upstream_unavailable", "response_not_usable"),
    ],
)
def test_a_refusal_is_logged_with_its_kind_and_without_its_text(
    toolbox: ToolboxClient, answer: Any, outcome: str, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    agent = toolbox.agent(toolbox.server(PlainServer(tools_call=answer)))

    with caplog.at_level(logging.INFO):
        toolbox.call(agent, "mcp_weather_echo")

    (line,) = lines(caplog, "tool call failed")
    assert (line["level"], line["outcome"], line["cause"]) == ("warning", outcome, cause)
    assert "canary" not in json.dumps(line)


def test_wrong_arguments_are_no_failure_of_the_server(toolbox: ToolboxClient, caplog: pytest.LogCaptureFixture) -> None:
    agent = toolbox.agent(toolbox.server(PlainServer()))

    with caplog.at_level(logging.INFO):
        result = toolbox.call(agent, "mcp_weather_echo", {"text": 5})

    assert result["error"]["kind"] == "invalid_arguments"
    assert lines(caplog, "tool call failed") == []


UNCHECKED: dict[str, Any] = {
    "loop": {"$ref": "#/$defs/canary-nowhere"},
    "typo": {"type": "canary-strnig"},
    "lookahead": {"type": "object", "properties": {"a": {"pattern": "^(?!canary)"}}},
}
"""By tool, schemas that cannot be applied, or not in full."""


def test_a_schema_that_cannot_be_applied_is_logged_once_a_list(
    toolbox: ToolboxClient, caplog: pytest.LogCaptureFixture
) -> None:
    fine = {"name": "fine", "inputSchema": {"type": "object"}}
    fake = PlainServer([fine, *({"name": name, "inputSchema": schema} for name, schema in UNCHECKED.items())])
    server = toolbox.server(fake)
    agent = toolbox.agent(server)

    with caplog.at_level(logging.INFO):
        for name in (*UNCHECKED, *UNCHECKED, "fine"):
            toolbox.call(agent, f"mcp_weather_{name}")
        logged = lines(caplog, "arguments not checked in full")
        toolbox.tools_of(server, refresh="true")
        toolbox.call(agent, "mcp_weather_typo")

    assert [(line["level"], line["workspace"], line["server"]) for line in logged] == [
        ("info", toolbox.workspace.id, server["id"])
    ] * 3
    assert [line["detail"] for line in logged] == [
        "loop: The schema is invalid.",
        "typo: The schema is invalid.",
        "lookahead: The schema has patterns or formats that cannot be applied.",
    ]
    again = lines(caplog, "arguments not checked in full")[3:]
    assert [line["detail"] for line in again] == ["typo: The schema is invalid."]
    assert "canary" not in json.dumps(logged)


def test_of_a_list_few_schemas_that_cannot_be_applied_are_logged(
    toolbox: ToolboxClient, caplog: pytest.LogCaptureFixture
) -> None:
    many = [f"t{number}" for number in range(40)]
    fake = PlainServer([{"name": name, "inputSchema": {"type": "strnig"}} for name in many])
    agent = toolbox.agent(toolbox.server(fake))

    with caplog.at_level(logging.INFO):
        for name in many:
            toolbox.call(agent, f"mcp_weather_{name}")

    assert len(lines(caplog, "arguments not checked in full")) == 20


@pytest.mark.parametrize(
    ("answer", "level", "outcome"),
    [(None, "info", "ok"), (lambda _: McpResponse(503), "warning", "upstream_unavailable")],
    ids=["a success", "a failure"],
)
def test_the_line_of_a_request_shows_how_its_call_ended(tmp_path: Path, answer: Any, level: str, outcome: str) -> None:
    seen: list[RequestLine] = []
    settings = Settings(data_dir=tmp_path, egress=AT_HOME)
    with (
        listening(PlainServer(**{"tools_call": answer} if answer else {})) as url,
        served(settings, access_log=seen.append) as plugboard,
    ):
        workspace = plugboard.make_workspace()
        server = workspace.make_server(name="W", url=f"{url}/mcp", **NONE)
        agent = workspace.make_agent(enabledMcpServerIds=[server["id"]])["id"]
        workspace.admin.post(f"{workspace.agents}/{agent}/tool-calls", json={"toolName": "mcp_w_echo", "args": {}})

    line = seen[-1]
    assert (line.status, line.level, line.outcome) == (200, level, outcome)
    assert {other.level for other in seen[:-1]} == {"info"}
