"""Grants that need no consent: disconnected and connected again by the client of a server."""

from __future__ import annotations

from tests.recorded.script import ProviderChange, Request, Revocations, Script, get, post, put

WORKSPACE = "/api/workspaces/{workspace}"
SERVERS, AGENTS = f"{WORKSPACE}/mcp-servers", f"{WORKSPACE}/agents"
CLIENT = {"clientId": "machine", "clientSecret": "canary-machine"}


def _oauth(what: str, server: str = "machine") -> Request:
    return post(f"{what} {server}", f"{SERVERS}/{{{server}}}/oauth/{what}")


def _call(what: str) -> Request:
    return post(f"call {what}", f"{AGENTS}/{{agent}}/tool-calls", {"toolName": "mcp_machine_whoami", "args": {}})


def _status(what: str) -> Request:
    return get(f"the status {what}", f"{SERVERS}/{{machine}}/oauth/status")


SCRIPT: Script = [
    ProviderChange("acme", client={"id": "machine", "secret": "canary-machine", "grants": ("client_credentials",)}),
    post(
        "create a server by client",
        SERVERS,
        {
            "name": "Machine",
            "authType": "oauth",
            "oauthGrant": "client_credentials",
            "url": "{provider}/mcp/acme",
            "config": CLIENT,
        },
        saves={"machine": "id"},
    ),
    post(
        "create a server by consent",
        SERVERS,
        {"name": "Person", "authType": "oauth", "url": "{provider}/mcp/acme"},
        saves={"person": "id"},
    ),
    post("create the agent", AGENTS, {"name": "Caller", "enabledMcpServerIds": ["{machine}"]}, saves={"agent": "id"}),
    _status("before the first token"),
    _call("with a token"),
    _oauth("disconnect"),
    Revocations(1),
    _call("after the disconnect"),
    _status("after the disconnect"),
    get("the server after the disconnect", f"{SERVERS}/{{machine}}"),
    post("check after the disconnect", f"{SERVERS}/{{machine}}/check"),
    put("rename the server", f"{SERVERS}/{{machine}}", {"name": "Other"}),
    _call("after another change"),
    _oauth("connect"),
    _call("after it was connected"),
    _oauth("connect", "person"),
    get("the audit", f"{WORKSPACE}/audit?kind=config&limit=100"),
]
