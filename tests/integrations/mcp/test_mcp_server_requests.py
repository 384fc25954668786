import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from demo.mcp_servers import (
    META,
    MODERN,
    STREAM,
    Json,
    McpRequest,
    McpResponse,
    ModernServer,
    SessionServer,
    as_stream,
    event,
    result,
    stream,
)
from integrations.errors import UnreadableResponse
from integrations.mcp import Era
from integrations.mcp.jsonrpc import ServerRequest
from integrations.mcp.listener import Listener
from integrations.mcp.stateless import MAX_ROUNDS
from tests.fakes.plain_http import client_of, plain_http
from tests.harness import listening

ERA, SESSION = Era("modern", MODERN), Era("streamable")
CONFIRM = {"method": "elicitation/create", "params": {"message": "Sure?"}}
QUESTION = event({"jsonrpc": "2.0", "id": 7, **CONFIRM})
YES = {"action": "accept", "content": {"sure": True}}
STATE = '{"b":1,  "a":2}'


class Person:
    capabilities: Mapping[str, Any] = {"elicitation": {"form": {}}}

    def __init__(self) -> None:
        self.requests: list[tuple[str, Mapping[str, Any]]] = []

    async def answer(self, method: str, params: Mapping[str, Any]) -> Json | None:
        self.requests.append((method, params))
        return YES if method == "elicitation/create" else None


def requiring_input(*rounds: Json) -> Callable[[McpRequest], McpResponse]:
    """Asks back so often, then answers."""
    left = [{"resultType": "input_required", **round_} for round_ in rounds]
    return lambda request: result(request, left.pop(0) if left else {"content": []})


def params_of(server: ModernServer, method: str = "tools/call") -> list[Json]:
    """The parameters of each request, without what every one has."""
    params = [request.message["params"] for request in server.requests_for(method)]
    return [{name: value for name, value in param.items() if name != "_meta"} for param in params]


async def test_a_server_gets_the_requested_inputs_and_its_state_unchanged() -> None:
    server, person = (
        ModernServer(tools_call=requiring_input({"inputRequests": {"c": CONFIRM}, "requestState": STATE})),
        Person(),
    )

    async with client_of(server, ERA, respondent=person) as client:
        assert await client.call_tool("echo", {"a": 1}) == {"content": []}

    requested = {"name": "echo", "arguments": {"a": 1}}
    assert params_of(server) == [requested, {**requested, "inputResponses": {"c": YES}, "requestState": STATE}]
    assert person.requests == [("elicitation/create", {"message": "Sure?"})]
    first, second = (request.message["id"] for request in server.requests)
    assert first != second


async def test_a_state_belongs_to_one_round() -> None:
    server = ModernServer(
        tools_call=requiring_input({"requestState": "s"}, {"inputRequests": {"c": CONFIRM}}, {"requestState": "t"})
    )

    async with client_of(server, ERA, respondent=Person()) as client:
        await client.call("tools/call", {"name": "echo", "requestState": "mine", "inputResponses": {"z": YES}})

    assert params_of(server) == [
        {"name": "echo", "requestState": "mine", "inputResponses": {"z": YES}},
        {"name": "echo", "requestState": "s"},
        {"name": "echo", "inputResponses": {"c": YES}},
        {"name": "echo", "requestState": "t"},
    ]


async def test_concurrent_calls_do_not_share_their_state() -> None:
    server = ModernServer(tools_call=_by_tool)

    async with client_of(server, ERA) as client:
        await asyncio.gather(*(client.call_tool(name, {}) for name in ("one", "two", "plain")))

    states = {(item["name"], item.get("requestState")) for item in params_of(server)}
    assert states == {("one", None), ("one", "of one"), ("two", None), ("two", "of two"), ("plain", None)}


def _by_tool(request: McpRequest) -> McpResponse:
    params = request.message["params"]
    is_done = params["name"] == "plain" or "requestState" in params
    return (
        result(request, {"content": []})
        if is_done
        else requiring_input({"requestState": f"of {params['name']}"})(request)
    )


