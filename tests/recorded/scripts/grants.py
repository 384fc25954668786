"""Grants in use: tokens that are sent, renewed, refused and taken back, and rights that are missing."""

from __future__ import annotations

from typing import Any

from tests.recorded.script import (
    ANONYMOUS,
    ClockAdvance,
    Consent,
    ProviderChange,
    Request,
    Revocations,
    Script,
    Step,
    get,
    post,
    put,
)

WORKSPACE = "/api/workspaces/{workspace}"
SERVERS, AGENTS = f"{WORKSPACE}/mcp-servers", f"{WORKSPACE}/agents"
CLIENT = {"clientId": "machine", "clientSecret": "canary-machine"}


def _server(name: str, tenant: str, **changed: Any) -> Request:
    fields = {"name": name.title(), "authType": "oauth", "url": f"{{provider}}/mcp/{tenant}", **changed}
    return post(f"create {name}", SERVERS, fields, saves={name: "id"})


def _status(server: str, what: str) -> Request:
    return get(f"the status of {server}, {what}", f"{SERVERS}/{{{server}}}/oauth/status")


def _connect(server: str, what: str) -> list[Step]:
    headers, cookie = {"Sec-Fetch-Site": "none"}, {"Cookie": "{cookie}"}
    saves = {"location": "Location", "cookie": "Set-Cookie"}
    return [
        get(f"connect {server}, {what}", f"{SERVERS}/{{{server}}}/oauth/authorize", saves={"page": "authUrl"}),
        Request(f"connect {server}, {what}: the button", "POST", "{page}", ANONYMOUS, headers=headers, saves=saves),
        Consent(),
        get(f"connect {server}, {what}: back", "{callback}", ANONYMOUS, headers=cookie),
    ]


def _call(what: str, tool: str = "mcp_registered_whoami", **args: Any) -> Request:
    return post(f"call {what}", f"{AGENTS}/{{agent}}/tool-calls", {"toolName": tool, "args": args})


def _token_fault(kind: str, **more: Any) -> ProviderChange:
    return ProviderChange("acme", expire=True, fault={"endpoint": "token", "kind": kind, **more})


SCRIPT: Script = [
    ProviderChange("acme", behave={"takes_documents": False}),
    ProviderChange("umbra", behave={"takes_documents": False, "registers": False}),
    ProviderChange("secretive", behave={"takes_documents": False, "auth_methods": ("client_secret_basic",)}),
    _server("registered", "acme"),
    _server("unknown", "umbra"),
    _server("secretive", "secretive"),
    _server("given", "acme", config={"clientId": "canary-given", "clientSecret": "canary-given-secret"}),
    _server("machine", "acme", config=CLIENT, oauthGrant="client_credentials"),
    _server("hubspot", "x", serviceType="hubspot", url=None),
    post(
        "create the agent",
        AGENTS,
        {
            "name": "Caller",
            "enabledMcpServerIds": [f"{{{name}}}" for name in ("registered", "secretive", "machine", "hubspot")],
        },
        saves={"agent": "id"},
    ),
    _call("before it is connected"),
    get("connect without any way to register", f"{SERVERS}/{{unknown}}/oauth/authorize"),
    *_connect("registered", "as a client that is registered"),
    *_connect("secretive", "as a client with a secret"),
    _call("with a token"),
    _call("with a token of another server", "mcp_secretive_echo", text="Hello"),
    _call("that needs more rights", "mcp_registered_admin"),
    _status("registered", "with rights that are missing"),
    *_connect("registered", "with more rights"),
    _status("registered", "with more rights"),
    _call("with more rights", "mcp_registered_admin"),
    ProviderChange("acme", expire=True),
    _call("with a token that is renewed"),
    ClockAdvance(3590),
    _call("with a token that is renewed in advance"),
    _token_fault("down"),
    _call("while the token endpoint is down"),
    _status("registered", "while the token endpoint is down"),
    ClockAdvance(60),
    _call("when it is renewed again"),
    _token_fault("busy", retry_after=40),
    _call("while the provider is busy"),
    ClockAdvance(60),
    _token_fault("html"),
    _call("while the provider answers nonsense"),
    ClockAdvance(60),
    _call("when the provider is well again"),
    ProviderChange("acme", forget=True),
    _call("with a grant that was taken back"),
    _call("with a grant that was taken back, again"),
    _status("registered", "after the end"),
    get("the server after the end", f"{SERVERS}/{{registered}}"),
    post("check after the end", f"{SERVERS}/{{registered}}/check"),
    get("list the tools after the end", f"{AGENTS}/{{agent}}/tools"),
    *_connect("registered", "after the end"),
    _call("with another grant"),
    post("check with another grant", f"{SERVERS}/{{registered}}/check"),
    ProviderChange("acme", behave={"gives_refresh": False}),
    *_connect("registered", "without a refresh token"),
    _call("with a token that cannot be renewed"),
    ProviderChange("acme", expire=True),
    _call("with a token that has expired"),
    _status("registered", "after a token that has expired"),
    get("connect with a client that is not known", f"{SERVERS}/{{given}}/oauth/authorize"),
    get("connect what needs no consent", f"{SERVERS}/{{machine}}/oauth/authorize"),
    _call("of a machine that is not known", "mcp_machine_whoami"),
    _status("machine", "that is not known"),
    ProviderChange("acme", client={"id": "machine", "secret": "canary-2", "grants": ("client_credentials",)}),
    put("another secret", f"{SERVERS}/{{machine}}", {"config": {**CLIENT, "clientSecret": "canary-2"}}),
    _call("of a machine with another secret", "mcp_machine_whoami"),
    *_connect("hubspot", "a service"),
    _call("of a service", "hubspot_list_owners_hubspot"),
    ProviderChange("hubspot", expire=True),
    _call("of a service, with a token that is renewed", "hubspot_list_owners_hubspot"),
    ProviderChange("hubspot", forget=True),
    _call("of a service that was taken back", "hubspot_list_owners_hubspot"),
    _status("hubspot", "after the end"),
    put("move a connected server", f"{SERVERS}/{{secretive}}", {"url": "https://elsewhere.example.com/mcp"}),
    _status("secretive", "that was moved"),
    Revocations(2),
    get("the audit", f"{WORKSPACE}/audit?kind=config&limit=100"),
]
