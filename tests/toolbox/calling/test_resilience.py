"""Failing and hanging servers: errors, their timing, and isolation from other servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from demo.mcp_servers import FakeMcpServer, McpRequest, McpResponse, PlainServer, SessionServer, error, result
from tests.fakes.still_clock import StillClock
from tests.fakes.stuck_server import StuckServer
from tests.fakes.upstream_host import UpstreamHost
from tests.harness import Plugboard, many_callers
from tests.toolbox.toolbox_client import Json, ToolboxClient, failure, generic

ECHO_TOOL = "mcp_weather_echo"
FAILED = "Error calling MCP server: MCP server request failed: "
NOT_REACHED = "Error calling MCP server: The upstream could not be reached."
MAYBE = " It is not known whether the call was carried out."


def failing_with(status: int) -> Callable[[McpRequest], McpResponse]:
    return lambda _: McpResponse(status)


def left_alone(result: Json) -> str:
    wait = result["error"]["retryAfter"]
    return f"After several failures this server is left alone for {wait:.0f} s. Nothing was sent."


def open_breaker(toolbox: ToolboxClient, agent: str, times: int = 5) -> list[str]:
    return [failure(toolbox.call(agent, ECHO_TOOL))[1] for _ in range(times)]


@pytest.mark.requirement("REL-15")
def test_after_five_failures_calls_fail_at_once_with_the_last_error(toolbox: ToolboxClient) -> None:
    statuses = iter([500, 502, 503, 500, 504])
    fake = PlainServer(tools_call=lambda _: McpResponse(next(statuses)))
    server = toolbox.server(fake)
    agent = toolbox.agent(server)

    texts = open_breaker(toolbox, agent)
    held = [toolbox.call(agent, ECHO_TOOL), toolbox.call(agent, generic(server), {"method": "tools/list"})]

    assert texts[0] == f"{FAILED}500 Internal Server Error"
    for item in held:
        kind, text = failure(item)
        assert (kind, text) == ("upstream_unavailable", f"{FAILED}504 Gateway Timeout {left_alone(item)}")
        assert 8 <= item["error"]["retryAfter"] <= 12
    assert len(fake.requests_for("tools/call")) == 5


@pytest.mark.requirement("REL-15")
def test_an_unreachable_server_opens_its_breaker(toolbox: ToolboxClient) -> None:
    server = toolbox.server(PlainServer(), url="http://127.0.0.1:9/mcp")
    agent = toolbox.agent(server)

    texts = [toolbox.call(agent, generic(server), {"method": "ping"}) for _ in range(6)]

    expected = [NOT_REACHED] * 5 + [f"{NOT_REACHED} {left_alone(texts[5])}"]
    assert [failure(text) for text in texts] == [("upstream_unavailable", text) for text in expected]
    assert ["retryAfter" in response["error"] for response in texts] == [False] * 5 + [True]


@pytest.mark.requirement("REL-15")
def test_an_open_breaker_shows_in_the_list_without_a_request(toolbox: ToolboxClient) -> None:
    fake = PlainServer(tools_list=failing_with(500))
    server = toolbox.server(fake)
    agent = toolbox.agent(server)

    for _ in range(5):
        toolbox.list(agent)
    fake.requests.clear()
    listed = toolbox.list(agent)

    assert [tool["name"] for tool in listed["tools"]] == [generic(server)]
    (unavailable,) = listed["unavailable"]
    assert unavailable["reason"] == "unreachable"
    assert unavailable["detail"].startswith(f"{FAILED}500 Internal Server Error After several failures")
    assert unavailable["detail"].endswith(" s. Nothing was sent.")
    assert not fake.requests


@pytest.mark.requirement("REL-15")
@pytest.mark.parametrize(
    "answer",
    [
        lambda request: error(request, -32603, "Internal error"),
        failing_with(400),
        failing_with(401),
        failing_with(404),
        failing_with(429),
        lambda request: result(request, {"content": [], "isError": True}),
        lambda _: McpResponse(body=b"no JSON"),
    ],
    ids=["JSON-RPC error", "400", "401", "404", "429", "the tool failed", "no JSON"],
)
def test_an_error_of_a_tool_does_not_count_as_a_failure(
    toolbox: ToolboxClient, answer: Callable[[McpRequest], McpResponse]
) -> None:
    fake = PlainServer(tools_call=answer)
    agent = toolbox.agent(toolbox.server(fake))

    for _ in range(8):
        assert toolbox.call(agent, ECHO_TOOL)["isError"] is True
    del fake.handlers["tools/call"]

    assert toolbox.call(agent, ECHO_TOOL)["isError"] is False


@pytest.mark.requirement("REL-15")
def test_a_success_between_failures_resets_the_count(toolbox: ToolboxClient) -> None:
    fake = PlainServer()
    agent = toolbox.agent(toolbox.server(fake))
    for _ in range(3):
        fake.handlers["tools/call"] = failing_with(500)
        open_breaker(toolbox, agent, 4)
        del fake.handlers["tools/call"]
        assert toolbox.call(agent, ECHO_TOOL)["isError"] is False


@pytest.mark.requirement("REL-15")
def test_each_server_has_its_own_breaker(toolbox: ToolboxClient, upstream_host: UpstreamHost) -> None:
    fake, other = (
        PlainServer(tools_call=failing_with(500)),
        ToolboxClient(toolbox.workspace.plugboard.make_workspace(), upstream_host),
    )
    agent, twin = toolbox.agent(toolbox.server(fake)), toolbox.agent(toolbox.server(PlainServer(), "twin"))
    theirs = other.agent(other.server(fake))
    open_breaker(toolbox, agent)
    del fake.handlers["tools/call"]

    assert toolbox.call(agent, ECHO_TOOL)["isError"] is True
    assert toolbox.call(twin, "mcp_twin_echo")["isError"] is False
    assert other.call(theirs, ECHO_TOOL)["isError"] is False


@pytest.mark.requirement("REL-15")
def test_after_a_pause_one_call_is_the_trial(timed_toolbox: ToolboxClient, clock: StillClock) -> None:
    fake = PlainServer(tools_call=failing_with(503))
    server = timed_toolbox.server(fake)
    agent = timed_toolbox.agent(server)
    open_breaker(timed_toolbox, agent)

    clock.advance(13)
    assert timed_toolbox.check(server)["breaker"]["state"] == "half_open"
    failure(timed_toolbox.call(agent, ECHO_TOOL))
    assert (
        timed_toolbox.call(agent, ECHO_TOOL)["error"]["retryAfter"] >= 15
    )  # twice the first pause, but for the spread
    assert len(fake.requests_for("tools/call")) == 6

    del fake.handlers["tools/call"]
    clock.advance(25)
    assert timed_toolbox.call(agent, ECHO_TOOL)["isError"] is False
    assert timed_toolbox.check(server)["breaker"] == {"state": "closed", "failures": 0, "retryAfter": 0}


@pytest.mark.requirement("REL-15")
def test_refreshing_tools_does_not_affect_the_breaker(timed_toolbox: ToolboxClient, clock: StillClock) -> None:
    fake = PlainServer()
    server = timed_toolbox.server(fake)
    agent = timed_toolbox.agent(server)
    timed_toolbox.tools_of(server, refresh="true")
    fake.handlers["tools/call"] = failing_with(503)
    open_breaker(timed_toolbox, agent)

    clock.advance(13)
    failure(timed_toolbox.call(agent, ECHO_TOOL))

    assert timed_toolbox.check(server)["breaker"]["retryAfter"] >= 15


def test_a_server_with_a_new_url_is_called_at_once(toolbox: ToolboxClient) -> None:
    broken, mended = PlainServer(tools_call=failing_with(500)), PlainServer()
    server = toolbox.server(broken)
    agent = toolbox.agent(server)
    open_breaker(toolbox, agent)

    toolbox.change(server, url=f"{toolbox.upstream_host.mount(mended)}/mcp")

    assert toolbox.call(agent, ECHO_TOOL)["isError"] is False


async def drip() -> AsyncIterator[bytes]:
    while True:
        yield b": still there\n\n"
        await asyncio.sleep(0.05)


def hanging() -> dict[str, FakeMcpServer]:
    return {
        "at the first request": StuckServer("server/discover"),
        "at the list": StuckServer("tools/list"),
        "at the call": StuckServer("tools/call"),
        "in an endless stream": SessionServer(
            tools_call=lambda _: McpResponse(body=drip(), media_type="text/event-stream")
        ),
        "in a body that drips": PlainServer(tools_call=lambda _: McpResponse(body=drip())),
    }


@pytest.mark.requirement("REL-12")
async def test_a_call_ends_at_its_deadline(toolbox: ToolboxClient) -> None:
    agents = {
        name: toolbox.agent(toolbox.server(fake, f"s-{number}", timeoutSeconds=1))
        for number, (name, fake) in enumerate(hanging().items())
    }

    async def called(number: int, agent: str) -> tuple[float, Json]:
        begun = time.monotonic()
        response = await caller.post(
            f"{toolbox.workspace.agents}/{agent}/tool-calls", json={"toolName": f"mcp_s-{number}_echo"}
        )
        return time.monotonic() - begun, response.json()

    async with many_callers(toolbox.workspace.plugboard.url, toolbox.workspace.key) as caller:
        results = await asyncio.gather(*(called(number, agent) for number, agent in enumerate(agents.values())))

    for name, (seconds, answer) in zip(agents, results, strict=True):
        assert 0.9 < seconds < 1.5, name
        kind, text = failure(answer)
        assert kind == "timeout", name
        assert text.startswith("Error calling MCP server: no answer within 1 s"), name
    assert results[2][1]["text"].endswith(MAYBE)


@pytest.mark.requirement("REL-14")
@pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 404])
def test_a_call_that_may_have_been_executed_is_not_repeated(toolbox: ToolboxClient, status: int) -> None:
    fake = PlainServer(tools_call=failing_with(status))
    agent = toolbox.agent(toolbox.server(fake))

    failure(toolbox.call(agent, ECHO_TOOL))

    assert len(fake.requests_for("tools/call")) == 1


async def concurrent_calls(
    caller: httpx2.AsyncClient, toolbox: ToolboxClient, agent: str, tool: str, number: int
) -> list[Any]:
    body, path = {"toolName": tool}, f"{toolbox.workspace.agents}/{agent}/tool-calls"
    return [asyncio.create_task(caller.post(path, json=body)) for _ in range(number)]


async def refused_calls(calls: list[Any], number: int) -> list[Json]:
    """The answers of those that were not let in, while the others still wait."""
    while sum(call.done() for call in calls) < number:
        await asyncio.wait([call for call in calls if not call.done()], return_when=asyncio.FIRST_COMPLETED, timeout=20)
    return [call.result().json() for call in calls if call.done()]


@pytest.mark.requirement("REL-16", "REL-17")
async def test_a_slow_server_fills_its_own_slots_and_no_others(
    connected: Plugboard, toolbox: ToolboxClient, upstream_host: UpstreamHost
) -> None:
    stuck, other = StuckServer("tools/call"), ToolboxClient(connected.make_workspace(), upstream_host)
    agent, quick = toolbox.agent(toolbox.server(stuck)), other.agent(other.server(PlainServer()))
    neighbour = toolbox.agent(toolbox.server(PlainServer(), "neighbour"))
    toolbox.list(agent)

    async with many_callers(connected.url, toolbox.workspace.key) as caller:
        calls = await concurrent_calls(caller, toolbox, agent, ECHO_TOOL, 70)
        texts = await refused_calls(calls, 6)
        begun = time.monotonic()
        responses = [await asyncio.to_thread(other.call, quick, ECHO_TOOL) for _ in range(20)]
        beside = await asyncio.to_thread(toolbox.call, neighbour, "mcp_neighbour_echo")
        seconds = time.monotonic() - begun
        still_waiting = sum(not call.done() for call in calls)
        stuck.release()
        done = [call.result().json() for call in (await asyncio.wait(calls, timeout=20))[0]]

    assert {(body["error"]["kind"], body["error"]["retryAfter"]) for body in texts} == {("rate_limited", 1)}
    assert still_waiting == 64
    assert not any(item["isError"] for item in [*responses, beside])
    assert seconds < 2
    assert sum(not item["isError"] for item in done) == 64


@pytest.mark.requirement("REL-16", "REL-17")
async def test_calls_in_progress_of_a_workspace_are_limited(connected: Plugboard, upstream_host: UpstreamHost) -> None:
    toolbox, other = (ToolboxClient(connected.make_workspace(), upstream_host) for _ in range(2))
    stuck = [StuckServer("tools/call") for _ in range(5)]
    agent = toolbox.agent(*(toolbox.server(item, f"s-{number}") for number, item in enumerate(stuck)))
    quick = other.agent(other.server(PlainServer()))
    toolbox.list(agent)
    callers = [many_callers(connected.url, toolbox.workspace.key) for _ in stuck]

    calls: list[Any] = []
    for number, caller in enumerate(callers):
        calls += await concurrent_calls(caller, toolbox, agent, f"mcp_s-{number}_echo", 60)
    texts = await refused_calls(calls, 300 - 256)
    answer = await asyncio.to_thread(other.call, quick, ECHO_TOOL)
    for item in stuck:
        item.release()
    await asyncio.wait(calls, timeout=20)
    for caller in callers:
        await caller.aclose()

    assert {body["error"]["kind"] for body in texts} == {"rate_limited"}
    assert len(texts) == 44
    assert answer["isError"] is False


@pytest.mark.slow
@pytest.mark.requirement("REL-16", "REL-17")
async def test_workspaces_with_slow_servers_leave_room_for_a_newcomer(
    connected: Plugboard, upstream_host: UpstreamHost
) -> None:
    """Four workspaces with 256 slow calls each would hold all 1024 places of the process."""
    stuck = StuckServer("tools/call")
    attackers = [ToolboxClient(connected.make_workspace(), upstream_host) for _ in range(4)]
    newcomer = ToolboxClient(connected.make_workspace(), upstream_host)
    quick = newcomer.agent(newcomer.server(PlainServer()))
    callers, calls, refused = list[httpx2.AsyncClient](), list[Any](), list[Json]()

    for toolbox, share in zip(attackers, (256, 173, 113, 79), strict=True):
        agent = toolbox.agent(*(toolbox.server(stuck, f"s-{number}") for number in range(4)))
        toolbox.list(agent)
        begun: list[Any] = []
        for number in range(4):
            callers.append(many_callers(connected.url, toolbox.workspace.key))
            begun += await concurrent_calls(callers[-1], toolbox, agent, f"mcp_s-{number}_echo", 64)
        refused += await refused_calls(begun, 256 - share)
        calls += begun
    answers = [await asyncio.to_thread(newcomer.call, quick, ECHO_TOOL) for _ in range(3)]
    stuck.release()
    await asyncio.wait(calls, timeout=30)
    for caller in callers:
        await caller.aclose()

    assert [answer["isError"] for answer in answers] == [False] * 3
    assert {(body["error"]["kind"], body["error"]["retryAfter"]) for body in refused} == {("rate_limited", 1)}
    assert {body["text"] for body in refused} == {
        "Error: Plugboard is busy, and this workspace has its share of the calls in progress. Try again in 1 s."
    }
