"""MCP servers of every era, as ASGI apps that remember what they were asked."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
STREAM = "text/event-stream"
ECHO = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
Json = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    verb: str
    path: str
    headers: Mapping[str, str]
    message: Json

    @property
    def method(self) -> str:
        return str(self.message.get("method", self.verb))


@dataclass
class Reply:
    status: int = 200
    body: bytes | AsyncIterator[bytes] = b""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


NEVER = Reply()
"""Nothing comes, for as long as somebody waits for it."""


def result(seen: Seen, value: object, **headers: str) -> Reply:
    body = {"jsonrpc": "2.0", "id": seen.message["id"], "result": value}
    return Reply(body=json.dumps(body).encode(), headers=headers)


def error(seen: Seen, code: int, text: str, status: int = 200, data: object = None) -> Reply:
    said = {"code": code, "message": text} | ({} if data is None else {"data": data})
    body = {"jsonrpc": "2.0", "id": seen.message.get("id"), "error": said}
    return Reply(status, json.dumps(body).encode())


def event(data: object, **fields: object) -> bytes:
    lines = [f"{name}: {value}" for name, value in fields.items()]
    text = data if isinstance(data, str) else json.dumps(data)
    return "\n".join([*lines, f"data: {text}", "", ""]).encode()


def stream(*events: bytes, **headers: str) -> Reply:
    async def pieces() -> AsyncIterator[bytes]:
        for each in events:
            yield each

    return Reply(body=pieces(), kind=STREAM, headers=headers)


def streamed(reply: Reply, *before: bytes) -> Reply:
    assert isinstance(reply.body, bytes)
    return stream(*before, event(reply.body.decode()), **reply.headers)


class Fake:
    """`say` replaces what is answered to a method."""

    def __init__(self, tools: list[Json] | None = None, **say: Callable[[Seen], Reply]) -> None:
        self.tools = [ECHO] if tools is None else tools
        self.say = {name.replace("_", "/"): answer for name, answer in say.items()}
        self.seen: list[Seen] = []

    @property
    def methods(self) -> list[str]:
        return [each.method for each in self.seen]

    def asked(self, method: str) -> list[Seen]:
        return [each for each in self.seen if each.method == method]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        seen = await _seen(scope, receive)
        self.seen.append(seen)
        await _until_left(receive, _answer(send, self.reply(seen)))

    def reply(self, seen: Seen) -> Reply:
        return self.say[seen.method](seen) if seen.method in self.say else self.usual(seen)

    def usual(self, seen: Seen) -> Reply:
        params = seen.message.get("params") or {}
        match seen.method:
            case "tools/list":
                return result(seen, {"tools": self.tools, "ttlMs": 5000, "cacheScope": "public"})
            case "tools/call":
                return result(seen, {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]})
            case method:
                return error(seen, -32601, f"Method not found: {method}")


class PlainServer(Fake):
    """Knows no handshake."""


class ModernServer(Fake):
    def usual(self, seen: Seen) -> Reply:
        if problem := self._mismatch(seen):
            return error(seen, -32020, f"Header mismatch: {problem}", 400)
        if seen.method == "server/discover":
            meta = {f"{META}serverInfo": {"name": "modern", "version": "1"}}
            return result(seen, {"resultType": "complete", "supportedVersions": [MODERN], "_meta": meta})
        reply = super().usual(seen)
        reply.status = 404 if b"-32601" in bytes(reply.body) else 200  # type: ignore[arg-type]
        return reply

    def _mismatch(self, seen: Seen) -> str | None:
        params = seen.message.get("params", {})
        wanted = {"mcp-protocol-version": params.get("_meta", {}).get(f"{META}protocolVersion", "none")}
        wanted["mcp-method"] = seen.method
        if name := {"tools/call": params.get("name"), "resources/read": params.get("uri")}.get(seen.method):
            wanted["mcp-name"] = name
        for tool in self.tools if seen.method == "tools/call" else []:
            if tool["name"] == params["name"]:
                wanted |= _mirrored(tool, params.get("arguments", {}))
        return next((name for name, text in wanted.items() if decoded(seen.headers.get(name)) != text), None)


def _mirrored(tool: Json, arguments: Json) -> dict[str, str]:
    annotated = {
        name: part["x-mcp-header"]
        for name, part in tool["inputSchema"]["properties"].items()
        if "x-mcp-header" in part and name in arguments
    }
    return {f"mcp-param-{header}".lower(): str(arguments[name]) for name, header in annotated.items()}


def decoded(value: str | None) -> str | None:
    if value and value.startswith("=?base64?"):
        return base64.b64decode(value[9:-2]).decode()
    return value


class SessionServer(Fake):
    """Streamable HTTP up to 2025-11-25. `expire` ends every session; `streams` answers with streams."""

    def __init__(self, *, streams: bool = False, version: str = "2025-11-25", **say: Callable[[Seen], Reply]) -> None:
        super().__init__(None, **say)
        self.streams, self.version = streams, version
        self.made, self.sessions = 0, set[str]()

    def expire(self) -> None:
        self.sessions.clear()

    def reply(self, seen: Seen) -> Reply:
        if seen.method == "initialize" and "initialize" not in self.say:
            return self._begin(seen)
        session = seen.headers.get("mcp-session-id")
        if session is None and seen.method != "initialize":
            return error(seen, -32000, "Bad Request: No valid session ID provided", 400)
        if session not in self.sessions and session is not None:
            return error(seen, -32001, "Session not found", 404)
        reply = super().reply(seen)
        return streamed(reply, b": hello\n\n") if self.streams and reply.kind != STREAM and reply.body else reply

    def usual(self, seen: Seen) -> Reply:
        if seen.method == "DELETE":
            self.sessions.discard(seen.headers["mcp-session-id"])
            return Reply(204)
        return Reply(202) if "id" not in seen.message or "method" not in seen.message else super().usual(seen)

    def _begin(self, seen: Seen) -> Reply:
        self.made += 1
        self.sessions.add(f"session-{self.made}")
        info = {"protocolVersion": self.version, "capabilities": {}, "serverInfo": {"name": "s", "version": "2"}}
        reply = result(seen, info, **{"Mcp-Session-Id": f"session-{self.made}"})
        return streamed(reply) if self.streams else reply


class LegacyServer(Fake):
    """HTTP+SSE: one stream, and an endpoint to post to. An empty piece in the queue ends the stream."""

    def __init__(self, endpoint: str = "/messages?session=1", **say: Callable[[Seen], Reply]) -> None:
        super().__init__(None, **say)
        self.endpoint = endpoint
        self.queue: asyncio.Queue[bytes]
        self.streams_open = 0

    def reply(self, seen: Seen) -> Reply:
        if seen.verb == "GET":
            return Reply(body=self._stream(), kind=STREAM)
        if not seen.path.startswith("/messages"):
            return Reply(405)
        reply = super().reply(seen)
        if reply.status == 200 and reply.body:
            assert isinstance(reply.body, bytes)
            self.queue.put_nowait(event(reply.body.decode(), event="message"))
            return Reply(202)
        return reply

    def usual(self, seen: Seen) -> Reply:
        if seen.method == "initialize":
            return result(seen, {"protocolVersion": "2024-11-05", "serverInfo": {"name": "old", "version": "0"}})
        return Reply(202) if "id" not in seen.message or "method" not in seen.message else super().usual(seen)

    async def _stream(self) -> AsyncIterator[bytes]:
        self.queue = asyncio.Queue()
        self.streams_open += 1
        try:
            yield event(self.endpoint, event="endpoint")
            while piece := await self.queue.get():
                yield piece
        finally:
            self.streams_open -= 1


async def _live(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def _seen(scope: Any, receive: Any) -> Seen:
    body, more = b"", True
    while more:
        part = await receive()
        body += part.get("body", b"")
        more = part.get("more_body", False)
    headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
    return Seen(scope["method"], scope["path"], headers, json.loads(body or b"{}"))


async def _until_left(receive: Any, answering: Coroutine[Any, Any, None]) -> None:
    """Ends the answer when its reader goes, as a stream has to."""
    answer, left = asyncio.create_task(answering), asyncio.create_task(receive())
    await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
    left.cancel()
    answer.cancel()
    for each in await asyncio.gather(answer, left, return_exceptions=True):
        if isinstance(each, Exception):
            raise each


async def _answer(send: Any, reply: Reply) -> None:
    if reply is NEVER:
        await asyncio.Event().wait()
    headers = {"Content-Type": reply.kind, **reply.headers}
    listed = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": listed})
    if isinstance(reply.body, bytes):
        await send({"type": "http.response.body", "body": reply.body})
        return
    async for piece in reply.body:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
