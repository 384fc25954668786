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
class McpRequest:
    http_method: str
    path: str
    headers: Mapping[str, str]
    message: Json

    @property
    def method(self) -> str:
        return str(self.message.get("method", self.http_method))


@dataclass
class McpResponse:
    status: int = 200
    body: bytes | AsyncIterator[bytes] = b""
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


NO_RESPONSE = McpResponse()
"""Nothing comes, for as long as somebody waits for it."""


def result(seen: McpRequest, value: object, **headers: str) -> McpResponse:
    body = {"jsonrpc": "2.0", "id": seen.message["id"], "result": value}
    return McpResponse(body=json.dumps(body).encode(), headers=headers)


def error(seen: McpRequest, code: int, text: str, status: int = 200, data: object = None) -> McpResponse:
    said = {"code": code, "message": text} | ({} if data is None else {"data": data})
    body = {"jsonrpc": "2.0", "id": seen.message.get("id"), "error": said}
    return McpResponse(status, json.dumps(body).encode())


def event(data: object, **fields: object) -> bytes:
    lines = [f"{name}: {value}" for name, value in fields.items()]
    text = data if isinstance(data, str) else json.dumps(data)
    return "\n".join([*lines, f"data: {text}", "", ""]).encode()


def stream(*events: bytes, **headers: str) -> McpResponse:
    async def pieces() -> AsyncIterator[bytes]:
        for each in events:
            yield each

    return McpResponse(body=pieces(), media_type=STREAM, headers=headers)


def as_stream(reply: McpResponse, *before: bytes) -> McpResponse:
    assert isinstance(reply.body, bytes)
    return stream(*before, event(reply.body.decode()), **reply.headers)


class FakeMcpServer:
    """`say` replaces what is answered to a method."""

    def __init__(self, tools: list[Json] | None = None, **say: Callable[[McpRequest], McpResponse]) -> None:
        self.tools = [ECHO] if tools is None else tools
        self.handlers = {name.replace("_", "/"): answer for name, answer in say.items()}
        self.requests: list[McpRequest] = []

    @property
    def methods(self) -> list[str]:
        return [each.method for each in self.requests]

    def requests_for(self, method: str) -> list[McpRequest]:
        return [each for each in self.requests if each.method == method]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _handle_lifespan(receive, send)
            return
        seen = await _read_request(scope, receive)
        self.requests.append(seen)
        await _until_disconnect(receive, _send(send, self.respond(seen)))

    def respond(self, seen: McpRequest) -> McpResponse:
        return self.handlers[seen.method](seen) if seen.method in self.handlers else self.default_response(seen)

    def default_response(self, seen: McpRequest) -> McpResponse:
        params = seen.message.get("params") or {}
        match seen.method:
            case "tools/list":
                return result(seen, {"tools": self.tools, "ttlMs": 5000, "cacheScope": "public"})
            case "tools/call":
                return result(seen, {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]})
            case method:
                return error(seen, -32601, f"Method not found: {method}")


class PlainServer(FakeMcpServer):
    """Knows no handshake."""


class ModernServer(FakeMcpServer):
    def default_response(self, seen: McpRequest) -> McpResponse:
        if problem := self._mismatch(seen):
            return error(seen, -32020, f"Header mismatch: {problem}", 400)
        if seen.method == "server/discover":
            meta = {f"{META}serverInfo": {"name": "modern", "version": "1"}}
            return result(seen, {"resultType": "complete", "supportedVersions": [MODERN], "_meta": meta})
        reply = super().default_response(seen)
        reply.status = 404 if b"-32601" in bytes(reply.body) else 200  # type: ignore[arg-type]
        return reply

    def _mismatch(self, seen: McpRequest) -> str | None:
        params = seen.message.get("params", {})
        wanted = {"mcp-protocol-version": params.get("_meta", {}).get(f"{META}protocolVersion", "none")}
        wanted["mcp-method"] = seen.method
        if name := {"tools/call": params.get("name"), "resources/read": params.get("uri")}.get(seen.method):
            wanted["mcp-name"] = name
        for tool in self.tools if seen.method == "tools/call" else []:
            if tool["name"] == params["name"]:
                wanted |= _mirrored_headers(tool, params.get("arguments", {}))
        return next((name for name, text in wanted.items() if decode_header(seen.headers.get(name)) != text), None)


def _mirrored_headers(tool: Json, arguments: Json) -> dict[str, str]:
    annotated = {
        name: part["x-mcp-header"]
        for name, part in tool["inputSchema"]["properties"].items()
        if "x-mcp-header" in part and name in arguments
    }
    return {f"mcp-param-{header}".lower(): str(arguments[name]) for name, header in annotated.items()}


