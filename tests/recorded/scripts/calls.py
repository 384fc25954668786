"""Calls of tools of MCP servers: results of every kind, and every kind of failure."""

from __future__ import annotations

from typing import Any

from tests.recorded.script import ClockAdvance, Request, Script, get, post, put
from tests.recorded.upstreams import CALLS, SECRET

WORKSPACE = "/api/workspaces/{workspace}"
SERVERS, AGENTS = f"{WORKSPACE}/mcp-servers", f"{WORKSPACE}/agents"
HERE = f"{AGENTS}/{{agent}}/tool-calls"
KINDS = ("weather", "modern", "session", "streaming", "legacy", "guarded", "broken", "lost", "page", "closed", "flaky")
ERAS = ("modern", "session", "streaming", "legacy")
BAD = ("guarded", "broken", "lost", "page", "closed")
FORECAST = "mcp_weather_forecast"
ARGUMENTS: dict[str, Any] = {
    "all of them": {"city": "Oslo", "days": 2, "units": "metric", "tags": ["a", "b"], "at": "2026-11-18"},
    "null where it may be": {"city": "Oslo", "at": None},
    "nothing": {},
    "another type": {"city": 7},
    "an empty text": {"city": ""},
    "too many days": {"city": "Oslo", "days": 11},
    "half a day": {"city": "Oslo", "days": 1.5},
    "days as a text": {"city": "Oslo", "days": "3"},
    "no such unit": {"city": "Oslo", "units": "kelvin"},
    "a list as a text": {"city": "Oslo", "tags": "a"},
    "an item twice": {"city": "Oslo", "tags": ["a", "a"]},
    "an unknown one": {"city": "Oslo", "town": "Bergen"},
    "no date": {"city": "Oslo", "at": "soon"},
    "many mistakes": {"days": 0, "units": 1, "tags": {}, "at": 2, "a": 3},
}


def _server(kind: str) -> Request:
    body = {"name": kind.title(), "authType": "header", "config": {"headerValue": f"Bearer {SECRET}"}}
    return post(f"create {kind}", SERVERS, {**body, "url": f"{{{kind}_url}}"}, saves={kind: "id"})


def _call(name: str, tool: str, args: Any = None, **more: Any) -> Request:
    return post(name, HERE, {"toolName": tool} | ({} if args is None else {"args": args}), **more)


def _generic(name: str, server: str, args: Any) -> Request:
    return _call(f"generic: {name}", f"mcp_{{{server}}}", args)


