"""Connecting with consent: the page, the provider, the callback with its failures, and disconnecting."""

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
    delete,
    get,
    post,
    put,
)

WORKSPACE = "/api/workspaces/{workspace}"
SERVERS, AGENTS = f"{WORKSPACE}/mcp-servers", f"{WORKSPACE}/agents"
COOKIE = {"Cookie": "{cookie}"}
OURS = {"Sec-Fetch-Site": "same-origin"}


def _server(name: str, **changed: Any) -> Request:
    fields = {"name": name.title(), "serviceType": name, "authType": "oauth", "url": None, **changed}
    return post(f"create {name}", SERVERS, fields, saves={name: "id"})


def _oauth(server: str, what: str) -> str:
    return f"{SERVERS}/{{{server}}}/oauth/{what}"


def _begin(server: str, what: str = "", query: str = "") -> list[Step]:
    """To the page, past its button and to the provider, that sends the browser back."""
    title = f"{server}{f', {what}' if what else ''}"
    return [
        get(f"{title}: begin", f"{_oauth(server, 'authorize')}{query}", saves={"page": "authUrl"}),
        *_go_on(title),
    ]


def _go_on(title: str) -> list[Step]:
    saves = {"location": "Location", "cookie": "Set-Cookie"}
    return [
        get(f"{title}: the page", "{page}", ANONYMOUS),
        Request(f"{title}: its button", "POST", "{page}", ANONYMOUS, headers=OURS, saves=saves),
        Consent(),
    ]


def _land(name: str, path: str = "{callback}", **headers: str) -> Request:
    return get(name, path, ANONYMOUS, headers=headers or COOKIE)


def _connect(server: str, what: str = "", query: str = "") -> list[Step]:
    title = f"{server}{f', {what}' if what else ''}"
    return [
        *_begin(server, what, query),
        _land(f"{title}: back"),
        get(f"{title}: the status", _oauth(server, "status")),
    ]


def _refused(server: str, what: str, *between: Step, **changed: Any) -> list[Step]:
    """Something is otherwise at the provider, for once."""
    before = ProviderChange("acme" if server == "external" else server, **changed)
    return [before, *_begin(server, what), *between, _land(f"{server}, {what}: back")]