async def test_a_server_that_requests_only_its_state_needs_no_respondent() -> None:
    server = ModernServer(resources_read=requiring_input({"requestState": STATE}))

    async with client_of(server, ERA) as client:
        assert await client.call("resources/read", {"uri": "a:b"}) == {"content": []}

    assert params_of(server, "resources/read") == [{"uri": "a:b"}, {"uri": "a:b", "requestState": STATE}]


async def test_a_repeated_request_has_the_same_headers() -> None:
    tool = {"name": "sql", "inputSchema": {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}
    server = ModernServer([tool], tools_call=requiring_input({"requestState": "s"}))

    async with client_of(server, ERA) as client:
        await client.call_tool("sql", {"region": "eu"}, tool)

    assert [request.headers["mcp-param-region"] for request in server.requests] == ["eu", "eu"]


@pytest.mark.parametrize("method", ["elicitation/create", "roots/list"])
async def test_without_a_respondent_the_call_fails_with_the_reason(method: str) -> None:
    server = ModernServer(tools_call=requiring_input({"inputRequests": {"c": {"method": method}}}))

    async with client_of(server, ERA) as client:
        with pytest.raises(UnreadableResponse, match="requested input from a person"):
            await client.call_tool("echo", {})

    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "wrong",
    [{}, {"requestState": 3}, {"inputRequests": [], "requestState": "s"}, {"inputRequests": {"c": "elicitation"}}],
)
async def test_a_malformed_input_request_gets_no_response(wrong: Json) -> None:
    server = ModernServer(tools_call=requiring_input(wrong))

    async with client_of(server, ERA, respondent=Person()) as client:
        with pytest.raises(UnreadableResponse, match="requested input in an invalid way"):
            await client.call_tool("echo", {})

    assert len(server.requests) == 1


async def test_the_number_of_input_rounds_is_limited() -> None:
    server = ModernServer(tools_call=requiring_input(*[{"requestState": "again"}] * 100))

    async with client_of(server, ERA) as client:
        with pytest.raises(UnreadableResponse, match="too many times"):
            await client.call_tool("echo", {})

    assert len(server.requests) == MAX_ROUNDS + 1


async def test_a_tool_list_cannot_request_input() -> None:
    server = ModernServer(tools_list=requiring_input({"inputRequests": {"c": CONFIRM}}))

    async with client_of(server, ERA, respondent=Person()) as client:
        with pytest.raises(UnreadableResponse, match="where it may not"):
            await client.list_tools()


async def test_every_request_names_the_supported_input_requests() -> None:
    server = ModernServer()

    async with client_of(server, respondent=Person()) as client:
        await client.list_tools()

    texts = [request.message["params"]["_meta"][f"{META}clientCapabilities"] for request in server.requests]
    assert texts == [Person.capabilities, Person.capabilities]


class InputRequiringServer(SessionServer):
    """Answers a call when its question is answered, which it asks on a stream that the client has to open."""

    def __init__(self, question: bytes = QUESTION, **say: Callable[[McpRequest], McpResponse]) -> None:
        super().__init__(**say)
        self.question = question
        self.calls: asyncio.Queue[None] = asyncio.Queue()
        self.answers: asyncio.Queue[Json] = asyncio.Queue()

    def default_response(self, request: McpRequest) -> McpResponse:
        match request.method:
            case "GET":
                return McpResponse(body=self._questions(), media_type=STREAM)
            case "tools/call":
                self.calls.put_nowait(None)
                return McpResponse(body=self._answered(request), media_type=STREAM)
            case _ if request.http_method == "POST" and "method" not in request.message:
                self.answers.put_nowait(request.message)
        return super().default_response(request)

    async def _questions(self) -> AsyncIterator[bytes]:
        yield b": here\n\n"
        while True:
            await self.calls.get()
            yield self.question

    async def _answered(self, request: McpRequest) -> AsyncIterator[bytes]:
        response = await self.answers.get()
        reply = result(request, {"content": [], "structuredContent": response})
        assert isinstance(reply.body, bytes)
        yield event(reply.body.decode())


