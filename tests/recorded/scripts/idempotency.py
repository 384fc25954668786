"""The same POST sent twice, with an `Idempotency-Key`."""

from __future__ import annotations

from tests.recorded.script import ClockAdvance, Request, Script, get, post

WORKSPACE = "/api/workspaces/{workspace}"
AGENTS, KEYS, SERVERS = f"{WORKSPACE}/agents", f"{WORKSPACE}/api-keys", f"{WORKSPACE}/mcp-servers"
CALLS = f"{AGENTS}/{{agent}}/tool-calls"
WEATHER = {"name": "Weather", "authType": "none", "url": "{weather_url}"}
FORECAST = {"toolName": "mcp_weather_forecast", "args": {"city": "Oslo"}}


def _once(name: str, path: str, body: object, key: str = "first", caller: str = "admin", **saves: str) -> Request:
    return post(name, path, body, caller=caller, headers={"Idempotency-Key": key}, saves=saves)


def _twice(what: str, path: str, body: object, caller: str = "admin", **saves: str) -> list[Request]:
    again = _once(f"{what}, again", path, body, caller=caller)
    return [_once(what, path, body, caller=caller, **saves), again]


SCRIPT: Script = [
    *_twice("create a workspace", "/api/workspaces", {"name": "Once"}, "operator"),
    *_twice("create a server", SERVERS, WEATHER, server="id"),
    *_twice("create an agent", AGENTS, {"name": "Once", "enabledMcpServerIds": ["{server}"]}, agent="id"),
    *_twice("create a key", KEYS, {"name": "Once", "scope": "manage"}, other_key="apiKey"),
    _once("the same body, written otherwise", KEYS, {"scope": "manage", "name": "Once"}),
    _once("another body", KEYS, {"name": "Twice", "scope": "manage"}),
    _once("another key", KEYS, {"name": "Once", "scope": "manage"}, "second"),
    _once("another caller", AGENTS, {"name": "Once"}, caller="other"),
    _once("a body that is refused", AGENTS, {"name": ""}, "third"),
    _once("the same key for a good one", AGENTS, {"name": "Good"}, "third"),
    _once("an empty key", AGENTS, {"name": "x"}, ""),
    _once("a key with a space", AGENTS, {"name": "x"}, "a b"),
    _once("a key that is too long", AGENTS, {"name": "x"}, "k" * 256),
    _once("a key of the longest", AGENTS, {"name": "x"}, "k" * 255),
    *_twice("call a tool", CALLS, FORECAST),
    _once("call with other arguments", CALLS, {"toolName": "mcp_weather_forecast", "args": {"city": "Bergen"}}),
    _once("call a tool that is not there", CALLS, {"toolName": "mcp_weather_nothing"}, "absent"),
    _once("call one that is, with the same key", CALLS, FORECAST, "absent"),
    _once("call with wrong arguments", CALLS, {"toolName": "mcp_weather_forecast"}, "wrong"),
    _once("call with good ones and the same key", CALLS, FORECAST, "wrong"),
    _once("call one that breaks", CALLS, {"toolName": "mcp_weather_broken"}, "broken"),
    _once("call one that breaks, again", CALLS, {"toolName": "mcp_weather_broken"}, "broken"),
    _once("call one that answers at length", CALLS, {"toolName": "mcp_weather_large"}, "large"),
    _once("call one that answers at length, again", CALLS, {"toolName": "mcp_weather_large"}, "large"),
    get("list what there is", AGENTS),
    ClockAdvance(86_400),
    _once("a day later", KEYS, {"name": "Twice", "scope": "manage"}),
]
