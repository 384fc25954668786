"""A repeated tool call is made once."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.access.context import partition_of
from api.kit.egress.policy import EgressPolicy
from api.kit.storage.store import Item
from api.main.container import build_container
from api.main.settings import Settings
from demo.mcp_servers import ECHO, McpRequest, McpResponse, PlainServer, result
from tests.fakes.still_clock import StillClock
from tests.fakes.stuck_server import StuckServer
from tests.fakes.upstream_host import UpstreamHost
from tests.harness import Plugboard, Workspace, listening, many_callers, served
from tests.operations import is_replayed, stripped
from tests.toolbox.toolbox_client import SECRET, ToolboxClient, wait_until

LOOPBACK = EgressPolicy.parse("127.0.0.1/32")
ECHO_TOOL = "mcp_weather_echo"
MINUTE, DAY = 60.0, 24 * 3600.0
IN_PROGRESS = "The first request with this Idempotency-Key is still in progress. Try again shortly."
UNKNOWN = (
    "The outcome of the first request with this Idempotency-Key is unknown: it may have been carried out, so it is not "
    "sent again. To call the tool again, use a new key."
)
NOT_KEPT = (
    "The first request with this Idempotency-Key was carried out, but its response was too large to store. To call the "
    "tool again, use a new key."
)


@pytest.fixture(scope="module")
def upstream_host() -> Iterator[UpstreamHost]:
    host = UpstreamHost()
    with listening(host) as url:
        host.url = url
        yield host


@pytest.fixture(scope="module", params=["sqlite", "moto", "dynoxide", pytest.param("postgres", marks=pytest.mark.slow)])
def connected(request: pytest.FixtureRequest, upstream_host: UpstreamHost) -> Iterator[Plugboard]:  # noqa: ARG001  to be stopped last
    """A second process on each of the stores, whose upstreams may be on 127.0.0.1."""
    beside: Plugboard = request.getfixturevalue(f"on_{request.param}")
    with served(replace(beside.settings, egress=LOOPBACK)) as plugboard:
        yield plugboard


@pytest.fixture
def any_toolbox(connected: Plugboard, upstream_host: UpstreamHost) -> ToolboxClient:
    return ToolboxClient(connected.make_workspace(), upstream_host)


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def toolbox(tmp_path: Path, clock: StillClock, upstream_host: UpstreamHost) -> Iterator[ToolboxClient]:
    """On SQLite, with a clock that stands still."""
    with served(Settings(data_dir=tmp_path, egress=LOOPBACK), clock) as plugboard:
        yield ToolboxClient(plugboard.make_workspace(), upstream_host)


def calls(toolbox: ToolboxClient, agent: str) -> str:
    return f"{toolbox.workspace.agents}/{agent}/tool-calls"


def call_with_key(
    toolbox: ToolboxClient, agent: str, key: str = "first", tool: str = ECHO_TOOL, **args: Any
) -> httpx2.Response:
    body = {"toolName": tool, "args": args}
    return toolbox.admin.post(calls(toolbox, agent), json=body, headers={"Idempotency-Key": key})


def problem_of(response: httpx2.Response) -> tuple[int, str, str, str | None]:
    body = response.json()
    return response.status_code, body["code"], body["detail"], response.headers.get("Retry-After")


def records(workspace: Workspace) -> list[Item]:
    """What is stored of requests, read as another process would."""
    return asyncio.run(_records(workspace))


async def _records(workspace: Workspace) -> list[Item]:
    parts = await build_container(workspace.plugboard.settings)
    try:
        return await parts.store.query(partition_of(workspace.id), "IDEMPOTENCY#")
    finally:
        await parts.close()


@pytest.mark.requirement("REL-01")
def test_a_repeated_call_gets_the_first_response_and_is_not_sent_again(any_toolbox: ToolboxClient) -> None:
    fake = PlainServer()
    agent = any_toolbox.agent(any_toolbox.server(fake))

    first, *others = (call_with_key(any_toolbox, agent, text="hello") for _ in range(3))

    assert (first.status_code, first.json()["text"]) == (200, '{"text": "hello"}')
    assert [stripped(other) for other in others] == [stripped(first)] * 2
    assert [is_replayed(response) for response in (first, *others)] == [False, True, True]
    assert len(fake.requests_for("tools/call")) == 1


@pytest.mark.requirement("REL-02")
async def test_one_of_fifty_concurrent_calls_is_sent_and_the_others_get_a_conflict(any_toolbox: ToolboxClient) -> None:
    stuck = StuckServer("tools/call")
    agent = any_toolbox.agent(any_toolbox.server(stuck))
    any_toolbox.list(agent)
    body, headers = {"toolName": ECHO_TOOL}, {"Idempotency-Key": "fifty"}

    async with many_callers(any_toolbox.workspace.plugboard.url, any_toolbox.workspace.key) as caller:
        sent = [
            asyncio.create_task(caller.post(calls(any_toolbox, agent), json=body, headers=headers)) for _ in range(50)
        ]
        waiting = set(sent)
        while len(waiting) > 1:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        responses = [request.result() for request in sent if request not in waiting]
        stuck.release()
        answered = await waiting.pop()

    assert {problem_of(response) for response in responses} == {(409, "conflict", IN_PROGRESS, "1")}
    assert (answered.status_code, answered.json()["text"]) == (200, "{}")
    again = any_toolbox.admin.post(calls(any_toolbox, agent), json=body, headers=headers)
    assert stripped(again) == stripped(answered)
    assert len(stuck.requests_for("tools/call")) == 1


@pytest.mark.requirement("REL-01")
def test_a_key_used_for_another_call_is_refused(any_toolbox: ToolboxClient) -> None:
    fake = PlainServer(tools=[ECHO, {**ECHO, "name": "other"}])
    agent = any_toolbox.agent(any_toolbox.server(fake))
    call_with_key(any_toolbox, agent, text="hello")

    responses = [
        call_with_key(any_toolbox, agent, text="bye"),
        call_with_key(any_toolbox, agent, tool="mcp_weather_other", text="hello"),
    ]

    assert [problem_of(response)[:2] for response in responses] == [(422, "idempotency_key_reused")] * 2
    assert len(fake.requests_for("tools/call")) == 1


@pytest.mark.requirement("REL-02")
async def test_a_key_is_reserved_while_its_call_is_in_progress(toolbox: ToolboxClient) -> None:
    stuck = StuckServer("tools/call")
    agent = toolbox.agent(toolbox.server(stuck))
    headers = {"Idempotency-Key": "first"}
    async with many_callers(toolbox.workspace.plugboard.url, toolbox.workspace.key) as caller:
        path = calls(toolbox, agent)
        call = asyncio.create_task(caller.post(path, json={"toolName": ECHO_TOOL, "args": {}}, headers=headers))
        await asyncio.to_thread(stuck.wait_until, waiting=1)
        other = await asyncio.to_thread(call_with_key, toolbox, agent, text="other")
        same = await asyncio.to_thread(call_with_key, toolbox, agent)
        stuck.release()
        await call

    assert problem_of(other)[:2] == (422, "idempotency_key_reused")
    assert problem_of(same)[:2] == (409, "conflict")


@pytest.mark.requirement("REL-01")
def test_a_failure_is_replayed_too(any_toolbox: ToolboxClient) -> None:
    fake = PlainServer(tools_call=lambda _: McpResponse(500))
    agent = any_toolbox.agent(any_toolbox.server(fake))

    failed = call_with_key(any_toolbox, agent)
    del fake.handlers["tools/call"]
    again = call_with_key(any_toolbox, agent)

    assert (failed.status_code, failed.json()["error"]["kind"]) == (200, "upstream_unavailable")
    assert stripped(again) == stripped(failed)
    assert call_with_key(any_toolbox, agent, "second").json()["isError"] is False
    assert len(fake.requests_for("tools/call")) == 2


@pytest.mark.requirement("REL-03")
def test_a_refused_call_leaves_its_key_free(any_toolbox: ToolboxClient) -> None:
    fake = PlainServer(tools=[])
    agent = any_toolbox.agent(any_toolbox.server(fake))

    absent = call_with_key(any_toolbox, agent)
    invalid = call_with_key(any_toolbox, agent, tool="")
    kept = records(any_toolbox.workspace)
    other = call_with_key(any_toolbox, agent, tool="mcp_weather_other")

    assert [item.status_code for item in (absent, invalid, other)] == [404, 422, 404]
    assert kept == []


def sketch(request: McpRequest) -> McpResponse:
    """A picture that nothing makes smaller."""
    data = base64.b64encode(secrets.token_bytes(400_000)).decode()
    return result(request, {"content": [{"type": "image", "mimeType": "image/png", "data": data}]})


@pytest.mark.requirement("REL-14")
def test_a_response_that_is_too_large_is_sent_once(any_toolbox: ToolboxClient) -> None:
    fake = PlainServer(tools_call=sketch)
    agent = any_toolbox.agent(any_toolbox.server(fake))

    first, again = call_with_key(any_toolbox, agent), call_with_key(any_toolbox, agent)

    assert (first.status_code, first.json()["isError"]) == (200, False)
    assert len(first.content) > 500_000
    assert problem_of(again) == (409, "conflict", NOT_KEPT, None)
    assert problem_of(call_with_key(any_toolbox, agent, text="other"))[0] == 422
    assert len(fake.requests_for("tools/call")) == 1


def test_a_long_response_that_compresses_well_is_stored(any_toolbox: ToolboxClient) -> None:
    rows = [{"id": number, "city": "Oslo"} for number in range(6000)]
    fake = PlainServer(tools_call=lambda request: result(request, {"content": [], "structuredContent": {"rows": rows}}))
    agent = any_toolbox.agent(any_toolbox.server(fake))

    first, again = call_with_key(any_toolbox, agent), call_with_key(any_toolbox, agent)

    assert len(first.content) > 150_000
    assert stripped(again) == stripped(first)


@pytest.mark.requirement("REL-02", "REL-14")
async def test_a_call_with_an_unknown_outcome_is_not_sent_again(toolbox: ToolboxClient, clock: StillClock) -> None:
    stuck = StuckServer("tools/call")
    agent = toolbox.agent(toolbox.server(stuck))
    async with many_callers(toolbox.workspace.plugboard.url, toolbox.workspace.key) as caller:
        body, headers = {"toolName": ECHO_TOOL, "args": {}}, {"Idempotency-Key": "first"}
        call = asyncio.create_task(caller.post(calls(toolbox, agent), json=body, headers=headers))
        await asyncio.to_thread(stuck.wait_until, waiting=1)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await asyncio.to_thread(stuck.wait_until, left=1)
    stuck.release()

    clock.advance(MINUTE - 1)
    soon = call_with_key(toolbox, agent)
    clock.advance(1)
    later = call_with_key(toolbox, agent)
    clock.advance(DAY - MINUTE - 1)
    latest = call_with_key(toolbox, agent)

    assert problem_of(soon) == (409, "conflict", IN_PROGRESS, "1")
    assert problem_of(later) == problem_of(latest) == (409, "conflict", UNKNOWN, None)
    assert not stuck.requests_for("tools/call")  # it left before it was answered, and nothing came since
    assert call_with_key(toolbox, agent, "second").status_code == 200
    clock.advance(1)
    assert call_with_key(toolbox, agent).status_code == 200


@pytest.mark.requirement("REL-01")
def test_a_response_is_kept_for_a_day(toolbox: ToolboxClient, clock: StillClock) -> None:
    fake = PlainServer()
    agent = toolbox.agent(toolbox.server(fake))
    call_with_key(toolbox, agent)

    clock.advance(DAY - 1)
    call_with_key(toolbox, agent)
    assert len(fake.requests_for("tools/call")) == 1
    clock.advance(1)
    call_with_key(toolbox, agent)
    assert len(fake.requests_for("tools/call")) == 2


@pytest.mark.requirement("REL-01")
def test_agents_principals_and_keys_distinguish_calls(any_toolbox: ToolboxClient) -> None:
    fake = PlainServer()
    server = any_toolbox.server(fake)
    agent, other = any_toolbox.agent(server), any_toolbox.agent(server)
    colleague = any_toolbox.workspace.caller("invoke")

    call_with_key(any_toolbox, agent)
    call_with_key(any_toolbox, other)
    call_with_key(any_toolbox, agent, "second")
    body, headers = {"toolName": ECHO_TOOL, "args": {}}, {"Idempotency-Key": "first"}
    colleague.post(calls(any_toolbox, agent), json=body, headers=headers)

    assert len(fake.requests_for("tools/call")) == 4


@pytest.mark.requirement("REL-03", "ENC-16")
def test_the_record_of_a_call_reveals_nothing_of_its_content(any_toolbox: ToolboxClient) -> None:
    agent = any_toolbox.agent(any_toolbox.server(PlainServer()))
    call_with_key(any_toolbox, agent, "canary-key", text="canary-argument")

    (record,) = records(any_toolbox.workspace)

    assert record.data.keys() == {"request", "state", "status", "headers", "body"}
    text = json.dumps(dict(record.data)) + str(record.key)
    assert not any(secret in text for secret in ("canary", "echo", any_toolbox.workspace.key, SECRET))


@pytest.mark.requirement("REL-03")
def test_the_files_of_the_store_reveal_nothing_of_a_call(toolbox: ToolboxClient) -> None:
    agent = toolbox.agent(toolbox.server(PlainServer()))

    assert "canary-argument" in call_with_key(toolbox, agent, "canary-key", text="canary-argument").text

    dump = b"".join(file.read_bytes() for file in toolbox.workspace.plugboard.settings.data_dir.glob("plugboard.db*"))
    assert b"canary" not in dump


@pytest.mark.requirement("AUT-04")
def test_a_key_revoked_while_the_body_arrives_calls_nothing(any_toolbox: ToolboxClient) -> None:
    fake, workspace = PlainServer(), any_toolbox.workspace
    agent, thief = any_toolbox.agent(any_toolbox.server(fake)), workspace.make_key("invoke")
    body = json.dumps({"toolName": ECHO_TOOL}).encode()
    host, port = workspace.plugboard.url.removeprefix("http://").split(":")
    head = (
        f"POST {calls(any_toolbox, agent)} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {thief['apiKey']}\r\n"
        f"Content-Type: application/json\r\nIdempotency-Key: first\r\nContent-Length: {len(body)}\r\n"
        "Expect: 100-continue\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # the guard has let it in and the body is awaited
        workspace.admin.delete(f"{workspace.api_keys}/{thief['id']}")
        connection.sendall(body)
        status_line = connection.makefile("rb").readline()

    assert int(status_line.split()[1]) == 401
    assert not fake.requests_for("tools/call")
    assert records(workspace) == []


async def test_a_call_that_outlives_its_workspace_writes_nothing_to_it(any_toolbox: ToolboxClient) -> None:
    stuck, workspace = StuckServer("tools/call"), any_toolbox.workspace
    agent = any_toolbox.agent(any_toolbox.server(stuck))
    async with many_callers(workspace.plugboard.url, workspace.key) as caller:
        body, headers = {"toolName": ECHO_TOOL}, {"Idempotency-Key": "first"}
        call = asyncio.create_task(caller.post(calls(any_toolbox, agent), json=body, headers=headers))
        await asyncio.to_thread(stuck.wait_until, waiting=1)
        assert len(await _records(workspace)) == 1
        await asyncio.to_thread(workspace.admin.delete, workspace.path)
        await asyncio.to_thread(wait_until, lambda: not records(workspace))
        stuck.release()
        answer = await call

    assert (answer.status_code, answer.json()["text"]) == (200, "{}")
    assert await _records(workspace) == []


@pytest.mark.parametrize("key", [b"", b"x" * 256, b"a b", b"\xff"])
def test_the_idempotency_key_of_a_call_has_a_format(toolbox: ToolboxClient, key: bytes) -> None:
    fake = PlainServer()
    agent = toolbox.agent(toolbox.server(fake))

    response = toolbox.admin.post(
        calls(toolbox, agent), json={"toolName": ECHO_TOOL}, headers=[(b"Idempotency-Key", key)]
    )

    assert response.status_code == 422
    assert [error["path"] for error in response.json()["errors"]] == ["Idempotency-Key"]
    assert not fake.requests_for("tools/call")


def test_without_a_key_every_call_is_sent_and_nothing_is_stored(any_toolbox: ToolboxClient) -> None:
    fake = PlainServer()
    server = any_toolbox.server(fake)
    agent = any_toolbox.agent(server)

    any_toolbox.call(agent, ECHO_TOOL)
    any_toolbox.call(agent, ECHO_TOOL)
    path = f"{any_toolbox.workspace.servers}/{server['id']}/check"
    any_toolbox.admin.post(path, headers={"Idempotency-Key": "first"})

    assert len(fake.requests_for("tools/call")) == 2
    assert records(any_toolbox.workspace) == []


def test_after_a_failure_without_effect_the_same_key_can_be_used_again(toolbox: ToolboxClient) -> None:
    fake = PlainServer()
    agent = toolbox.agent(toolbox.server(fake))

    refused = call_with_key(toolbox, agent, text=1)
    assert refused.json()["error"]["kind"] == "invalid_arguments"
    assert call_with_key(toolbox, agent, text=1).json() == refused.json()
    assert fake.requests_for("tools/call") == []

    assert records(toolbox.workspace) == []
