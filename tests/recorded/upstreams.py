"""The MCP servers that scripts register: good ones of every era, and each kind of bad one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from demo.mcp_servers import (
    NO_RESPONSE,
    FakeMcpServer,
    LegacyServer,
    McpRequest,
    McpResponse,
    ModernServer,
    PlainServer,
    SessionServer,
    error,
    event,
    result,
    stream,
)

SECRET = "canary-f00d-for-the-upstream"
"""In the `config` of servers. No response may contain it."""
Json = dict[str, Any]
Answer = Callable[[McpRequest], McpResponse]


def _tool(name: str, description: str = "", **more: Any) -> Json:
    return {"name": name, "description": description or f"Tries {name}.", "inputSchema": {"type": "object"}, **more}


def _content(*content: Json, **more: Any) -> Answer:
    return lambda seen: result(seen, {"content": list(content), **more})


def _text(text: str, **more: Any) -> Answer:
    return _content({"type": "text", "text": text}, **more)


def _status(status: int, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: McpResponse(status, b"<h1>canary of an upstream</h1>", "text/html", named)


FORECAST = {
    "name": "forecast",
    "title": "Forecast",
    "description": "The weather of the next days.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1, "description": "Where."},
            "days": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
            "units": {"enum": ["metric", "imperial"]},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            "at": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
    "outputSchema": {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]},
    "annotations": {"title": "Forecast", "readOnlyHint": True, "openWorldHint": True},
}
IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "https://weather.example.com/map", "name": "Map", "mimeType": "text/html"}
RESOURCE = {
    "type": "resource",
    "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "An embedded text."},
}
CALLS: dict[str, Answer] = {
    "forecast": _text("Mild, 12 °C.", structuredContent={"celsius": 12.5, "note": "bring \u202ea coat"}),
    "blocks": _content({"type": "text", "text": "One."}, IMAGE, LINK, RESOURCE, {"type": "text", "text": "Two."}),
    "nothing": _content(),
    "failing": _text("There is no such city.", isError=True),
    "large": _text("A line of the report.\n" * 20_000),
    "hidden": _text("a\u200bb\u202ec\x07d \U000e0041 <e>"),
    "echoing": lambda seen: result(
        seen, {"content": [{"type": "text", "text": f"You sent {seen.headers.get('authorization')}."}]}
    ),
    "strange": lambda seen: result(seen, {"content": "no list"}),
    "empty": lambda seen: result(seen, None),
    "refusing": lambda seen: error(seen, -32000, "Out of\x1b[31m service", data={"ticket": 7}),
    "unknown": lambda seen: error(seen, -32602, "Unknown tool"),
    "busy": _status(429, Retry_After="70"),
    "broken": _status(500),
    "maintained": _status(503, Retry_After="120"),
    "forbidden": _status(403),
    "moved": _status(302, Location="http://127.0.0.1/elsewhere"),
    "garbled": lambda _: McpResponse(body=b'{"jsonrpc": "2.0", '),
    "silent": lambda _: NO_RESPONSE,
    "streamed": lambda seen: stream(
        event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "working"}}),
        event({"jsonrpc": "2.0", "id": seen.message["id"], "result": {"content": [{"type": "text", "text": "Done."}]}}),
    ),
    "cut": lambda _: stream(event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}})),
}
ODD_TOOLS: list[Any] = [
    _tool("plain"),
    _tool("plain", "The same name once more."),
    _tool("with space and ünïcode"),
    _tool("n" * 140),
    {"name": "", "description": "No name.", "inputSchema": {"type": "object"}},
    {"description": "No name at all."},
    {"name": "bare"},
    {"name": "listed", "inputSchema": []},
    {"name": "texted", "inputSchema": {"type": "string"}},
    {"name": "referred", "inputSchema": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {}}}}},
    {"name": "either", "inputSchema": {"oneOf": [{"type": "object", "required": ["a"]}, {"type": "object"}]}},
    {"name": "hidden", "description": "a\u200b\u202eb\x00c", "inputSchema": {"type": "object"}},
    {"name": "long", "description": "word " * 5000, "inputSchema": {"type": "object"}},
    7,
]


def _called(seen: McpRequest) -> McpResponse:
    answer = CALLS.get(str(seen.message["params"]["name"]))
    return answer(seen) if answer else error(seen, -32602, "Unknown tool")


def upstreams() -> dict[str, FakeMcpServer]:
    """By name; the URL of each is the variable `<name>_url`."""
    weather = PlainServer([FORECAST, *(_tool(name) for name in CALLS if name != "forecast")], tools_call=_called)
    return {
        "weather": weather,
        "modern": ModernServer(),
        "session": SessionServer(),
        "streaming": SessionServer(streams=True),
        "legacy": LegacyServer("messages?session=1"),
        "odd": PlainServer(ODD_TOOLS),
        "toolless": PlainServer([]),
        "guarded": _refusing(401, WWW_Authenticate='Bearer realm="canary"'),
        "broken": _refusing(500),
        "lost": _refusing(404),
        "page": _refusing(200),
        "silent": PlainServer(**dict.fromkeys(("initialize", "tools_list", "server_discover"), lambda _: NO_RESPONSE)),
        "flaky": _refusing(502),
    }


def _refusing(status: int, **headers: str) -> FakeMcpServer:
    return _Refusing(_status(status, **headers))


class _Refusing(PlainServer):
    """Gives every request the same answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer_always = answer

    def respond(self, seen: McpRequest) -> McpResponse:
        return self._answer_always(seen)
