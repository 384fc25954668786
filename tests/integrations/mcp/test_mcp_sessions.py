import asyncio

import pytest

from demo.mcp_servers import (
    LegacyServer,
    McpRequest,
    McpResponse,
    SessionServer,
    as_stream,
    error,
    event,
    result,
    stream,
)
from integrations.errors import RpcErrorResponse, StatusRefused, Unreachable, UnreadableResponse, UpstreamTimeout
from integrations.mcp import Era
from tests.fakes.plain_http import client_of

ERA, SSE = Era("streamable"), Era("sse")
DONE = {"jsonrpc": "2.0", "id": 2, "result": {"content": []}}


@pytest.mark.parametrize("streams", [False, True])
async def test_a_session_is_started_used_and_deleted(streams: bool) -> None:
    server = SessionServer(streams=streams, version="2025-06-18")

    async with client_of(server, ERA) as client:
        await client.call_tool("echo", {})

    assert server.methods == ["initialize", "notifications/initialized", "tools/call", "DELETE"]
    assert "mcp-session-id" not in server.requests[0].headers
    for request in server.requests[1:]:
        assert (request.headers["mcp-session-id"], request.headers["mcp-protocol-version"]) == (
            "session-1",
            "2025-06-18",
        )
    assert server.sessions == set()


async def test_concurrent_calls_restart_an_expired_session_once() -> None:
    server = SessionServer()

    async with client_of(server, ERA) as client:
        await client.list_tools()
        server.expire()
        await asyncio.gather(*(client.call_tool("echo", {}) for _ in range(5)))

    assert server.sessions_created == 2


async def test_a_session_that_always_expires_is_restarted_once_per_call() -> None:
    server = SessionServer(tools_call=lambda request: error(request, -32001, "Session not found", 404))

    async with client_of(server, ERA) as client:
        with pytest.raises(Exception, match="Session not found"):
            await client.call_tool("echo", {})

    assert len(server.requests_for("tools/call")) == 2


async def test_a_session_whose_id_cannot_be_sent_back_is_unreadable() -> None:
    hello = {"protocolVersion": "2025-11-25"}
    server = SessionServer(initialize=lambda request: result(request, hello, **{"Mcp-Session-Id": "a b"}))

    async with client_of(server) as client:
        with pytest.raises(UnreadableResponse, match="invalid session id"):
            await client.call("tools/list")


async def test_a_server_without_sessions_gets_no_delete() -> None:
    hello = {"protocolVersion": "2025-03-26"}
    server = SessionServer(initialize=lambda request: result(request, hello))
    server.handlers["tools/list"] = lambda request: result(request, {"tools": []})
    server.default_response = lambda _: McpResponse(202)  # type: ignore[method-assign]

    async with client_of(server, ERA) as client:
        with pytest.raises(Exception, match="No valid session"):
            await client.call("tools/list")

    assert "DELETE" not in server.methods


async def test_a_servers_request_gets_an_error_and_a_ping_an_empty_result() -> None:
    ping = event({"jsonrpc": "2.0", "id": "p", "method": "ping"})
    asks = event({"jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage"})
    server = SessionServer(tools_call=lambda request: as_stream(result(request, {"content": []}), ping, asks))

    async with client_of(server, ERA) as client:
        await client.call_tool("echo", {})

    replies = [
        request.message
        for request in server.requests
        if "method" not in request.message and request.http_method == "POST"
    ]
    assert replies[0] == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert (replies[1]["id"], replies[1]["error"]["code"]) == (9, -32601)


async def test_a_stream_that_ends_early_is_resumed_after_its_retry_time() -> None:
    waits: list[float] = []
    rests = [stream(event("", id="e2")), stream(event(DONE))]
    server = SessionServer(tools_call=lambda _: stream(event("", id="e1", retry=250)), GET=lambda _: rests.pop(0))

    async with client_of(server, ERA, waits) as client:
        assert await client.call_tool("echo", {}) == {"content": []}

    assert [request.headers["last-event-id"] for request in server.requests_for("GET")] == ["e1", "e2"]
    assert waits == [0.25, 0.25]
    assert len(server.requests_for("tools/call")) == 1


@pytest.mark.parametrize("status", [400, 404, 405])
@pytest.mark.requirement("REL-14")
async def test_a_refused_resumption_is_reported_and_the_call_is_not_repeated(status: int) -> None:
    server = SessionServer(tools_call=lambda _: stream(event("", id="e1")), GET=lambda _: McpResponse(status))

    async with client_of(server, ERA) as client:
        with pytest.raises(Unreachable, match="the rest could not be read") as raised:
            await client.call_tool("echo", {})

    assert raised.value.sent
    assert len(server.requests_for("tools/call")) == 1


async def test_a_resumption_that_is_no_stream_is_an_error() -> None:
    server = SessionServer(tools_call=lambda _: stream(event("", id="e1")), GET=lambda _: McpResponse(body=b"{}"))

    async with client_of(server, ERA) as client:
        with pytest.raises(Unreachable, match="the rest could not be read"):
            await client.call_tool("echo", {})


async def test_a_long_retry_time_of_a_stream_is_not_waited_for() -> None:
    server = SessionServer(tools_call=lambda _: stream(event("", id="e1", retry=10**12)))

    async with client_of(server, ERA) as client:
        with pytest.raises(UpstreamTimeout):
            await client.call_tool("echo", {})