def decode_header(value: str | None) -> str | None:
    if value and value.startswith("=?base64?"):
        return base64.b64decode(value[9:-2]).decode()
    return value


class SessionServer(FakeMcpServer):
    """Streamable HTTP up to 2025-11-25. `expire` ends every session; `streams` answers with streams."""

    def __init__(
        self, *, streams: bool = False, version: str = "2025-11-25", **say: Callable[[McpRequest], McpResponse]
    ) -> None:
        super().__init__(None, **say)
        self.streams, self.version = streams, version
        self.sessions_created, self.sessions = 0, set[str]()

    def expire(self) -> None:
        self.sessions.clear()

    def respond(self, seen: McpRequest) -> McpResponse:
        if seen.method == "initialize" and "initialize" not in self.handlers:
            return self._start_session(seen)
        session = seen.headers.get("mcp-session-id")
        if session is None and seen.method != "initialize":
            return error(seen, -32000, "Bad Request: No valid session ID provided", 400)
        if session not in self.sessions and session is not None:
            return error(seen, -32001, "Session not found", 404)
        reply = super().respond(seen)
        return as_stream(reply, b": hello\n\n") if self.streams and reply.media_type != STREAM and reply.body else reply

    def default_response(self, seen: McpRequest) -> McpResponse:
        if seen.method == "DELETE":
            self.sessions.discard(seen.headers["mcp-session-id"])
            return McpResponse(204)
        return (
            McpResponse(202)
            if "id" not in seen.message or "method" not in seen.message
            else super().default_response(seen)
        )

    def _start_session(self, seen: McpRequest) -> McpResponse:
        self.sessions_created += 1
        self.sessions.add(f"session-{self.sessions_created}")
        info = {"protocolVersion": self.version, "capabilities": {}, "serverInfo": {"name": "s", "version": "2"}}
        reply = result(seen, info, **{"Mcp-Session-Id": f"session-{self.sessions_created}"})
        return as_stream(reply) if self.streams else reply


class LegacyServer(FakeMcpServer):
    """HTTP+SSE: one stream, and an endpoint to post to. An empty piece in the queue ends the stream."""

    def __init__(self, endpoint: str = "/messages?session=1", **say: Callable[[McpRequest], McpResponse]) -> None:
        super().__init__(None, **say)
        self.endpoint = endpoint
        self.queue: asyncio.Queue[bytes]
        self.streams_open = 0

    def respond(self, seen: McpRequest) -> McpResponse:
        if seen.http_method == "GET":
            return McpResponse(body=self._stream(), media_type=STREAM)
        if not seen.path.startswith("/messages"):
            return McpResponse(405)
        reply = super().respond(seen)
        if reply.status == 200 and reply.body:
            assert isinstance(reply.body, bytes)
            self.queue.put_nowait(event(reply.body.decode(), event="message"))
            return McpResponse(202)
        return reply

    def default_response(self, seen: McpRequest) -> McpResponse:
        if seen.method == "initialize":
            return result(seen, {"protocolVersion": "2024-11-05", "serverInfo": {"name": "old", "version": "0"}})
        return (
            McpResponse(202)
            if "id" not in seen.message or "method" not in seen.message
            else super().default_response(seen)
        )

    async def _stream(self) -> AsyncIterator[bytes]:
        self.queue = asyncio.Queue()
        self.streams_open += 1
        try:
            yield event(self.endpoint, event="endpoint")
            while piece := await self.queue.get():
                yield piece
        finally:
            self.streams_open -= 1


async def _handle_lifespan(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def _read_request(scope: Any, receive: Any) -> McpRequest:
    body, more = b"", True
    while more:
        part = await receive()
        body += part.get("body", b"")
        more = part.get("more_body", False)
    headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
    return McpRequest(scope["method"], scope["path"], headers, json.loads(body or b"{}"))


async def _until_disconnect(receive: Any, answering: Coroutine[Any, Any, None]) -> None:
    """Ends the answer when its reader goes, as a stream has to."""
    answer, left = asyncio.create_task(answering), asyncio.create_task(receive())
    await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
    left.cancel()
    answer.cancel()
    for each in await asyncio.gather(answer, left, return_exceptions=True):
        if isinstance(each, Exception):
            raise each


async def _send(send: Any, reply: McpResponse) -> None:
    if reply is NO_RESPONSE:
        await asyncio.Event().wait()
    headers = {"Content-Type": reply.media_type, **reply.headers}
    listed = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": listed})
    if isinstance(reply.body, bytes):
        await send({"type": "http.response.body", "body": reply.body})
        return
    async for piece in reply.body:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
