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
# Whoever answers so has not looked at the message: who may ask, how often, or whether anybody is there.
NOT_ABOUT_THE_MESSAGE = frozenset({401, 403, 407, 429})

SUCCESSES = range(200, 300)

OnAsked = Callable[[jsonrpc.ServerRequest], Awaitable[None]]


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


async def posted(
    http: Http, url: str, headers: Mapping[str, str], number: int, body: bytes, on_asked: OnAsked | None = None
) -> RpcOutcome:
    async with http.request("POST", url, {**ACCEPT, **headers}, body) as reply:
        return await received(reply, number, on_asked)


async def received(reply: HttpReply, number: int, on_asked: OnAsked | None = None) -> RpcOutcome:
    head = RpcOutcome(reply.status, reply.headers)
    try:
        if not is_success(reply):
            return head.failed(await refusal(reply))
        if is_stream(reply):
            return await _from_stream(head, reply, number, on_asked)
        return _from_body(head, await reply.read(), number)
    except UnreadableResponse as error:
        return head.failed(error)


async def refusal(reply: HttpReply) -> UpstreamError:
    """What the server says of it, where that is JSON-RPC and the status is about the message."""
    refused = StatusRefused(reply.status, reply.reason, dict(reply.headers))
    if reply.status not in range(400, 500) or reply.status in NOT_ABOUT_THE_MESSAGE:
        return refused
    try:
        said = jsonrpc.parse_messages(await reply.read())
    except UpstreamError:
        return refused
    return next((each.error for each in said if isinstance(each, jsonrpc.RpcResponse) and each.error), refused)


def is_success(reply: HttpReply) -> bool:
    return reply.status in SUCCESSES


def is_stream(reply: HttpReply) -> bool:
    kind = reply.headers.get("content-type", "")
    return kind != JSON and kind.partition(";")[0].strip().lower() == STREAM


def _from_body(head: RpcOutcome, body: bytes, number: int) -> RpcOutcome:
    for message in jsonrpc.parse_messages(body):
        if isinstance(message, jsonrpc.RpcResponse) and message.is_for(number):
            return RpcOutcome(head.status, head.headers, message.result, message.error)
    raise UnreadableResponse("The answer is to another request.")


async def _from_stream(head: RpcOutcome, reply: HttpReply, number: int, on_asked: OnAsked | None) -> RpcOutcome:
    stream = EventStream()
    ended: UpstreamError = Unreachable("The stream ended before the answer.")
    try:
        async for chunk in reply.chunks():
            for event in stream.feed(chunk):
                if event.name == "message" and (answer := await _answer_in(event.data, number, on_asked)):
                    return head._replace(result=answer.result, error=answer.error)
    except Unreachable as error:
        ended = error
    return head._replace(error=ended, cut=stream)


async def _answer_in(data: str, number: int, on_asked: OnAsked | None) -> jsonrpc.RpcResponse | None:
    for message in jsonrpc.parse_messages(data):
        if isinstance(message, jsonrpc.RpcResponse) and message.is_for(number):
            return message
        if isinstance(message, jsonrpc.ServerRequest) and on_asked:
            await on_asked(message)
    return None
