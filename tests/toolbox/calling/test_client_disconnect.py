"""Who stops waiting for a call leaves nothing behind: no request at the upstream, no slot, no task, no socket."""

from __future__ import annotations

import asyncio
import gc
import logging
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from demo.mcp_servers import LegacyServer, ModernServer, PlainServer, SessionServer
from tests.fakes.stuck_server import StuckServer
from tests.harness import many_callers
from tests.toolbox.toolbox_client import ToolboxClient, generic, wait_until

ECHO_TOOL = "mcp_weather_echo"


async def disconnect_during_call(
    caller: httpx2.AsyncClient, toolbox: ToolboxClient, agent: str, stuck: StuckServer
) -> float:
    """How long it takes until the upstream sees that a caller has gone."""
    before = stuck.disconnected
    path = f"{toolbox.workspace.agents}/{agent}/tool-calls"
    call = asyncio.create_task(caller.post(path, json={"toolName": ECHO_TOOL}))
    await asyncio.to_thread(stuck.wait_until, waiting=1)
    begun = time.monotonic()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await asyncio.to_thread(stuck.wait_until, left=before + 1)
    return time.monotonic() - begun


@pytest.mark.requirement("REL-13")
async def test_a_disconnected_client_cancels_the_request_to_the_upstream(toolbox: ToolboxClient) -> None:
    stuck = StuckServer("tools/call")
    agent = toolbox.agent(toolbox.server(stuck))
    toolbox.list(agent)

    async with many_callers(toolbox.workspace.plugboard.url, toolbox.workspace.key) as caller:
        seconds = [await disconnect_during_call(caller, toolbox, agent, stuck) for _ in range(9)]

    assert statistics.median(seconds) < 0.1


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def running_tasks() -> int:
    gc.collect()
    return sum(isinstance(object_, asyncio.Task) and not object_.done() for object_ in gc.get_objects())


@pytest.mark.slow
@pytest.mark.requirement("REL-13")
async def test_hundreds_of_disconnected_clients_leave_nothing_behind(toolbox: ToolboxClient) -> None:
    stuck = StuckServer("tools/call")
    agent = toolbox.agent(toolbox.server(stuck))
    toolbox.list(agent)
    path, body = f"{toolbox.workspace.agents}/{agent}/tool-calls", {"toolName": ECHO_TOOL}

    async def round_of_leaving(number: int) -> None:
        before = stuck.disconnected
        async with many_callers(toolbox.workspace.plugboard.url, toolbox.workspace.key) as caller:
            calls = [asyncio.create_task(caller.post(path, json=body)) for _ in range(number)]
            await asyncio.to_thread(stuck.wait_until, waiting=number)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            await asyncio.to_thread(stuck.wait_until, left=before + number)

    await round_of_leaving(30)
    files, tasks = open_files(), running_tasks()
    for _ in range(10):
        await round_of_leaving(30)

    assert stuck.disconnected == 330
    await asyncio.to_thread(wait_until, lambda: open_files() <= files + 5)
    await asyncio.to_thread(wait_until, lambda: running_tasks() <= tasks + 5)
    stuck.release()
    async with many_callers(toolbox.workspace.plugboard.url, toolbox.workspace.key) as caller:
        responses = await asyncio.gather(*(caller.post(path, json=body) for _ in range(64)))
    assert {response.json()["isError"] for response in responses} == {False}


@pytest.mark.requirement("REL-13", "REL-15")
async def test_a_disconnected_client_does_not_count_for_the_breaker(
    toolbox: ToolboxClient, caplog: pytest.LogCaptureFixture
) -> None:
    stuck = StuckServer("tools/call")
    server = toolbox.server(stuck)
    agent = toolbox.agent(server)
    toolbox.list(agent)

    with caplog.at_level(logging.WARNING):
        async with many_callers(toolbox.workspace.plugboard.url, toolbox.workspace.key) as caller:
            for _ in range(6):
                await disconnect_during_call(caller, toolbox, agent, stuck)
        breaker = toolbox.check(server)["breaker"]

    assert breaker == {"state": "closed", "failures": 0, "retryAfter": 0}
    assert not caplog.records


@pytest.mark.parametrize("make", [PlainServer, ModernServer, SessionServer, lambda: LegacyServer("messages?session=1")])
async def test_the_next_call_works_after_an_abandoned_one(
    toolbox: ToolboxClient, make: Callable[[], PlainServer]
) -> None:
    fake = make()
    server = toolbox.server(fake)
    agent = toolbox.agent(server)
    toolbox.list(agent)
    path = f"{toolbox.workspace.agents}/{agent}/tool-calls"

    async with many_callers(toolbox.workspace.plugboard.url, toolbox.workspace.key) as caller:
        for _ in range(5):
            call = asyncio.create_task(caller.post(path, json={"toolName": ECHO_TOOL}))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        response = await caller.post(path, json={"toolName": ECHO_TOOL, "args": {"text": "hi"}})

    assert response.json()["text"] == '{"text": "hi"}'
    assert toolbox.call(agent, generic(server), {"method": "tools/list"})["isError"] is False
