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
from tests.operations import stripped
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
def street() -> Iterator[UpstreamHost]:
    host = UpstreamHost()
    with listening(host) as url:
        host.url = url
        yield host


@pytest.fixture(scope="module", params=["sqlite", "moto", "dynoxide"])
def connected(request: pytest.FixtureRequest, street: UpstreamHost) -> Iterator[Plugboard]:  # noqa: ARG001  to be stopped last
    """A second process on each of the stores, whose upstreams may be on 127.0.0.1."""
    beside: Plugboard = request.getfixturevalue(f"on_{request.param}")
    with served(replace(beside.settings, egress=LOOPBACK)) as plugboard:
        yield plugboard


@pytest.fixture
def any_office(connected: Plugboard, street: UpstreamHost) -> ToolboxClient:
    return ToolboxClient(connected.make_workspace(), street)


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def office(tmp_path: Path, clock: StillClock, street: UpstreamHost) -> Iterator[ToolboxClient]:
    """On SQLite, with a clock that stands still."""
    with served(Settings(data_dir=tmp_path, egress=LOOPBACK), clock) as plugboard:
        yield ToolboxClient(plugboard.make_workspace(), street)


def calls(office: ToolboxClient, agent: str) -> str:
    return f"{office.workspace.agents}/{agent}/tool-calls"


def call_with_key(
    office: ToolboxClient, agent: str, key: str = "first", tool: str = ECHO_TOOL, **args: Any
) -> httpx2.Response:
    body = {"toolName": tool, "args": args}
    return office.admin.post(calls(office, agent), json=body, headers={"Idempotency-Key": key})


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
def test_a_repeated_call_gets_the_first_response_and_is_not_sent_again(any_office: ToolboxClient) -> None:
    fake = PlainServer()
    agent = any_office.agent(any_office.server(fake))

    first, *others = (call_with_key(any_office, agent, text="hello") for _ in range(3))

    assert (first.status_code, first.json()["text"]) == (200, '{"text": "hello"}')
    assert [stripped(other) for other in others] == [stripped(first)] * 2
    assert len(fake.requests_for("tools/call")) == 1


@pytest.mark.requirement("REL-02")
async def test_one_of_fifty_concurrent_calls_is_sent_and_the_others_get_a_conflict(any_office: ToolboxClient) -> None:
    stuck = StuckServer("tools/call")
    agent = any_office.agent(any_office.server(stuck))
    any_office.list(agent)
    body, headers = {"toolName": ECHO_TOOL}, {"Idempotency-Key": "fifty"}

    async with many_callers(any_office.workspace.plugboard.url, any_office.workspace.key) as caller:
        sent = [
            asyncio.create_task(caller.post(calls(any_office, agent), json=body, headers=headers)) for _ in range(50)
        ]
        waiting = set(sent)
        while len(waiting) > 1:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        responses = [request.result() for request in sent if request not in waiting]
        stuck.release()
        answered = await waiting.pop()

    assert {problem_of(response) for response in responses} == {(409, "conflict", IN_PROGRESS, "1")}
    assert (answered.status_code, answered.json()["text"]) == (200, "{}")
    again = any_office.admin.post(calls(any_office, agent), json=body, headers=headers)
    assert stripped(again) == stripped(answered)
    assert len(stuck.requests_for("tools/call")) == 1


@pytest.mark.requirement("REL-01")
def test_a_key_used_for_another_call_is_refused(any_office: ToolboxClient) -> None:
    fake = PlainServer(tools=[ECHO, {**ECHO, "name": "other"}])
    agent = any_office.agent(any_office.server(fake))
    call_with_key(any_office, agent, text="hello")

    responses = [
        call_with_key(any_office, agent, text="bye"),
        call_with_key(any_office, agent, tool="mcp_weather_other", text="hello"),
    ]

    assert [problem_of(response)[:2] for response in responses] == [(422, "idempotency_key_reused")] * 2
    assert len(fake.requests_for("tools/call")) == 1


@pytest.mark.requirement("REL-02")
async def test_a_key_is_reserved_while_its_call_is_in_progress(office: ToolboxClient) -> None:
    stuck = StuckServer("tools/call")
    agent = office.agent(office.server(stuck))
    headers = {"Idempotency-Key": "first"}
    async with many_callers(office.workspace.plugboard.url, office.workspace.key) as caller:
        path = calls(office, agent)
        call = asyncio.create_task(caller.post(path, json={"toolName": ECHO_TOOL, "args": {}}, headers=headers))
        await asyncio.to_thread(stuck.wait_until, waiting=1)
        other = await asyncio.to_thread(call_with_key, office, agent, text="other")
        same = await asyncio.to_thread(call_with_key, office, agent)
        stuck.release()
        await call

    assert problem_of(other)[:2] == (422, "idempotency_key_reused")
    assert problem_of(same)[:2] == (409, "conflict")