async def test_a_stream_without_progress_is_given_up() -> None:
    server = SessionServer(
        tools_call=lambda _: stream(event("", id="e1", retry=0)), GET=lambda _: stream(event("", id="e1"))
    )

    async with client_of(server, ERA) as client:
        with pytest.raises(Unreachable, match="ended before the answer"):
            await client.call_tool("echo", {})

    assert len(server.requests_for("GET")) == 50


async def test_many_calls_share_one_legacy_stream() -> None:
    server = LegacyServer()

    async with client_of(server, SSE) as client:
        results = await asyncio.gather(*(client.call_tool("echo", {"n": n}) for n in range(5)))

    assert [result["content"][0]["text"] for result in results] == [f'{{"n": {n}}}' for n in range(5)]
    assert len(server.requests_for("GET")) == 1


async def test_an_endpoint_of_another_origin_gets_no_request() -> None:
    async with client_of(LegacyServer("https://elsewhere.example.com/messages"), SSE) as client:
        with pytest.raises(StatusRefused, match="405"):  # the error about the handshake after this protocol has failed
            await client.call("tools/list")


async def test_a_legacy_stream_that_ends_is_reopened_for_the_next_call() -> None:
    server = LegacyServer()

    def hang_up(_: object) -> McpResponse:
        server.queue.put_nowait(b"")
        return McpResponse(202)

    server.handlers["tools/call"] = hang_up
    async with client_of(server, SSE) as client:
        with pytest.raises(Unreachable, match="ended its stream"):
            await client.call_tool("echo", {})
        assert len((await client.list_tools()).tools) == 1

    assert len(server.requests_for("tools/call")) == 1
    assert len(server.requests_for("GET")) == 2


async def test_a_request_on_a_legacy_stream_gets_a_response() -> None:
    server = LegacyServer()

    def ask_first(seen: object) -> McpResponse:
        server.queue.put_nowait(event({"jsonrpc": "2.0", "id": 5, "method": "roots/list"}))
        server.queue.put_nowait(event({"jsonrpc": "2.0", "method": "notifications/message"}))
        return result(seen, {"content": []})  # type: ignore[arg-type]

    server.handlers["tools/call"] = ask_first
    async with client_of(server, SSE) as client:
        await client.call_tool("echo", {})

    assert [request.message["error"]["code"] for request in server.requests if "error" in request.message] == [-32601]


async def test_a_refusal_of_the_legacy_endpoint_is_reported() -> None:
    async with client_of(LegacyServer(tools_call=lambda _: McpResponse(500, b"")), SSE) as client:
        with pytest.raises(StatusRefused, match="500 Internal Server Error"):
            await client.call_tool("echo", {})


@pytest.mark.requirement("REL-01")
@pytest.mark.parametrize(
    "message",
    ["The training session is booked, but the mail failed", "Session 7 was created twice", "session limit reached"],
)
async def test_a_refusal_that_only_mentions_a_session_does_not_repeat_the_call(message: str) -> None:
    """The tool may have done its work."""
    server = SessionServer(tools_call=lambda request: error(request, -32000, message, 400))

    async with client_of(server, ERA) as client:
        with pytest.raises(RpcErrorResponse, match=message):
            await client.call_tool("echo", {})

    assert len(server.requests_for("tools/call")) == 1


async def test_after_a_refusal_that_mentions_a_session_the_next_call_has_a_new_one() -> None:
    answers = ["This session seems to have ended a while ago", None]
    server = SessionServer()
    server.handlers["tools/call"] = lambda request: (
        error(request, -32000, answer, 400) if (answer := answers.pop(0)) else result(request, {"content": []})
    )

    async with client_of(server, ERA) as client:
        with pytest.raises(RpcErrorResponse, match="seems to have ended"):
            await client.call_tool("echo", {})
        await client.call_tool("echo", {})

    assert [request.headers["mcp-session-id"] for request in server.requests_for("tools/call")] == [
        "session-1",
        "session-2",
    ]


@pytest.mark.parametrize(
    "message",
    [
        "Bad Request: No valid session ID provided",
        "Bad Request: Missing session ID",
        "Bad Request: Mcp-Session-Id header is required",
        "Bad Request: Session ID is required",
        "Session not found",
        "session not found.",
        "Session not found: 4f1c-22",
        "Invalid session ID",
        "Invalid or expired session ID",
        "Invalid or missing session ID",
        "No valid session",
        "Session has expired",
        "Session expired",
        "Session has been terminated",
        "Session ID missing in mcp-session-id header",
        "Session ID required in mcp-session-id header",
        "Session not found or expired",
        "Unknown session",
    ],
)
async def test_a_refusal_for_its_session_repeats_the_call_in_a_new_one(message: str) -> None:
    refusals = [message]
    server = SessionServer()
    server.handlers["tools/call"] = lambda request: (
        error(request, -32000, refusals.pop(), 400) if refusals else result(request, {"content": []})
    )

    async with client_of(server, ERA) as client:
        await client.call_tool("echo", {})

    assert len(server.requests_for("tools/call")) == 2


async def test_a_400_can_mean_an_expired_session() -> None:
    class Restarted(SessionServer):
        def respond(self, request: McpRequest) -> McpResponse:
            if request.headers.get("mcp-session-id", "session-0") not in {"session-0", *self.sessions}:
                return error(request, -32000, "Bad Request: No valid session ID provided", 400)
            return super().respond(request)

    server = Restarted()
    async with client_of(server) as client:
        await client.call("tools/list")
        server.expire()
        await client.call_tool("echo", {})
        await client.call_tool("echo", {})

    assert (server.sessions_created, len(server.requests_for("initialize"))) == (2, 2)
    assert len(server.requests_for("tools/call")) == 3
