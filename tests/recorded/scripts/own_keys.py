"""API keys that look at themselves, at one key, and the last admin key."""

from __future__ import annotations

from tests.recorded.script import ANONYMOUS, Script, delete, get, post

ME, KEYS = "/api/me", "/api/workspaces/{workspace}/api-keys"

SCRIPT: Script = [
    get("an admin's key", ME, saves={"admin_id": "id"}),
    *(get(f"a key that may {scope}", ME, scope) for scope in ("manage", "read", "invoke")),
    get("an operator's key", ME, "operator"),
    get("no key", ME, ANONYMOUS),
    get("a revoked key", ME, "revoked"),
    get("an expired key", ME, "expired"),
    get("a key, with a query", f"{ME}?scope=admin"),
    post("create an agent", "/api/workspaces/{workspace}/agents", {"name": "Limited"}, saves={"agent": "id"}),
    post(
        "create a key for the agent",
        KEYS,
        {"name": "Limited", "scope": "invoke", "agentIds": ["{agent}"]},
        saves={"limited_key": "apiKey", "limited_id": "id"},
    ),
    get("a key that is limited to agents", ME, "limited"),
    get("show one key", f"{KEYS}/{{limited_id}}"),
    get("show one key to a manager", f"{KEYS}/{{limited_id}}", "manage"),
    get("show one key to another workspace", f"{KEYS}/{{limited_id}}", "foreign"),
    get("show one that is not there", f"{KEYS}/{{no_key}}"),
    delete("revoke the last admin key", f"{KEYS}/{{admin_id}}"),
    delete("revoke the last admin key, perhaps", f"{KEYS}/{{admin_id}}?last=perhaps"),
    post("create another admin key", KEYS, {"name": "Second", "scope": "admin"}, saves={"second_key": "apiKey"}),
    delete("revoke the first admin key", f"{KEYS}/{{admin_id}}"),
    get("the second admin key", ME, "second", saves={"second_id": "id"}),
    delete("revoke the last admin key, which may go", f"{KEYS}/{{second_id}}?last=true", caller="second"),
    get("the second admin key, when it is revoked", ME, "second"),
]
