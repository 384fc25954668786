"""Sessions and protocols that are kept between calls, and when they end."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from api.agents.service import AgentService
from api.kit.deadline import Deadline
from api.main.container import Container, build_container
from api.main.settings import Settings
from api.servers.server import Server
from api.servers.service import ServerService
from api.toolbox.listing.client_formats import FORMATS, render
from api.toolbox.listing.known_tools import StoredKnownTools
from api.toolbox.service import ToolboxService
from api.toolbox.toolsets.registry import IDLE_SECONDS, SHUTDOWN_SECONDS
from api.toolbox.toolsets.toolset import Toolset
from demo.mcp_servers import NO_RESPONSE, FakeMcpServer, LegacyServer, ModernServer, PlainServer, SessionServer
from tests.fakes.still_clock import StillClock
from tests.fakes.upstream_host import UpstreamHost
from tests.harness import Workspace, bearer, many_callers, served
from tests.toolbox.conftest import AT_HOME
from tests.toolbox.toolbox_client import ToolboxClient, generic, wait_until

ECHO_TOOL = "mcp_weather_echo"


def test_calls_share_one_session(toolbox: ToolboxClient) -> None:
    fake = SessionServer()
    server = toolbox.server(fake)
    agent, other = toolbox.agent(server), toolbox.agent(server)

    for item in (agent, other, agent):
        toolbox.call(item, ECHO_TOOL)
    toolbox.call(agent, generic(server), {"method": "tools/list"})

    assert fake.sessions_created == 1


async def test_first_calls_at_the_same_time_leave_one_session(toolbox: ToolboxClient) -> None:
    fake = SessionServer()
    agent = toolbox.agent(toolbox.server(fake))
    path = f"{toolbox.workspace.agents}/{agent}/tool-calls"

    async with many_callers(toolbox.workspace.plugboard.url, toolbox.workspace.key) as caller:
        responses = await asyncio.gather(*(caller.post(path, json={"toolName": ECHO_TOOL}) for _ in range(30)))

    assert {response.json()["isError"] for response in responses} == {False}
    await asyncio.to_thread(wait_until, lambda: len(fake.sessions) == 1)


def test_an_expired_session_is_replaced(toolbox: ToolboxClient) -> None:
    fake = SessionServer()
    agent = toolbox.agent(toolbox.server(fake))
    toolbox.call(agent, ECHO_TOOL)
    fake.expire()

    assert toolbox.call(agent, ECHO_TOOL)["isError"] is False
    assert fake.sessions_created == 2


@pytest.mark.parametrize("changed", [{"timeoutSeconds": 20}, {"config": {"headerValue": "Bearer canary-2"}}])
def test_a_session_ends_when_its_server_changes(toolbox: ToolboxClient, changed: dict[str, Any]) -> None:
    fake = SessionServer()
    server = toolbox.server(fake)
    agent = toolbox.agent(server)
    toolbox.call(agent, ECHO_TOOL)

    toolbox.change(server, **changed)
    toolbox.call(agent, ECHO_TOOL)

    wait_until(lambda: fake.sessions == {"session-2"})
    (end,) = fake.requests_for("DELETE")
    assert end.headers["mcp-session-id"] == "session-1"
    assert end.headers["authorization"] == fake.requests[0].headers["authorization"]


def test_a_stream_ends_when_its_server_changes(toolbox: ToolboxClient) -> None:
    fake = LegacyServer("messages?session=1")
    server = toolbox.server(fake)
    agent = toolbox.agent(server)
    toolbox.call(agent, ECHO_TOOL)

    toolbox.change(server, timeoutSeconds=20)
    toolbox.call(agent, ECHO_TOOL)

    wait_until(lambda: fake.streams_open == 1)


def test_sessions_end_with_the_process(tmp_path: Path, upstream_host: UpstreamHost) -> None:
    fake, stream = SessionServer(), LegacyServer("messages?session=1")
    with served(Settings(data_dir=tmp_path, egress=AT_HOME)) as plugboard:
        toolbox = ToolboxClient(plugboard.make_workspace(), upstream_host)
        agent = toolbox.agent(toolbox.server(fake), toolbox.server(stream, "old"))
        toolbox.call(agent, ECHO_TOOL)
        toolbox.call(agent, "mcp_old_echo")
        assert (fake.sessions, stream.streams_open) == ({"session-1"}, 1)

    assert fake.sessions == set()
    wait_until(lambda: stream.streams_open == 0)


@pytest.mark.requirement("REL-19")
def test_a_server_that_does_not_answer_the_end_of_a_session_does_not_delay_shutdown(
    tmp_path: Path, upstream_host: UpstreamHost
) -> None:
    fakes = [SessionServer(DELETE=lambda _: NO_RESPONSE) for _ in range(3)]
    with served(Settings(data_dir=tmp_path, egress=AT_HOME)) as plugboard:
        toolbox = ToolboxClient(plugboard.make_workspace(), upstream_host)
        agent = toolbox.agent(*(toolbox.server(fake, f"stuck{n}") for n, fake in enumerate(fakes)))
        for n in range(len(fakes)):
            toolbox.call(agent, f"mcp_stuck{n}_echo")
        begun = time.monotonic()

    assert time.monotonic() - begun < SHUTDOWN_SECONDS + 5
    assert [len(fake.requests_for("DELETE")) for fake in fakes] == [1, 1, 1]


async def opened(parts: Container, workspace: Workspace, server_id: str) -> tuple[Toolset, Server, Any]:
    ctx = await parts.authenticator.authenticate(bearer(workspace.key), workspace.id, "a-test")
    server = (await ServerService(ctx, parts.server_deps).get_many_cached([server_id]))[server_id]
    toolset = await parts.runtime.toolsets.get(ctx, server)
    await toolset.list_tools(Deadline(parts.runtime.ticker, 30))
    return toolset, server, ctx


async def test_each_format_renders_the_same_list_of_objects(toolbox: ToolboxClient) -> None:
    server = toolbox.server(PlainServer())
    silent = toolbox.workspace.make_silent_server()
    agent = toolbox.agent(server, silent)
    parts = await build_container(toolbox.workspace.plugboard.settings)
    try:
        ctx = await parts.authenticator.authenticate(bearer(toolbox.workspace.key), toolbox.workspace.id, "a-test")
        servers = ServerService(ctx, parts.server_deps)
        known_tools = StoredKnownTools(ctx, parts.store, servers, parts.runtime.toolsets)
        agents = AgentService(ctx, parts.store, servers, parts.journal, parts.limits, parts.clock, known_tools)
        service = ToolboxService(ctx, parts.runtime, lambda: agents, lambda: servers)

        listed = await service.list_tools(agent)

        assert [tool.name for tool in listed.tools][:2] == [generic(server), ECHO_TOOL]
        assert [missing.server_id for missing in listed.unavailable] == [silent["id"]]
        for form, show in FORMATS.items():
            assert await service.list_rendered(agent, form) == await render(listed, show)
    finally:
        await parts.close()


async def test_an_idle_session_ends(toolbox: ToolboxClient) -> None:
    clock, fake = StillClock(), SessionServer()
    server_id = toolbox.server(fake)["id"]
    parts = await build_container(toolbox.workspace.plugboard.settings, clock)
    toolsets = parts.runtime.toolsets
    try:
        _, server, ctx = await opened(parts, toolbox.workspace, server_id)

        clock.advance(IDLE_SECONDS - 1)
        toolsets.close_idle()
        assert toolsets.get_ready(ctx, server) is not None  # which is a use of it
        clock.advance(IDLE_SECONDS)
        toolsets.close_idle()
        assert len(toolsets) == 1
        clock.advance(1)
        toolsets.close_idle()
        assert len(toolsets) == 0
        await asyncio.to_thread(wait_until, lambda: fake.sessions == set())
    finally:
        await parts.close()


async def test_a_list_in_progress_survives_a_change_of_its_server(toolbox: ToolboxClient) -> None:
    fake = PlainServer()
    server_id = toolbox.server(fake)["id"]
    parts = await build_container(toolbox.workspace.plugboard.settings)
    try:
        toolset, _, _ = await opened(parts, toolbox.workspace, server_id)

        listing = asyncio.create_task(toolset.list_tools(Deadline(parts.runtime.ticker, 30), refresh=True))
        await asyncio.sleep(0)
        parts.runtime.toolsets.close_later(toolset)

        assert len((await listing).tools) == 1
    finally:
        await parts.close()


def test_the_protocol_of_a_server_is_remembered_across_a_restart(tmp_path: Path, upstream_host: UpstreamHost) -> None:
    settings = Settings(data_dir=tmp_path, egress=AT_HOME)
    fakes = {"modern": ModernServer(), "session": SessionServer(), "plain": PlainServer()}
    fakes["old"] = LegacyServer("messages?session=1")
    with served(settings) as plugboard:
        workspace = plugboard.make_workspace()
        toolbox = ToolboxClient(workspace, upstream_host)
        agent = toolbox.agent(*(toolbox.server(fake, slug) for slug, fake in fakes.items()))
        for slug in fakes:
            toolbox.call(agent, f"mcp_{slug}_echo")
    assert all(len(fake.requests_for("server/discover")) == 1 for fake in fakes.values())
    for fake in fakes.values():
        fake.requests.clear()

    with served(settings) as again:
        toolbox = ToolboxClient(
            Workspace(again, workspace.id, workspace.key, again.caller(workspace.key)), upstream_host
        )
        for slug in fakes:
            assert toolbox.call(agent, f"mcp_{slug}_echo")["isError"] is False
        handshake = ["initialize", "notifications/initialized"]
        assert fakes["modern"].methods == ["tools/list", "tools/call"]
        assert fakes["session"].methods == [*handshake, "tools/list", "tools/call"]
        assert fakes["old"].methods == ["GET", *handshake, "tools/list", "tools/call"]
        assert fakes["plain"].methods == ["tools/list", "tools/call"]


class ChangingServer(FakeMcpServer):
    """Speaks as `now` does."""

    def __init__(self, now: FakeMcpServer) -> None:
        super().__init__()
        self.now = now

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.now(scope, receive, send)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PlainServer, ModernServer),
        (PlainServer, SessionServer),
        (SessionServer, ModernServer),
        (ModernServer, SessionServer),
        (SessionServer, PlainServer),
    ],
)
def test_the_protocol_of_a_server_is_detected_again_when_it_changes(
    toolbox: ToolboxClient, before: type[FakeMcpServer], after: type[FakeMcpServer]
) -> None:
    fake = ChangingServer(before())
    server = toolbox.server(fake)
    agent = toolbox.agent(server)
    toolbox.call(agent, ECHO_TOOL)

    fake.now = new = after()
    responses = [toolbox.call(agent, ECHO_TOOL, {"text": "hi"}) for _ in range(2)]

    assert [response["text"] for response in responses] == ['{"text": "hi"}'] * 2
    assert len(new.requests_for("server/discover")) <= 1  # a server that minds no session needs no probing
    kept = toolbox.admin.get(f"{toolbox.workspace.servers}/{server['id']}").json()
    assert kept["version"] == server["version"]  # to find out how it speaks is no change of its configuration
