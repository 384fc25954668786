"""API keys: made with each scope, listed, used within their limits and revoked."""

from __future__ import annotations

from tests.recorded.script import ClockAdvance, Script, delete, get, post

KEYS, AGENTS, SERVERS = (f"/api/workspaces/{{workspace}}/{name}" for name in ("api-keys", "agents", "mcp-servers"))
LATER = "2027-01-15T09:00:00Z"

SCRIPT: Script = [
    get("list what there is at first", KEYS),
    *(
        post(f"create with the scope {scope}", KEYS, {"name": f"A {scope} key", "scope": scope})
        for scope in ("admin", "manage", "read", "invoke")
    ),
    post("create with the scope operator", KEYS, {"name": "x", "scope": "operator"}),
    post("create with no such scope", KEYS, {"name": "x", "scope": "owner"}),
    post("create without a scope", KEYS, {"name": "x"}),
    post("create without a name", KEYS, {"scope": "read"}),
    post("create with nothing", KEYS, {}),
    post("create with an unknown field", KEYS, {"name": "x", "scope": "read", "secret": "mine"}),
    post("create with a read-only field", KEYS, {"name": "x", "scope": "read", "createdBy": "me"}),
    post("create by a manager", KEYS, {"name": "x", "scope": "read"}, caller="manage"),
    post(
        "create one that expires",
        KEYS,
        {"name": "Expiring", "scope": "read", "expiresAt": LATER},
        saves={"expiring_key": "apiKey", "expiring_id": "id"},
    ),
    *(
        post(f"create one that expires at {text}", KEYS, {"name": "x", "scope": "read", "expiresAt": text})
        for text in (
            *("2027-01-15T10:00:00+01:00", "2027-01-15T09:00:00.123456Z", "2020-01-01T00:00:00Z", "tomorrow", ""),
            *("2027-13-01T00:00:00Z", "2027-01-15", "0001-01-01T00:00:00+14:00"),
        )
    ),
    post("create one that expires at a number", KEYS, {"name": "x", "scope": "read", "expiresAt": 1_800_000_000}),
    get("read with it", SERVERS, "expiring"),
    post("create an agent", AGENTS, {"name": "Limited"}, saves={"agent": "id"}),
    post("create another agent", AGENTS, {"name": "Other"}, saves={"other": "id"}),
    post(
        "create one for an agent",
        KEYS,
        {"name": "Limited", "scope": "invoke", "agentIds": ["{agent}"]},
        saves={"limited_key": "apiKey", "limited_id": "id"},
    ),
    post("create one for no agents", KEYS, {"name": "x", "scope": "invoke", "agentIds": []}),
    post(
        "create one for an agent that is not there", KEYS, {"name": "x", "scope": "invoke", "agentIds": ["{no_agent}"]}
    ),
    post("create one for an id of none", KEYS, {"name": "x", "scope": "invoke", "agentIds": ["server_1"]}),
    post("create a reader for an agent", KEYS, {"name": "x", "scope": "read", "agentIds": ["{agent}"]}),
    post("create one for an agent twice", KEYS, {"name": "x", "scope": "invoke", "agentIds": ["{agent}", "{agent}"]}),
    get("list its agent's tools", f"{AGENTS}/{{agent}}/tools", "limited"),
    get("list another agent's tools", f"{AGENTS}/{{other}}/tools", "limited"),
    post("call a tool of another agent", f"{AGENTS}/{{other}}/tool-calls", {"toolName": "x"}, caller="limited"),
    get("read with a key that invokes", f"{AGENTS}/{{agent}}", "limited"),
    get("list", KEYS),
    get("list a page", f"{KEYS}?limit=3", saves={"second": "Link"}),
    get("list the page behind it", "{second}"),
    get("a cursor of another list", "/api/workspaces/{foreign}/agents?limit=1", "foreign"),
    get("list with too many", f"{KEYS}?limit=101"),
    get("list with a forged cursor", f"{KEYS}?cursor=Zm9yZ2Vk"),
    delete("revoke, with an old tag", f"{KEYS}/{{limited_id}}", headers={"If-Match": '"7"'}),
    delete("revoke one that is not there", f"{KEYS}/{{no_key}}"),
    delete("revoke by a manager", f"{KEYS}/{{limited_id}}", caller="manage"),
    delete("revoke by another workspace's admin", f"{KEYS}/{{limited_id}}", caller="foreign"),
    delete("revoke", f"{KEYS}/{{limited_id}}", headers={"If-Match": '"1"'}),
    delete("revoke again", f"{KEYS}/{{limited_id}}"),
    get("use what was revoked", f"{AGENTS}/{{agent}}/tools", "limited"),
    ClockAdvance(3600),
    get("use what has expired", SERVERS, "expiring"),
    delete("revoke what has expired", f"{KEYS}/{{expiring_id}}"),
    delete("delete the agent of a key", f"{AGENTS}/{{other}}"),
    get("list what is left", KEYS),
    delete("revoke the last admin's", f"{KEYS}/{{manage_key_id}}"),
]