SCRIPT: Script = [
    *(_server(kind) for kind in KINDS),
    post(
        "create the agent",
        AGENTS,
        {"name": "Caller", "enabledMcpServerIds": [f"{{{kind}}}" for kind in KINDS]},
        saves={"agent": "id"},
    ),
    *(_call(f"with {what}", FORECAST, args) for what, args in ARGUMENTS.items()),
    *(_call(f"a result that is {name}", f"mcp_weather_{name}") for name in CALLS if name not in ("forecast", "silent")),
    put("close the breaker", f"{SERVERS}/{{weather}}", {"timeoutSeconds": 1}),
    _call("no result in time", "mcp_weather_silent"),
    put("allow more time", f"{SERVERS}/{{weather}}", {"timeoutSeconds": 30}),
    *(_call(f"a server that is {kind}", f"mcp_{kind}_echo", {"text": "Hello"}) for kind in (*ERAS, *BAD)),
    *(_call(f"a server that is {kind}, again", f"mcp_{kind}_echo", {"text": "Hello"}) for kind in ERAS),
    _call("a tool that is not there", "mcp_weather_nothing", {}),
    _call("a server that is not there", "mcp_nowhere_echo", {}),
    _call("a name without a server", "echo", {}),
    _call("a server's id that is not there", "mcp_{no_server}", {"method": "tools/list"}),
    _call("an empty name", ""),
    _call("a long name", "x" * 129),
    _call("a list for arguments", FORECAST, []),
    _call("a text for arguments", FORECAST, '{"city": "Oslo"}'),
    post("no name", HERE, {"args": {}}),
    post("no body", HERE),
    post("an unknown field", HERE, {"toolName": FORECAST, "arguments": {"city": "Oslo"}}),
    post("a list", HERE, []),
    Request("half an object", "POST", HERE, content=b'{"toolName": "', headers={"Content-Type": "application/json"}),
    Request("a form", "POST", HERE, content=b"toolName=x", headers={"Content-Type": "text/plain"}),
    _call("by a reader", FORECAST, {"city": "Oslo"}, caller="read"),
    _call("by a key that invokes", FORECAST, {"city": "Oslo"}, caller="invoke"),
    _call("by another workspace", FORECAST, {"city": "Oslo"}, caller="foreign"),
    post("by an agent that is not there", f"{AGENTS}/{{no_agent}}/tool-calls", {"toolName": FORECAST}),
    _generic("list the tools", "modern", {"method": "tools/list"}),
    _generic(
        "call a tool", "session", {"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "a"}}}
    ),
    _generic("call a tool without arguments", "weather", {"method": "tools/call", "params": {"name": "forecast"}}),
    _generic("call one that fails", "weather", {"method": "tools/call", "params": {"name": "failing"}}),
    _generic("a method that is not there", "modern", {"method": "prompts/list"}),
    _generic("a method of the connection", "modern", {"method": "initialize", "params": {}}),
    _generic("a notification", "session", {"method": "notifications/initialized"}),
    _generic("no method", "modern", {}),
    _generic("an empty method", "modern", {"method": ""}),
    _generic("a list for parameters", "modern", {"method": "tools/list", "params": []}),
    _generic("an unknown argument", "modern", {"method": "tools/list", "id": 1}),
    _generic("a server that refuses", "guarded", {"method": "tools/list"}),
    put(
        "allow one tool",
        f"{AGENTS}/{{agent}}",
        {"enabledMcpServerToolNames": {"{weather}": ["forecast"], "{modern}": []}},
    ),
    _call("the one that is allowed", FORECAST, {"city": "Oslo"}),
    _call("another one", "mcp_weather_blocks"),
    _call("of a server with none", "mcp_modern_echo", {"text": "a"}),
    _generic("of a server with rules", "weather", {"method": "tools/call", "params": {"name": "forecast"}}),
    put("allow all again", f"{AGENTS}/{{agent}}", {"enabledMcpServerToolNames": {}}),
    put("show only named tools", f"{SERVERS}/{{session}}", {"exposure": "tools"}),
    _generic("of a server without one", "session", {"method": "tools/list"}),
    put("show only the generic tool", f"{SERVERS}/{{session}}", {"exposure": "generic"}),
    _call("of a server with the generic tool alone", "mcp_session_echo", {"text": "a"}),
    put("disable a server", f"{SERVERS}/{{modern}}", {"enabled": False}),
    _call("of a disabled server", "mcp_modern_echo", {"text": "a"}),
    _generic("of a disabled server", "modern", {"method": "tools/list"}),
    put("move a server", f"{SERVERS}/{{legacy}}", {"url": "https://elsewhere.example.com/mcp"}),
    _call("of a server without credentials", "mcp_legacy_echo", {"text": "a"}),
    *(_call(f"a server that keeps failing, {number}", "mcp_flaky_echo") for number in range(1, 8)),
    post("check a server that keeps failing", f"{SERVERS}/{{flaky}}/check"),
    ClockAdvance(3600),
    _call("a server that keeps failing, an hour later", "mcp_flaky_echo"),
    get("the audit of calls", f"{WORKSPACE}/audit?kind=calls&limit=100", items=77),
    get("the audit of calls, a page", f"{WORKSPACE}/audit?kind=calls&limit=2", saves={"page": "Link"}),
    get("the audit of calls, the page behind it", "{page}"),
    get("the metrics", "/metrics", "operator"),
]
