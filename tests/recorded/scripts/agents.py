"""Agents: made with servers and tools, listed, changed and deleted."""

from __future__ import annotations

from typing import Any

from tests.recorded.script import Request, Script, delete, get, post, put

AGENTS, SERVERS = (f"/api/workspaces/{{workspace}}/{name}" for name in ("agents", "mcp-servers"))
MINE = f"{AGENTS}/{{agent}}"


def _server(name: str, saved: str) -> Request:
    body = {"name": name, "authType": "none", "url": "https://api.weather.example.com/mcp"}
    return post(f"create the server {name}", SERVERS, body, saves={saved: "id"})


BAD: dict[str, Any] = {
    "nothing": {},
    "no name": {"description": "x"},
    "an unknown field": {"name": "x", "tools": []},
    "names with underscores": {"name": "x", "enabled_mcp_server_ids": []},
    "an empty name": {"name": ""},
    "a long name": {"name": "x" * 101},
    "a long description": {"name": "x", "description": "x" * 501},
    "controls in the description": {"name": "x", "description": "a\u0007"},
    "long instructions": {"name": "x", "instructions": "x" * 32_001},
    "a server that is not there": {"name": "x", "enabledMcpServerIds": ["{no_server}"]},
    "a server's id that is none": {"name": "x", "enabledMcpServerIds": ["Not An Id"]},
    "a server twice": {"name": "x", "enabledMcpServerIds": ["{first}", "{first}"]},
    "too many servers": {"name": "x", "enabledMcpServerIds": [f"server_{number}" for number in range(41)]},
    "a text for servers": {"name": "x", "enabledMcpServerIds": "{first}"},
    "null for servers": {"name": "x", "enabledMcpServerIds": None},
    "tools of a server that is not enabled": {"name": "x", "enabledMcpServerToolNames": {"{first}": ["echo"]}},
    "a tool twice": {
        "name": "x",
        "enabledMcpServerIds": ["{first}"],
        "enabledMcpServerToolNames": {"{first}": ["a", "a"]},
    },
    "an empty tool name": {
        "name": "x",
        "enabledMcpServerIds": ["{first}"],
        "enabledMcpServerToolNames": {"{first}": [""]},
    },
    "a text for tools": {
        "name": "x",
        "enabledMcpServerIds": ["{first}"],
        "enabledMcpServerToolNames": {"{first}": "a"},
    },
    "many mistakes": {"name": 1, "description": 2, "instructions": [], "enabledMcpServerIds": {}, "a": 1, "b": 2},
    "a list": [],
}

SCRIPT: Script = [
    _server("First", "first"),
    _server("Second", "second"),
    get("list none", AGENTS),
    post("create", AGENTS, {"name": "Support"}, saves={"agent": "id", "where": "Location", "tag": "ETag"}),
    get("the Location", "{where}"),
    post(
        "create with everything",
        AGENTS,
        {
            "name": "Vollständig",
            "description": "Line one.\nLine two.\tEnd.",
            "instructions": "Be brief.\n\n🌦",
            "enabledMcpServerIds": ["{second}", "{first}"],
            "enabledMcpServerToolNames": {"{first}": ["forecast", "alerts"], "{second}": []},
        },
        saves={"full": "id"},
    ),
    *(post(f"create with {what}", AGENTS, body) for what, body in BAD.items()),
    post(
        "create with read-only fields",
        AGENTS,
        {"name": "Copy", "id": "x", "version": 7, "createdAt": "", "updatedAt": ""},
    ),
    get("read", MINE),
    get("read by a key that invokes", MINE, "invoke"),
    get("read by another workspace", MINE, "foreign"),
    get("read an agent that is not there", f"{AGENTS}/{{no_agent}}"),
    get("read a server as an agent", f"{AGENTS}/{{first}}"),
    get("read an id that is none", f"{AGENTS}/nonsense"),
    get("list", AGENTS),
    get("list a page", f"{AGENTS}?limit=1", saves={"page": "Link"}),
    get("list the page behind it", "{page}"),
    get("list by a reader", f"{AGENTS}?limit=2", "read"),
    put("change the name", MINE, {"name": "Renamed"}, headers={"If-Match": "{tag}"}),
    put("change nothing", MINE, {}),
    put("change on an old reading", MINE, {"name": "Never"}, headers={"If-Match": '"0"'}),
    put("enable servers", MINE, {"enabledMcpServerIds": ["{first}", "{second}"]}),
    put("allow tools", MINE, {"enabledMcpServerToolNames": {"{first}": ["forecast"]}}),
    put("disable the server whose tools are named", MINE, {"enabledMcpServerIds": ["{second}"]}),
    put(
        "disable it with its tools",
        MINE,
        {"enabledMcpServerIds": ["{second}"], "enabledMcpServerToolNames": {}, "description": "Changed"},
    ),
    *(put(f"change to {what}", MINE, body) for what, body in BAD.items() if what not in ("nothing", "no name")),
    put("send back what was read", MINE, {"id": "{agent}", "version": 9, "name": "Sent back", "createdAt": "x"}),
    Request("change with PATCH", "PATCH", MINE, json={"name": "Renamed"}),
    put("change one that is not there", f"{AGENTS}/{{no_agent}}", {"name": "x"}),
    delete("delete a server in use", f"{SERVERS}/{{second}}"),
    delete("delete a server in use, with nonsense", f"{SERVERS}/{{second}}?detach=maybe"),
    delete("delete a server in use, and detach it", f"{SERVERS}/{{second}}?detach=true"),
    get("read what is left of the agent", f"{AGENTS}/{{full}}"),
    delete("delete on an old reading", MINE, headers={"If-Match": '"1"'}),
    delete("delete", MINE),
    delete("delete again", MINE),
    get("read what was deleted", MINE),
    get("list what is left", AGENTS),
    get("the audit", "/api/workspaces/{workspace}/audit"),
]