async def test_requests_on_the_listening_stream_get_responses() -> None:
    server, person = (
        InputRequiringServer(event({"jsonrpc": "2.0", "method": "notifications/message"}) + QUESTION),
        Person(),
    )

    async with client_of(server, SESSION, respondent=person) as client:
        result = await client.call_tool("echo", {})

    assert result["structuredContent"] == {"jsonrpc": "2.0", "id": 7, "result": YES}
    assert person.requests == [("elicitation/create", {"message": "Sure?"})]
    assert server.requests[0].message["params"]["capabilities"] == Person.capabilities
    assert {request.headers["mcp-session-id"] for request in server.requests[1:]} == {"session-1"}
    assert server.requests_for("GET")[0].headers["accept"] == STREAM


async def test_an_unsupported_request_gets_method_not_found() -> None:
    server = InputRequiringServer(event({"jsonrpc": "2.0", "id": 7, "method": "roots/list"}))

    async with client_of(server, SESSION, respondent=Person()) as client:
        result = await client.call_tool("echo", {})

    assert result["structuredContent"]["error"]["code"] == -32601


async def test_requests_within_a_response_stream_get_responses() -> None:
    server, person = (
        SessionServer(tools_call=lambda request: as_stream(result(request, {"content": []}), QUESTION)),
        Person(),
    )

    async with client_of(server, SESSION, respondent=person) as client:
        await client.call_tool("echo", {})

    replies = [
        request.message
        for request in server.requests
        if "method" not in request.message and request.http_method == "POST"
    ]
    assert replies == [{"jsonrpc": "2.0", "id": 7, "result": YES}]


async def test_a_new_session_opens_a_listening_stream() -> None:
    server = InputRequiringServer()

    async with client_of(server, SESSION, respondent=Person()) as client:
        await client.call_tool("echo", {})
        server.expire()
        await client.call_tool("echo", {})

    assert [request.headers["mcp-session-id"] for request in server.requests_for("GET")] == ["session-1", "session-2"]


async def test_a_server_without_a_listening_stream_works() -> None:
    server = SessionServer(GET=lambda _: McpResponse(405))

    async with client_of(server, SESSION, respondent=Person()) as client:
        assert (await client.call_tool("echo", {}))["content"]

    assert server.methods == ["initialize", "notifications/initialized", "GET", "tools/call", "DELETE"]


async def test_a_listening_stream_that_ends_is_resumed() -> None:
    waits: list[float] = []
    server = InputRequiringServer()
    parts = [stream(event("", id="e1", retry=5)), stream(event("", id="", retry=10**9)), stream(b": nothing\n\n")]
    server.handlers["GET"] = lambda request: (
        parts.pop(0) if parts else InputRequiringServer.default_response(server, request)
    )

    async with client_of(server, SESSION, waits, Person()) as client:
        result = await client.call_tool("echo", {})

    assert result["structuredContent"]["result"] == YES
    assert [request.headers.get("last-event-id") for request in server.requests_for("GET")] == [None, "e1", "e1", "e1"]
    assert waits == [1.0, 60.0, 1.0]


class SilentRespondent(SessionServer):
    """Does not respond to a listening request."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("method") != "GET":
            await super().__call__(scope, receive, send)
            return
        self.is_asked.set()
        while (await receive())["type"] != "http.disconnect":
            pass


async def test_a_cancelled_listening_stream_leaves_no_state() -> None:
    server = SilentRespondent()

    async with client_of(server, SESSION, respondent=Person()) as client:
        listing = asyncio.create_task(client.list_tools())
        assert await asyncio.to_thread(server.is_asked.wait, 10)
        listing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listing
        assert [task for task in asyncio.all_tasks() if "Listener" in repr(task)] == []


async def test_a_silent_listening_stream_delays_no_call() -> None:
    server, requested = SilentRespondent(), list[ServerRequest]()

    async def on_asked(question: ServerRequest) -> None:
        requested.append(question)

    with listening(server) as url:
        async with plain_http() as http:
            listener = Listener(http, url, {}, asyncio.sleep, on_asked)
            await listener.wait_until_open(patience=0.05)
            await listener.close()

    assert requested == []