SCRIPT: Script = [
    *(_server(name) for name in ("notion", "linear", "hubspot", "slack")),
    _server("external", url="{acme_url}"),
    _server("plain", serviceType="external", authType="none", url="{weather_url}"),
    _server("unguarded", serviceType="external", url="{weather_url}"),
    _server("closed", serviceType="external", url="{closed_url}"),
    get("the status of what is not connected", _oauth("notion", "status"), "read"),
    get("the status of a server without OAuth", _oauth("plain", "status")),
    get("connect a server without OAuth", _oauth("plain", "authorize")),
    get("connect a server that asks for nothing", _oauth("unguarded", "authorize")),
    get("connect a server that is not reached", _oauth("closed", "authorize")),
    post("disconnect a server without OAuth", _oauth("plain", "disconnect")),
    post("disconnect what is not connected", _oauth("notion", "disconnect")),
    get("connect by a reader", _oauth("notion", "authorize"), "read"),
    get("connect one that is not there", f"{SERVERS}/{{no_server}}/oauth/authorize"),
    *(
        get(f"connect and return to {place}", f"{_oauth('notion', 'authorize')}?returnTo={place}")
        for place in (
            *("/docs", "/docs?tab=1", "https://console.example.com/servers", "https://console.example.com"),
            *("//evil.example.com", "/%5Cevil", "https://evil.example.com", "javascript:alert(1)", "docs", ""),
            *("/a%252f..", "https://console.example.com.evil.com/", "http://console.example.com/", f"/{'x' * 1000}"),
            "https://console.example.com/%23part",
        )
    ),
    get("a page without a ticket", "/connect/{no_ticket}", ANONYMOUS),
    get("a page of half a ticket", "/connect/half", ANONYMOUS),
    Request("a button without a ticket", "POST", "/connect/{no_ticket}", ANONYMOUS, headers=OURS),
    *(_step for name in ("notion", "linear", "hubspot", "slack", "external") for _step in _connect(name)),
    _land("a way back that was used"),
    get("the page that was used", "{page}", ANONYMOUS),
    get("the server that is connected", f"{SERVERS}/{{external}}"),
    get("list the servers", SERVERS),
    *_connect("linear", "with a place to return to", "?returnTo=https://console.example.com/servers?a=1"),
    *_begin("slack", "refused ways back"),
    _land("without a cookie", Cookie="other=1"),
    *_begin("slack", "with another cookie"),
    _land("with another cookie", Cookie=f"plugboard-connect={'A' * 43}"),
    *(
        step
        for what, path in (
            ("a state more", "{callback}&state=x"),
            ("a denial", "{callback}&error=access_denied"),
            ("another error", "{callback}&error=server_error&error_description=%3Cb%3E"),
            ("another code beside it", "{callback}&code=x"),
        )
        for step in (*_begin("slack", what), _land(f"slack, {what}: back", path))
    ),
    _land("no parameters", "/api/mcp/oauth/slack/callback"),
    _land("no such state", "/api/mcp/oauth/slack/callback?code=x&state=" + "s" * 43),
    _land("no service", "/api/mcp/oauth/nobody/callback?code=x&state=x"),
    _land("an unknown issuer", "/api/mcp/oauth/external/callback/{no_issuer}?code=x&state=x"),
    _land("an issuer of a service", "/api/mcp/oauth/notion/callback/x"),
    Request("HEAD of a way back", "HEAD", "/api/mcp/oauth/slack/callback?code=x&state=x", ANONYMOUS),
    *_begin("external", "with another issuer"),
    _land("external, with another issuer: back", "{callback}&iss=https://evil.example.com"),
    get("notion, pages that stay: begin", _oauth("notion", "authorize"), saves={"page": "authUrl"}),
    *(
        Request(f"a button that is pressed with {headers}", "POST", "{page}", ANONYMOUS, headers=headers)
        for headers in (
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Origin": "https://evil.example.com"},
            {"Origin": "null"},
            {"Origin": "http://127.0.0.1:8400"},
        )
    ),
    get("notion, a page that is too old: begin", _oauth("notion", "authorize"), saves={"page": "authUrl"}),
    ClockAdvance(601),
    get("a page that is too old", "{page}", ANONYMOUS),
    *_refused("notion", "too late", ClockAdvance(601)),
    *_refused("notion", "without consent", behave={"consent": "deny"}),
    *_refused("notion", "with a code that is refused", behave={"consent": "at once", "code_life": -1.0}),
    ProviderChange("notion", behave={"code_life": 60.0}),
    *_refused("notion", "of a provider that is down", fault={"endpoint": "token", "kind": "down"}),
    *_refused("notion", "of a provider that answers nonsense", fault={"endpoint": "token", "kind": "html"}),
    *_refused("notion", "of a provider that closes", fault={"endpoint": "token", "kind": "close"}),
    *_refused("slack", "with an answer that is a refusal", behave={"answer_changes": {"ok": False, "error": "bad"}}),
    *_begin("hubspot", "changed meanwhile"),
    put("become another service", f"{SERVERS}/{{hubspot}}", {"serviceType": "linear"}),
    _land("hubspot, changed meanwhile: back"),
    post(
        "create a key",
        f"{WORKSPACE}/api-keys",
        {"name": "x", "scope": "manage"},
        saves={"short_key": "apiKey", "short": "id"},
    ),
    get("begin with a key", _oauth("linear", "authorize"), "short", saves={"page": "authUrl"}),
    *_go_on("with a key that is revoked"),
    delete("revoke the key", f"{WORKSPACE}/api-keys/{{short}}"),
    _land("with a key that is revoked: back"),
    post("disconnect", _oauth("external", "disconnect")),
    post("disconnect again", _oauth("external", "disconnect")),
    get("the status of what was disconnected", _oauth("external", "status")),
    ProviderChange("linear", fault={"endpoint": "revoke", "kind": "down", "times": None}),
    post("disconnect while the revocation endpoint is down", _oauth("linear", "disconnect"), caller="manage"),
    delete("delete a connected server", f"{SERVERS}/{{notion}}"),
    Revocations(5),
    get("the audit", f"{WORKSPACE}/audit?kind=config&limit=100"),
]
