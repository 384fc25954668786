"""Many workspaces through one process: each upstream sees its own credential and no other."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from demo.mcp_servers import FakeMcpServer, McpRequest, ModernServer, PlainServer, SessionServer
from tests.fakes.upstream_host import UpstreamHost
from tests.harness import Plugboard, Workspace, many_callers
from tests.toolbox.toolbox_client import ToolboxClient

WORKSPACES, CALLS = 20, 1000
KINDS = (PlainServer, ModernServer, SessionServer)


class ConnectionRecorder(FakeMcpServer):
    """Says which credentials came over which connection, to one origin that is shared by all."""

    def __init__(self, inner: FakeMcpServer) -> None:
        super().__init__()
        self.inner = inner
        self.by_connection: dict[Any, set[str]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", []))
        self.by_connection.setdefault(scope.get("client"), set()).add(headers[b"authorization"].decode())
        await self.inner(scope, receive, send)


def credential(number: int) -> str:
    return f"Bearer canary-of-workspace-{number:02}"


def opened(
    plugboard: Plugboard, upstream_host: UpstreamHost, number: int, fake: FakeMcpServer
) -> tuple[Workspace, str]:
    """A workspace with one agent that has one server."""
    toolbox = ToolboxClient(plugboard.make_workspace(), upstream_host)
    server = toolbox.server(fake, config={"headerValue": credential(number)})
    return toolbox.workspace, toolbox.agent(server)


async def called_by_all(plugboard: Plugboard, pairs: list[tuple[Workspace, str]]) -> Counter[int]:
    """A thousand calls in random order, forty at a time."""
    turns = [number % len(pairs) for number in range(CALLS)]
    random.shuffle(turns)
    done: Counter[int] = Counter()
    at_once = asyncio.Semaphore(40)
    callers = [many_callers(plugboard.url, workspace.key) for workspace, _ in pairs]

    async def call(number: int) -> None:
        workspace, agent = pairs[number]
        body = {"toolName": "mcp_weather_echo", "args": {"text": f"of workspace {number}"}}
        async with at_once:
            response = await callers[number].post(f"{workspace.agents}/{agent}/tool-calls", json=body)
        assert response.json()["text"] == f'{{"text": "of workspace {number}"}}', response.text
        done[number] += 1

    await asyncio.gather(*map(call, turns))
    for caller in callers:
        await caller.aclose()
    return done


def credentials_in(seen: list[McpRequest]) -> set[str]:
    return {item.headers["authorization"] for item in seen}


@pytest.mark.slow
@pytest.mark.requirement("EGR-10", "REL-18")
async def test_each_upstream_of_a_thousand_mixed_calls_sees_its_own_credential_only(
    connected: Plugboard, upstream_host: UpstreamHost
) -> None:
    fakes = [KINDS[number % len(KINDS)]() for number in range(WORKSPACES)]
    pairs = [opened(connected, upstream_host, number, fake) for number, fake in enumerate(fakes)]

    done = await called_by_all(connected, pairs)

    assert done == dict.fromkeys(range(WORKSPACES), CALLS // WORKSPACES)
    for number, fake in enumerate(fakes):
        assert credentials_in(fake.requests) == {credential(number)}
        assert len(fake.requests_for("tools/call")) == CALLS // WORKSPACES
        text = {request.message["params"]["arguments"]["text"] for request in fake.requests_for("tools/call")}
        assert text == {f"of workspace {number}"}


@pytest.mark.requirement("REL-18")
async def test_workspaces_that_use_the_same_upstream_share_no_connection_and_no_session(
    connected: Plugboard, upstream_host: UpstreamHost
) -> None:
    shared = SessionServer()
    watched = ConnectionRecorder(shared)
    pairs = [opened(connected, upstream_host, number, watched) for number in range(WORKSPACES)]

    await called_by_all(connected, pairs)

    assert all(len(credentials) == 1 for credentials in watched.by_connection.values())
    assert credentials_in(shared.requests) == {credential(number) for number in range(WORKSPACES)}
    by_session: dict[str, set[str]] = {}
    for request in shared.requests_for("tools/call"):
        by_session.setdefault(request.headers["mcp-session-id"], set()).add(request.headers["authorization"])
    assert len(by_session) >= WORKSPACES
    assert all(len(credentials) == 1 for credentials in by_session.values())


@pytest.mark.requirement("REL-18")
def test_a_new_credential_does_not_reuse_a_connection_of_the_old_one(
    connected: Plugboard, upstream_host: UpstreamHost
) -> None:
    watched = ConnectionRecorder(PlainServer())
    toolbox = ToolboxClient(connected.make_workspace(), upstream_host)
    server = toolbox.server(watched, config={"headerValue": credential(1)})
    agent = toolbox.agent(server)

    for number in (1, 2, 3):
        toolbox.change(server, config={"headerValue": credential(number)})
        for _ in range(3):
            toolbox.call(agent, "mcp_weather_echo")

    assert all(len(credentials) == 1 for credentials in watched.by_connection.values())
    assert set().union(*watched.by_connection.values()) == {credential(number) for number in (1, 2, 3)}


@pytest.mark.requirement("REL-18")
def test_two_servers_of_one_workspace_share_no_connection(connected: Plugboard, upstream_host: UpstreamHost) -> None:
    watched = ConnectionRecorder(PlainServer())
    toolbox = ToolboxClient(connected.make_workspace(), upstream_host)
    servers = [
        toolbox.server(watched, f"s-{number}", config={"headerValue": credential(number)}) for number in (1, 2, 3)
    ]
    agent = toolbox.agent(*servers)

    for _ in range(5):
        for number in (1, 2, 3):
            toolbox.call(agent, f"mcp_s-{number}_echo")

    assert all(len(credentials) == 1 for credentials in watched.by_connection.values())