@pytest.mark.requirement("REL-01")
def test_a_failure_is_replayed_too(any_office: ToolboxClient) -> None:
    fake = PlainServer(tools_call=lambda _: McpResponse(500))
    agent = any_office.agent(any_office.server(fake))

    failed = call_with_key(any_office, agent)
    del fake.handlers["tools/call"]
    again = call_with_key(any_office, agent)

    assert (failed.status_code, failed.json()["error"]["kind"]) == (200, "upstream_unavailable")
    assert stripped(again) == stripped(failed)
    assert call_with_key(any_office, agent, "second").json()["isError"] is False
    assert len(fake.requests_for("tools/call")) == 2


@pytest.mark.requirement("REL-03")
def test_a_refused_call_leaves_its_key_free(any_office: ToolboxClient) -> None:
    fake = PlainServer(tools=[])
    agent = any_office.agent(any_office.server(fake))

    absent = call_with_key(any_office, agent)
    invalid = call_with_key(any_office, agent, tool="")
    kept = records(any_office.workspace)
    other = call_with_key(any_office, agent, tool="mcp_weather_other")

    assert [item.status_code for item in (absent, invalid, other)] == [404, 422, 404]
    assert kept == []


def sketch(request: McpRequest) -> McpResponse:
    """A picture that nothing makes smaller."""
    data = base64.b64encode(secrets.token_bytes(400_000)).decode()
    return result(request, {"content": [{"type": "image", "mimeType": "image/png", "data": data}]})


@pytest.mark.requirement("REL-14")
def test_a_response_that_is_too_large_is_sent_once(any_office: ToolboxClient) -> None:
    fake = PlainServer(tools_call=sketch)
    agent = any_office.agent(any_office.server(fake))

    first, again = call_with_key(any_office, agent), call_with_key(any_office, agent)

    assert (first.status_code, first.json()["isError"]) == (200, False)
    assert len(first.content) > 500_000
    assert problem_of(again) == (409, "conflict", NOT_KEPT, None)
    assert problem_of(call_with_key(any_office, agent, text="other"))[0] == 422
    assert len(fake.requests_for("tools/call")) == 1


def test_a_long_response_that_compresses_well_is_stored(any_office: ToolboxClient) -> None:
    rows = [{"id": number, "city": "Oslo"} for number in range(6000)]
    fake = PlainServer(tools_call=lambda request: result(request, {"content": [], "structuredContent": {"rows": rows}}))
    agent = any_office.agent(any_office.server(fake))

    first, again = call_with_key(any_office, agent), call_with_key(any_office, agent)

    assert len(first.content) > 150_000
    assert stripped(again) == stripped(first)


@pytest.mark.requirement("REL-02", "REL-14")
async def test_a_call_with_an_unknown_outcome_is_not_sent_again(office: ToolboxClient, clock: StillClock) -> None:
    stuck = StuckServer("tools/call")
    agent = office.agent(office.server(stuck))
    async with many_callers(office.workspace.plugboard.url, office.workspace.key) as caller:
        body, headers = {"toolName": ECHO_TOOL, "args": {}}, {"Idempotency-Key": "first"}
        call = asyncio.create_task(caller.post(calls(office, agent), json=body, headers=headers))
        await asyncio.to_thread(stuck.wait_until, waiting=1)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await asyncio.to_thread(stuck.wait_until, left=1)
    stuck.release()

    clock.advance(MINUTE - 1)
    soon = call_with_key(office, agent)
    clock.advance(1)
    later = call_with_key(office, agent)
    clock.advance(DAY - MINUTE - 1)
    latest = call_with_key(office, agent)

    assert problem_of(soon) == (409, "conflict", IN_PROGRESS, "1")
    assert problem_of(later) == problem_of(latest) == (409, "conflict", UNKNOWN, None)
    assert not stuck.requests_for("tools/call")  # it left before it was answered, and nothing came since
    assert call_with_key(office, agent, "second").status_code == 200
    clock.advance(1)
    assert call_with_key(office, agent).status_code == 200


@pytest.mark.requirement("REL-01")
def test_a_response_is_kept_for_a_day(office: ToolboxClient, clock: StillClock) -> None:
    fake = PlainServer()
    agent = office.agent(office.server(fake))
    call_with_key(office, agent)

    clock.advance(DAY - 1)
    call_with_key(office, agent)
    assert len(fake.requests_for("tools/call")) == 1
    clock.advance(1)
    call_with_key(office, agent)
    assert len(fake.requests_for("tools/call")) == 2


