"""Every guarded operation, called by each kind of caller."""

from __future__ import annotations

from typing import Any

from tests.recorded.script import ABSENT, ANONYMOUS, Request, Script, get

WORKSPACE = "/api/workspaces/{workspace}"
AGENT, SERVER = f"{WORKSPACE}/agents/{{no_agent}}", f"{WORKSPACE}/mcp-servers/{{no_server}}"
CALLERS = (ANONYMOUS, "malformed", "revoked", "expired", "foreign", "invoke", "read", "manage", "operator", "admin")
GUARDED: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/api/services", ABSENT),
    ("GET", "/api/workspaces?limit=1", ABSENT),
    ("POST", "/api/workspaces", {}),
    ("GET", WORKSPACE, ABSENT),
    ("PUT", WORKSPACE, {"name": ""}),
    ("DELETE", WORKSPACE, ABSENT),
    ("GET", f"{WORKSPACE}/agents", ABSENT),
    ("POST", f"{WORKSPACE}/agents", {}),
    ("GET", AGENT, ABSENT),
    ("PUT", AGENT, {"name": "Other"}),
    ("DELETE", AGENT, ABSENT),
    ("GET", f"{AGENT}/tools", ABSENT),
    ("POST", f"{AGENT}/tool-calls", {"toolName": "mcp_weather_forecast"}),
    ("GET", f"{WORKSPACE}/api-keys?limit=1", ABSENT),
    ("POST", f"{WORKSPACE}/api-keys", {}),
    ("DELETE", f"{WORKSPACE}/api-keys/{{no_key}}", ABSENT),
    ("GET", f"{WORKSPACE}/audit?limit=1", ABSENT),
    ("GET", f"{WORKSPACE}/mcp-servers", ABSENT),
    ("POST", f"{WORKSPACE}/mcp-servers", {}),
    ("GET", SERVER, ABSENT),
    ("PUT", SERVER, {"name": "Other"}),
    ("DELETE", SERVER, ABSENT),
    ("POST", f"{SERVER}/check", ABSENT),
    ("GET", f"{SERVER}/tools", ABSENT),
    ("GET", f"{SERVER}/oauth/authorize", ABSENT),
    ("POST", f"{SERVER}/oauth/disconnect", ABSENT),
    ("GET", f"{SERVER}/oauth/status", ABSENT),
    ("GET", "/metrics", ABSENT),
)
"""Operations that change nothing: their target does not exist, their body is invalid, or their `If-Match` fails."""
NEVER_CURRENT = {"If-Match": '"0"'}


def _headers(method: str, path: str) -> dict[str, str]:
    return NEVER_CURRENT if (method, path) == ("DELETE", WORKSPACE) else {}


SCRIPT: Script = [
    *(
        Request(f"{method} {path}, {caller}", method, path, caller, json=body, headers=_headers(method, path))
        for method, path, body in GUARDED
        for caller in CALLERS
        if path != "/metrics" or caller != "operator"
    ),
    *(
        get(f"a workspace that does not exist, {caller}", "/api/workspaces/{no_workspace}", caller)
        for caller in ("admin", "operator", "foreign")
    ),
    *(
        get(f"the header Authorization: {text}", WORKSPACE, ANONYMOUS, headers={"Authorization": text})
        for text in (
            *("Bearer", "Basic dXNlcjpwYXNz", "bearer {admin_key}", "BEARER {admin_key}", "{admin_key}"),
            *("Bearer  {admin_key}", "Bearer {admin_key}x", "Bearer {admin_key} x", "Token {admin_key}"),
        )
    ),
    get("a key in the query", f"{WORKSPACE}?apiKey={{admin_key}}", ANONYMOUS),
    get("a key in another header", WORKSPACE, ANONYMOUS, headers={"X-API-Key": "{admin_key}"}),
    get("a workspace's id in capitals", "/api/workspaces/WS_3KQ8V0ZJ5M1T7R2X9C4B"),
    get("a workspace's id with a tail", "/api/workspaces/{workspace}0"),
]
