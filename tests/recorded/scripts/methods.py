"""Every path with OPTIONS, HEAD and a method that it does not have."""

from __future__ import annotations

from tests.recorded.script import ANONYMOUS, Request, Script

WORKSPACE = "/api/workspaces/{workspace}"
AGENT, SERVER = f"{WORKSPACE}/agents/{{no_agent}}", f"{WORKSPACE}/mcp-servers/{{no_server}}"
PATHS = {
    "/api/mcp/oauth/notion/callback": "POST",
    "/api/mcp/oauth/external/callback/{no_issuer}": "PUT",
    "/api/services": "POST",
    "/api/workspaces": "DELETE",
    WORKSPACE: "POST",
    f"{WORKSPACE}/agents": "PUT",
    AGENT: "POST",
    f"{AGENT}/tool-calls": "GET",
    f"{AGENT}/tools": "POST",
    f"{WORKSPACE}/api-keys": "DELETE",
    f"{WORKSPACE}/api-keys/{{no_key}}": "PUT",
    f"{WORKSPACE}/audit": "DELETE",
    f"{WORKSPACE}/mcp-servers": "PATCH",
    SERVER: "POST",
    f"{SERVER}/check": "GET",
    f"{SERVER}/oauth/authorize": "POST",
    f"{SERVER}/oauth/disconnect": "GET",
    f"{SERVER}/oauth/status": "PUT",
    f"{SERVER}/tools": "DELETE",
    "/client-metadata.json": "POST",
    "/client-metadata/{no_document}": "PUT",
    "/connect/{no_ticket}": "DELETE",
    "/connected": "POST",
    "/docs": "DELETE",
    "/healthz": "PATCH",
    "/metrics": "POST",
    "/openapi.yaml": "PUT",
    "/readyz": "TRACE",
}
"""Every path of the contract, with a method that it does not have."""

SCRIPT: Script = [
    *(Request(f"OPTIONS {path}", "OPTIONS", path, ANONYMOUS) for path in PATHS),
    *(Request(f"HEAD {path}", "HEAD", path) for path in PATHS),
    *(Request(f"{method} {path}", method, path) for path, method in PATHS.items()),
    *(Request(f"PATCH {path}", "PATCH", path, json={}) for path in (WORKSPACE, AGENT, SERVER)),
    Request("an unknown method", "BREW", "/healthz"),
    Request("OPTIONS of an unknown path", "OPTIONS", "/nothing", ANONYMOUS),
    Request("HEAD of an unknown path", "HEAD", "/nothing", ANONYMOUS),
    Request("HEAD without a key", "HEAD", WORKSPACE, ANONYMOUS),
]