@pytest.mark.requirement("REL-01")
def test_agents_principals_and_keys_distinguish_calls(any_office: ToolboxClient) -> None:
    fake = PlainServer()
    server = any_office.server(fake)
    agent, other = any_office.agent(server), any_office.agent(server)
    colleague = any_office.workspace.caller("invoke")

    call_with_key(any_office, agent)
    call_with_key(any_office, other)
    call_with_key(any_office, agent, "second")
    body, headers = {"toolName": ECHO_TOOL, "args": {}}, {"Idempotency-Key": "first"}
    colleague.post(calls(any_office, agent), json=body, headers=headers)

    assert len(fake.requests_for("tools/call")) == 4


@pytest.mark.requirement("REL-03", "ENC-16")
def test_the_record_of_a_call_reveals_nothing_of_its_content(any_office: ToolboxClient) -> None:
    agent = any_office.agent(any_office.server(PlainServer()))
    call_with_key(any_office, agent, "canary-key", text="canary-argument")

    (record,) = records(any_office.workspace)

    assert record.data.keys() == {"request", "state", "status", "headers", "body"}
    text = json.dumps(dict(record.data)) + str(record.key)
    assert not any(secret in text for secret in ("canary", "echo", any_office.workspace.key, SECRET))


@pytest.mark.requirement("REL-03")
def test_the_files_of_the_store_reveal_nothing_of_a_call(office: ToolboxClient) -> None:
    agent = office.agent(office.server(PlainServer()))

    assert "canary-argument" in call_with_key(office, agent, "canary-key", text="canary-argument").text

    dump = b"".join(file.read_bytes() for file in office.workspace.plugboard.settings.data_dir.glob("plugboard.db*"))
    assert b"canary" not in dump


@pytest.mark.requirement("AUT-04")
def test_a_key_revoked_while_the_body_arrives_calls_nothing(any_office: ToolboxClient) -> None:
    fake, workspace = PlainServer(), any_office.workspace
    agent, thief = any_office.agent(any_office.server(fake)), workspace.make_key("invoke")
    body = json.dumps({"toolName": ECHO_TOOL}).encode()
    host, port = workspace.plugboard.url.removeprefix("http://").split(":")
    head = (
        f"POST {calls(any_office, agent)} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {thief['apiKey']}\r\n"
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


async def test_a_call_that_outlives_its_workspace_writes_nothing_to_it(any_office: ToolboxClient) -> None:
    stuck, workspace = StuckServer("tools/call"), any_office.workspace
    agent = any_office.agent(any_office.server(stuck))
    async with many_callers(workspace.plugboard.url, workspace.key) as caller:
        body, headers = {"toolName": ECHO_TOOL}, {"Idempotency-Key": "first"}
        call = asyncio.create_task(caller.post(calls(any_office, agent), json=body, headers=headers))
        await asyncio.to_thread(stuck.wait_until, waiting=1)
        assert len(await _records(workspace)) == 1
        await asyncio.to_thread(workspace.admin.delete, workspace.path)
        await asyncio.to_thread(wait_until, lambda: not records(workspace))
        stuck.release()
        answer = await call

    assert (answer.status_code, answer.json()["text"]) == (200, "{}")
    assert await _records(workspace) == []


@pytest.mark.parametrize("key", [b"", b"x" * 256, b"a b", b"\xff"])
def test_the_idempotency_key_of_a_call_has_a_format(office: ToolboxClient, key: bytes) -> None:
    fake = PlainServer()
    agent = office.agent(office.server(fake))

    response = office.admin.post(
        calls(office, agent), json={"toolName": ECHO_TOOL}, headers=[(b"Idempotency-Key", key)]
    )

    assert response.status_code == 422
    assert [error["path"] for error in response.json()["errors"]] == ["Idempotency-Key"]
    assert not fake.requests_for("tools/call")


def test_without_a_key_every_call_is_sent_and_nothing_is_stored(any_office: ToolboxClient) -> None:
    fake = PlainServer()
    server = any_office.server(fake)
    agent = any_office.agent(server)

    any_office.call(agent, ECHO_TOOL)
    any_office.call(agent, ECHO_TOOL)
    path = f"{any_office.workspace.servers}/{server['id']}/check"
    any_office.admin.post(path, headers={"Idempotency-Key": "first"})

    assert len(fake.requests_for("tools/call")) == 2
    assert records(any_office.workspace) == []


def test_after_a_failure_without_effect_the_same_key_can_be_used_again(office: ToolboxClient) -> None:
    fake = PlainServer()
    agent = office.agent(office.server(fake))

    refused = call_with_key(office, agent, text=1)
    assert refused.json()["error"]["kind"] == "invalid_arguments"
    assert call_with_key(office, agent, text=1).json() == refused.json()
    assert fake.requests_for("tools/call") == []

    assert records(office.workspace) == []
