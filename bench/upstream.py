"""The upstream MCP server of the bench, with twenty tools and prepared answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec
import uvicorn

from api.main import commands
from api.main.asgi import tune_garbage_collector

HOST = "127.0.0.1"
VERSION = "2026-07-28"
TOOLS = 20
TTL_MS = 3_600_000
PATH = "/{}/mcp"
COUNT = "/count"
CREDENTIAL = "Bearer not-a-credential"
AUTHORIZATION = (b"authorization", CREDENTIAL.encode())
META = "io.modelcontextprotocol/"
JSON = [(b"content-type", b"application/json")]
CALL_ARGUMENTS: Mapping[str, Any] = {
    "city": "Lisbon",
    "days": 3,
    "units": "metric",
    "place": {"lat": 38.72, "lon": -9.14},
}
TEXT = (
    "Lisbon, three days. Friday: sunny, 24 °C by day, 16 °C at night, wind north-west 18 km/h. Saturday: clouds in "
    "the morning, 22 °C, chance of rain 10 %. Sunday: rain from noon on, 19 °C, 8 mm expected, gusts up to 55 km/h at "
    "the coast. No warnings are in force. Source: national service, issued 06:00 UTC, next update 12:00 UTC."
)
DESCRIPTION = (
    "Answers the forecast of one kind for a place: hour by hour for two days, then day by day. Use it when a question "
    "is about weather that is still to come; for the past use the archive. Places are names or coordinates."
)

Json = dict[str, Any]


def tool_name(number: int) -> str:
    return f"forecast_{number:02}"


def tool(number: int) -> Json:
    name = tool_name(number)
    return {
        "name": name,
        "title": f"Forecast {number}",
        "description": DESCRIPTION,
        "inputSchema": _schema(),
        "annotations": {"title": f"Forecast {number}", "readOnlyHint": True, "openWorldHint": True},
    }


def _schema() -> Json:
    place = {
        "type": "object",
        "description": "Where exactly, if the name is not unique.",
        "properties": {
            "lat": {"type": "number", "minimum": -90, "maximum": 90},
            "lon": {"type": "number", "minimum": -180, "maximum": 180},
        },
        "required": ["lat", "lon"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The name of a place, in any language.", "minLength": 1},
            "days": {"type": "integer", "description": "How many days ahead.", "minimum": 1, "maximum": 14},
            "units": {"type": "string", "enum": ["metric", "imperial"], "description": "Of what is answered."},
            "place": place,
            "fields": {"type": "array", "items": {"type": "string", "enum": ["rain", "wind", "sun"]}, "maxItems": 3},
        },
        "required": ["city", "days"],
        "additionalProperties": False,
    }


RESULT: Json = {"content": [{"type": "text", "text": TEXT}], "isError": False, "resultType": "complete"}


def call_request() -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a call, as a client of this version sends them."""
    return _mcp_request("tools/call", {"name": tool_name(0), "arguments": CALL_ARGUMENTS}, {"Mcp-Name": tool_name(0)})


def list_request() -> tuple[bytes, dict[str, str]]:
    return _mcp_request("tools/list", {}, {})


def _mcp_request(method: str, params: Json, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    meta = {
        f"{META}protocolVersion": VERSION,
        f"{META}clientInfo": {"name": "bench", "version": "1.0"},
        f"{META}clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    always = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
        "Authorization": CREDENTIAL,
    }
    return msgspec.json.encode(body), always | headers


class _Params(msgspec.Struct):
    name: str = ""


class _Request(msgspec.Struct):
    method: str
    id: int | str | None = None
    params: _Params = msgspec.field(default_factory=_Params)


NAMES = {tool_name(number) for number in range(TOOLS)}
DISCOVERY: Json = {
    "supportedVersions": [VERSION],
    "capabilities": {"tools": {}},
    "resultType": "complete",
    "_meta": {f"{META}serverInfo": {"name": "Forecasts", "version": "1.0"}},
}
TOOL_LIST: Json = {
    "tools": [tool(number) for number in range(TOOLS)],
    "ttlMs": TTL_MS,
    "cacheScope": "private",
    "resultType": "complete",
}
RESULTS = {"server/discover": DISCOVERY, "tools/list": TOOL_LIST}
UNKNOWN = {"code": -32601, "message": "Method not found"}


class Upstream:
    """The upstream app, which counts `POST` requests."""

    def __init__(self) -> None:
        self._request_count = 0
        self._decode = msgspec.json.Decoder(_Request).decode
        self._encode = msgspec.json.Encoder().encode
        self._results = {method: self._encode(result) for method, result in RESULTS.items()}
        self._result = self._encode(RESULT)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        if scope["method"] == "GET":
            await send_response(send, 200, str(self._request_count).encode())
            return
        self._request_count += 1
        request = self._decode(await read_body(receive))
        if AUTHORIZATION not in scope["headers"]:
            await send_response(send, 401, b"")
            return
        await send_response(send, *self._respond(request))

    def _respond(self, request: _Request) -> tuple[int, bytes]:
        if request.method == "tools/call" and request.params.name in NAMES:
            return 200, self._response(request, b'"result":', self._result)
        if result := self._results.get(request.method):
            return 200, self._response(request, b'"result":', result)
        return 404, self._response(request, b'"error":', self._encode(UNKNOWN))

    def _response(self, request: _Request, what: bytes, value: bytes) -> bytes:
        return b'{"jsonrpc":"2.0","id":%b,%b%b}' % (self._encode(request.id), what, value)


async def read_body(receive: Any) -> bytes:
    message = await receive()
    body: bytes = message["body"]
    while message.get("more_body"):
        message = await receive()
        body += message["body"]
    return body


async def send_response(send: Any, status: int, body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*JSON, length]})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    app = Upstream()
    tune_garbage_collector()
    # Connections stay open for the whole run: a floor that reused one while it was being closed would fail.
    options = commands.UVICORN_OPTIONS | {"lifespan": "off", "timeout_keep_alive": 3600}
    uvicorn.run(app, host=HOST, port=int(sys.argv[1]), **options)
