"""Results of a check, and its independence from breakers and caches."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from api.kit.transport_errors import Fault
from demo.mcp_servers import (
    ECHO,
    FakeMcpServer,
    LegacyServer,
    McpResponse,
    ModernServer,
    PlainServer,
    SessionServer,
    error,
    result,
)
from tests.fakes.stuck_server import StuckServer
from tests.toolbox.toolbox_client import SECRET, ToolboxClient, failure

CLOSED = {"state": "closed", "failures": 0, "retryAfter": 0}
NOBODY_THERE = "http://127.0.0.1:9/mcp"


@pytest.mark.parametrize(
    ("make", "protocol", "info"),
    [
        (ModernServer, "modern 2026-07-28", {"name": "modern", "version": "1"}),
        (SessionServer, "streamable 2025-11-25", {"name": "s", "version": "2"}),
        (lambda: SessionServer(streams=True), "streamable 2025-11-25", {"name": "s", "version": "2"}),
        (lambda: SessionServer(version="2025-06-18"), "streamable 2025-06-18", {"name": "s", "version": "2"}),
        (lambda: SessionServer(version="2025-03-26"), "streamable 2025-03-26", {"name": "s", "version": "2"}),
        (lambda: LegacyServer("messages?session=1"), "sse 2024-11-05", {"name": "old", "version": "0"}),
        (PlainServer, "plain", {}),
    ],
)
def test_a_server_that_works_is_ok(
    toolbox: ToolboxClient, make: Callable[[], FakeMcpServer], protocol: str, info: dict[str, str]
) -> None:
    server = toolbox.server(make())

    assert toolbox.check(server) == {
        "status": "ok",
        "protocol": protocol,
        "serverInfo": info,
        "toolCount": 1,
        "detail": "It answers.",
        "breaker": CLOSED,
    }


def refusing(status: int) -> Callable[[], FakeMcpServer]:
    """Says the same to everything."""
    names = ("server_discover", "initialize", "tools_list", "GET")
    return lambda: PlainServer(**dict.fromkeys(names, lambda _: McpResponse(status)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "status", "detail"),
    [
        (refusing(401), "unauthorized", "MCP server request failed: 401 Unauthorized"),
        (refusing(403), "unauthorized", "MCP server request failed: 403 Forbidden"),
        (refusing(500), "unreachable", "MCP server request failed: 500 Internal Server Error"),
        (refusing(503), "unreachable", "MCP server request failed: 503 Service Unavailable"),
        (refusing(404), "invalid", "MCP server request failed: 404 Not Found"),
        (refusing(301), "invalid", "MCP server request failed: 301 Moved Permanently"),
        (lambda: PlainServer(tools_list=lambda _: McpResponse(401)), "unauthorized", "MCP server request failed: 401"),
        (lambda: PlainServer(tools_list=lambda _: McpResponse(body=b"<html>")), "invalid", "The answer is not JSON."),
        (lambda: PlainServer(tools_list=lambda request: result(request, {})), "invalid", "The tools are not a list."),
        (lambda: PlainServer(tools_list=lambda request: error(request, -1, "No", data="why")), "invalid", "No - why"),
        (lambda: StuckServer("server/discover"), "unreachable", "no answer in time."),
        (lambda: StuckServer("tools/list"), "unreachable", "no answer in time."),
    ],
)
def test_a_broken_server_is_reported_with_the_reason(
    toolbox: ToolboxClient, make: Callable[[], FakeMcpServer], status: str, detail: str
) -> None:
    result = toolbox.check(toolbox.server(make(), timeoutSeconds=1))

    assert (result["status"], result["protocol"], result["toolCount"], result["serverInfo"]) == (status, None, None, {})
    assert result["detail"].startswith(f"Error calling MCP server: {detail}")
    assert result["breaker"] == CLOSED


def test_an_unreachable_server_is_reported(toolbox: ToolboxClient) -> None:
    result = toolbox.check(toolbox.server(PlainServer(), url=NOBODY_THERE))

    assert (result["status"], result["detail"]) == (
        "unreachable",
        f"Error calling MCP server: {Fault.CONNECTION_REFUSED.explanation}",
    )


def test_a_server_without_credentials_is_unauthorized_and_gets_no_request(toolbox: ToolboxClient) -> None:
    linear = toolbox.workspace.make_server(name="Linear", authType="oauth", serviceType="linear", url=None, config={})

    results = [toolbox.check(item) for item in (toolbox.workspace.make_silent_server(), linear)]

    assert [result["status"] for result in results] == ["unauthorized", "unauthorized"]
    assert "credentials" in results[0]["detail"]
    assert "connect it" in results[1]["detail"]


def test_a_disabled_server_can_be_checked(toolbox: ToolboxClient) -> None:
    assert toolbox.check(toolbox.server(PlainServer(), enabled=False))["status"] == "ok"


def test_omitted_tools_are_counted(toolbox: ToolboxClient) -> None:
    result = toolbox.check(toolbox.server(PlainServer([ECHO, ECHO, {"name": ""}, {}])))

    assert (result["status"], result["toolCount"]) == ("ok", 1)
    assert result["detail"].startswith("3 of its tools are left out")


@pytest.mark.requirement("TRS-03")
def test_a_check_reveals_no_secret(toolbox: ToolboxClient) -> None:
    def told(seen: Any) -> McpResponse:
        text = seen.headers["authorization"]
        meta = {"io.modelcontextprotocol/serverInfo": {"name": text, "version": "1\x1b[31m\u202e"}}
        return result(seen, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "_meta": meta})

    good = toolbox.check(toolbox.server(ModernServer(server_discover=told)))
    bad = toolbox.check(
        toolbox.server(PlainServer(tools_list=lambda s: error(s, -1, s.headers["authorization"])), slug="bad")
    )

    assert good["serverInfo"] == {"name": "[removed]", "version": "1"}
    assert bad["detail"] == "Error calling MCP server: [removed]"
    assert SECRET not in json.dumps([good, bad])


def test_a_check_bypasses_the_cache(toolbox: ToolboxClient) -> None:
    fake = PlainServer()
    server = toolbox.server(fake)

    first = toolbox.check(server)
    fake.handlers["tools/list"] = lambda _: McpResponse(500)
    second = toolbox.check(server)

    assert (first["status"], second["status"]) == ("ok", "unreachable")
    assert len(fake.requests_for("server/discover")) == 2


def test_the_session_of_a_check_is_closed(toolbox: ToolboxClient) -> None:
    fake = SessionServer()
    server = toolbox.server(fake)

    for _ in range(3):
        toolbox.check(server)
    agent = toolbox.agent(server)
    toolbox.call(agent, "mcp_weather_echo")

    assert fake.sessions_created == 4
    assert len(fake.sessions) == 1


@pytest.mark.requirement("REL-15")
def test_a_check_does_not_count_for_the_breaker(toolbox: ToolboxClient) -> None:
    fake = PlainServer()
    server = toolbox.server(fake)
    agent = toolbox.agent(server)
    toolbox.list(agent)
    fake.handlers["tools/list"] = lambda _: McpResponse(500)

    for _ in range(6):
        assert toolbox.check(server)["breaker"] == CLOSED
        assert toolbox.tools_of(server, refresh="true")["unavailable"][0]["reason"] == "unreachable"

    assert toolbox.call(agent, "mcp_weather_echo")["isError"] is False


@pytest.mark.requirement("REL-15")
def test_a_check_shows_the_breaker_without_changing_it(toolbox: ToolboxClient) -> None:
    fake = PlainServer(tools_call=lambda _: McpResponse(503))
    server = toolbox.server(fake)
    agent = toolbox.agent(server)
    for _ in range(5):
        failure(toolbox.call(agent, "mcp_weather_echo"))

    result = toolbox.check(server)

    assert result["status"] == "ok"
    assert (result["breaker"]["state"], result["breaker"]["failures"]) == ("open", 5)
    assert 1 <= result["breaker"]["retryAfter"] <= 12
    assert failure(toolbox.call(agent, "mcp_weather_echo"))[0] == "upstream_unavailable"
    assert len(fake.requests_for("tools/call")) == 5


def test_a_server_of_another_workspace_is_not_checked(toolbox: ToolboxClient, upstream_host: Any) -> None:
    fake, other = PlainServer(), ToolboxClient(toolbox.workspace.plugboard.make_workspace(), upstream_host)
    foreign = other.server(fake)

    for response in (
        toolbox.admin.post(f"{toolbox.workspace.servers}/{foreign['id']}/check"),
        toolbox.admin.get(f"{toolbox.workspace.servers}/{foreign['id']}/tools"),
    ):
        assert response.status_code == 404
    assert not fake.requests
