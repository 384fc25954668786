"""An MCP server that behaves until it is asked for one thing; to that it answers whatever a test wants."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.raw_upstream import ReceivedRequest, Responder, responding

Json = dict[str, Any]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
GOOD = {"name": "good", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
BAD = {"name": "bad"}


def mcp(instead: Mapping[str, Responder], tools: list[Any] | None = None) -> Responder:
    """Knows no handshake. `instead` is by the name of the tool that is called, or by method, `*` for all."""

    async def answer(visit: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        message = json.loads(visit.body or b"{}")
        method, params = str(message.get("method")), message.get("params") or {}
        named = instead.get(str(params.get("name"))) if method == "tools/call" else None
        other = named or instead.get(method) or instead.get("*")
        await (other or _default_result(method, params, [GOOD, BAD] if tools is None else tools))(visit, writer)

    return answer


def _default_result(method: str, params: Json, tools: list[Any]) -> Responder:
    match method:
        case "tools/list":
            return result({"tools": tools})
        case "tools/call":
            return result({"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]})
        case _:
            return with_id(b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"Method not found"}}')


def with_id(body: bytes, kind: str = "application/json", **headers: str) -> Responder:
    """`%d` is the number of the request."""
    return built(lambda number: body.replace(b"%d", b"%d" % number, 1), kind, **headers)


def result(value: object) -> Responder:
    return with_result(json.dumps(value).encode())


def with_result(written: bytes) -> Responder:
    return built(lambda number: b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (number, written))


def events(body: bytes) -> Responder:
    return with_id(body, "text/event-stream")


def built(body: Callable[[int], bytes], kind: str = "application/json", **headers: str) -> Responder:
    async def answer(visit: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        number = json.loads(visit.body or b"{}").get("id", 0)
        await responding(body(number), **{"Content_Type": kind, **headers})(visit, writer)

    return answer


def resetting(*parts: bytes) -> Responder:
    """Not an end of the connection but a reset."""

    async def answer(_: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return answer
