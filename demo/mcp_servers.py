"""MCP servers of every era, as ASGI apps that record their requests."""

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
"""The server never responds."""


def result(request: McpRequest, value: object, **headers: str) -> McpResponse:
    body = {"jsonrpc": "2.0", "id": request.message["id"], "result": value}
    return McpResponse(body=json.dumps(body).encode(), headers=headers)


def error(request: McpRequest, code: int, text: str, status: int = 200, data: object = None) -> McpResponse:
    said = {"code": code, "message": text} | ({} if data is None else {"data": data})
    body = {"jsonrpc": "2.0", "id": request.message.get("id"), "error": said}
    return McpResponse(status, json.dumps(body).encode())


def event(data: object, **fields: object) -> bytes:
    lines = [f"{name}: {value}" for name, value in fields.items()]
    text = data if isinstance(data, str) else json.dumps(data)
    return "\n".join([*lines, f"data: {text}", "", ""]).encode()


def stream(*events: bytes, **headers: str) -> McpResponse:
    async def pieces() -> AsyncIterator[bytes]:
        for event in events:
            yield event

    return McpResponse(body=pieces(), media_type=STREAM, headers=headers)


def as_stream(reply: McpResponse, *before: bytes) -> McpResponse:
    assert isinstance(reply.body, bytes)
    return stream(*before, event(reply.body.decode()), **reply.headers)


class FakeMcpServer:
    """A fake MCP server. Keyword arguments replace the response to a method, with `_` for `/`."""

    def __init__(self, tools: list[Json] | None = None, **say: Callable[[McpRequest], McpResponse]) -> None:
        self.tools = [ECHO] if tools is None else tools
        self.handlers = {name.replace("_", "/"): answer for name, answer in say.items()}
        self.requests: list[McpRequest] = []

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.requests]

    def requests_for(self, method: str) -> list[McpRequest]:
        return [request for request in self.requests if request.method == method]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _handle_lifespan(receive, send)
            return
        seen = await _read_request(scope, receive)
        self.requests.append(seen)
        await _until_disconnect(receive, _send(send, self.respond(seen)))

    def respond(self, request: McpRequest) -> McpResponse:
        return (
            self.handlers[request.method](request)
            if request.method in self.handlers
            else self.default_response(request)
        )

    def default_response(self, request: McpRequest) -> McpResponse:
        params = request.message.get("params") or {}
        match request.method:
            case "tools/list":
                return result(request, {"tools": self.tools, "ttlMs": 5000, "cacheScope": "public"})
            case "tools/call":
                return result(request, {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]})
            case method:
                return error(request, -32601, f"Method not found: {method}")


class PlainServer(FakeMcpServer):
    """A server without a handshake."""


class ModernServer(FakeMcpServer):
    def default_response(self, request: McpRequest) -> McpResponse:
        if problem := self._mismatch(request):
            return error(request, -32020, f"Header mismatch: {problem}", 400)
        if request.method == "server/discover":
            meta = {f"{META}serverInfo": {"name": "modern", "version": "1"}}
            return result(request, {"resultType": "complete", "supportedVersions": [MODERN], "_meta": meta})
        reply = super().default_response(request)
        reply.status = 404 if b"-32601" in bytes(reply.body) else 200  # type: ignore[arg-type]
        return reply

    def _mismatch(self, request: McpRequest) -> str | None:
        params = request.message.get("params", {})
        wanted = {"mcp-protocol-version": params.get("_meta", {}).get(f"{META}protocolVersion", "none")}
        wanted["mcp-method"] = request.method
        if name := {"tools/call": params.get("name"), "resources/read": params.get("uri")}.get(request.method):
            wanted["mcp-name"] = name
        for tool in self.tools if request.method == "tools/call" else []:
            if tool["name"] == params["name"]:
                wanted |= _mirrored_headers(tool, params.get("arguments", {}))
        return next((name for name, text in wanted.items() if decode_header(request.headers.get(name)) != text), None)


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

    def respond(self, request: McpRequest) -> McpResponse:
        if request.method == "initialize" and "initialize" not in self.handlers:
            return self._start_session(request)
        session = request.headers.get("mcp-session-id")
        if session is None and request.method != "initialize":
            return error(request, -32000, "Bad Request: No valid session ID provided", 400)
        if session not in self.sessions and session is not None:
            return error(request, -32001, "Session not found", 404)
        reply = super().respond(request)
        return as_stream(reply, b": hello\n\n") if self.streams and reply.media_type != STREAM and reply.body else reply

    def default_response(self, request: McpRequest) -> McpResponse:
        if request.method == "DELETE":
            self.sessions.discard(request.headers["mcp-session-id"])
            return McpResponse(204)
        return (
            McpResponse(202)
            if "id" not in request.message or "method" not in request.message
            else super().default_response(request)
        )

    def _start_session(self, request: McpRequest) -> McpResponse:
        self.sessions_created += 1
        self.sessions.add(f"session-{self.sessions_created}")
        info = {"protocolVersion": self.version, "capabilities": {}, "serverInfo": {"name": "s", "version": "2"}}
        reply = result(request, info, **{"Mcp-Session-Id": f"session-{self.sessions_created}"})
        return as_stream(reply) if self.streams else reply


class LegacyServer(FakeMcpServer):
    """HTTP+SSE: one stream, and an endpoint to post to. An empty piece in the queue ends the stream."""

    def __init__(self, endpoint: str = "/messages?session=1", **say: Callable[[McpRequest], McpResponse]) -> None:
        super().__init__(None, **say)
        self.endpoint = endpoint
        self.queue: asyncio.Queue[bytes]
        self.streams_open = 0

    def respond(self, request: McpRequest) -> McpResponse:
        if request.http_method == "GET":
            return McpResponse(body=self._stream(), media_type=STREAM)
        if not request.path.startswith("/messages"):
            return McpResponse(405)
        reply = super().respond(request)
        if reply.status == 200 and reply.body:
            assert isinstance(reply.body, bytes)
            self.queue.put_nowait(event(reply.body.decode(), event="message"))
            return McpResponse(202)
        return reply

    def default_response(self, request: McpRequest) -> McpResponse:
        if request.method == "initialize":
            return result(request, {"protocolVersion": "2024-11-05", "serverInfo": {"name": "old", "version": "0"}})
        return (
            McpResponse(202)
            if "id" not in request.message or "method" not in request.message
            else super().default_response(request)
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
    """Ends the response when the client disconnects."""
    answer, left = asyncio.create_task(answering), asyncio.create_task(receive())
    await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
    left.cancel()
    answer.cancel()
    for item in await asyncio.gather(answer, left, return_exceptions=True):
        if isinstance(item, Exception):
            raise item


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
