"""One JSON-RPC request over HTTP and its outcome: a body, a stream or an error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from integrations.errors import StatusRefused, Unreachable, UnreadableResponse, UpstreamError
from integrations.http_port import Http, HttpReply
from integrations.mcp import jsonrpc
from integrations.mcp.sse import EventStream

JSON, STREAM = "application/json", "text/event-stream"
ACCEPT: Mapping[str, str] = {"Content-Type": JSON, "Accept": f"{JSON}, {STREAM}"}
# These come from whatever stands before the server, and say nothing about the message.
NOT_ABOUT_THE_MESSAGE = frozenset({401, 403, 407, 429})

SUCCESSES = range(200, 300)

OnRequest = Callable[[jsonrpc.ServerRequest], Awaitable[None]]


class RpcOutcome(NamedTuple):
    """Either a result or an error. `cut` is the stream that ended before it had the answer."""

    status: int
    headers: Mapping[str, str] = MappingProxyType({})
    result: object = None
    error: UpstreamError | None = None
    cut: EventStream | None = None

    def value(self) -> dict[str, Any]:
        if self.error:
            raise self.error
        if not isinstance(self.result, dict):
            raise UnreadableResponse("The result is not an object.")
        return self.result

    def failed(self, error: UpstreamError) -> RpcOutcome:
        return self._replace(result=None, error=error)


async def post(
    http: Http, url: str, headers: Mapping[str, str], number: int, body: bytes, on_request: OnRequest | None = None
) -> RpcOutcome:
    async with http.request("POST", url, {**ACCEPT, **headers}, body) as reply:
        return await read_outcome(reply, number, on_request)


async def read_outcome(reply: HttpReply, number: int, on_request: OnRequest | None = None) -> RpcOutcome:
    try:
        if not is_success(reply):
            return RpcOutcome(reply.status, reply.headers, error=await refusal(reply))
        if is_stream(reply):
            return await _read_stream(reply, number, on_request)
        response = _response_in(await reply.read(), number)
    except UnreadableResponse as error:
        return RpcOutcome(reply.status, reply.headers, error=error)
    return RpcOutcome(reply.status, reply.headers, response.result, response.error)


async def refusal(reply: HttpReply) -> UpstreamError:
    """The error that a JSON-RPC body describes, if the status is about the message; otherwise the status itself."""
    refused = StatusRefused(reply.status, reply.reason, dict(reply.headers))
    if reply.status not in range(400, 500) or reply.status in NOT_ABOUT_THE_MESSAGE:
        return refused
    try:
        messages = jsonrpc.parse_messages(await reply.read())
    except UpstreamError:
        return refused
    errors = (message.error for message in messages if isinstance(message, jsonrpc.RpcResponse) and message.error)
    return next(errors, refused)


def is_success(reply: HttpReply) -> bool:
    return reply.status in SUCCESSES


def is_stream(reply: HttpReply) -> bool:
    kind = reply.headers.get("content-type", "")
    return kind != JSON and kind.partition(";")[0].strip().lower() == STREAM


def _response_in(body: bytes, number: int) -> jsonrpc.RpcResponse:
    for message in jsonrpc.parse_messages(body):
        if isinstance(message, jsonrpc.RpcResponse) and message.is_for(number):
            return message
    raise UnreadableResponse("The answer is to another request.")


async def _read_stream(reply: HttpReply, number: int, on_request: OnRequest | None) -> RpcOutcome:
    stream = EventStream()
    broken: UpstreamError = Unreachable("The stream ended before the answer.")
    try:
        async for chunk in reply.chunks():
            for event in stream.feed(chunk):
                if event.name == "message" and (response := await _read_event(event.data, number, on_request)):
                    return RpcOutcome(reply.status, reply.headers, response.result, response.error)
    except Unreachable as error:
        broken = error
    return RpcOutcome(reply.status, reply.headers, error=broken, cut=stream)


async def _read_event(data: str, number: int, on_request: OnRequest | None) -> jsonrpc.RpcResponse | None:
    """The response, if it is in this event."""
    for message in jsonrpc.parse_messages(data):
        if isinstance(message, jsonrpc.RpcResponse) and message.is_for(number):
            return message
        if isinstance(message, jsonrpc.ServerRequest) and on_request:
            await on_request(message)
    return None
