"""What a stored database contains, made with requests: something of every kind that is stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

import httpx2

from demo.oauth_provider.server import Fault
from tests.fakes.still_clock import StillClock
from tests.harness import PATIENCE_SECONDS, Plugboard, Workspace
from tests.stored.network import PROVIDER, PUBLIC, WEATHER, Network, state_of

Json = dict[str, Any]
SECRET = "canary-weather"
"""The server at `/<name>/mcp` is sent what belongs to its entry here."""
SERVERS: dict[str, Json] = {
    "none": {"authType": "none"},
    "header": {
        "authType": "header",
        "config": {"headerValue": f"Bearer {SECRET}", "headers": {"X-Tenant": "canary-tenant"}},
        "description": "Zwei\nZeilen ☔",
        "timeoutSeconds": 7,
    },
    "basic": {"authType": "basic", "config": {"username": "ada", "password": "canary-password"}, "exposure": "tools"},
    "generic": {"authType": "none", "exposure": "generic"},
    "disabled": {"authType": "none", "enabled": False},
}
LATER = {"late": {"authType": "header", "config": {"headerValue": f"Bearer {SECRET}-late"}}}
"""Made after the data keys were rotated."""
MACHINE = {"clientId": "machine", "clientSecret": "canary-machine", "scope": "read"}
CONNECTABLE: dict[str, Json] = {
    "acme": {"url": f"{PROVIDER}/mcp/acme"},
    "given": {"url": f"{PROVIDER}/mcp/acme", "config": {"clientId": "given", "clientSecret": "canary-given"}},
    "machine": {"url": f"{PROVIDER}/mcp/acme", "config": MACHINE, "oauthGrant": "client_credentials"},
    "secretive": {"url": f"{PROVIDER}/mcp/secretive"},
    "unconnected": {"url": f"{PROVIDER}/mcp/acme"},
    **{name: {"serviceType": name} for name in ("notion", "linear", "hubspot", "slack")},
}
CONNECTED = ("acme", "given", "secretive", "notion", "linear", "hubspot", "slack")
TENANTS = ("acme", "secretive", "notion", "linear", "hubspot", "slack")
"""Of the provider."""
POSTHOG = {
    "serviceType": "posthog",
    "authType": "header",
    "url": "https://us.posthog.com",
    "config": {"apiKey": "phx_demo"},
}
SCOPES = ("manage", "read", "invoke")
CALLS = 6
"""All calls of tools."""


@dataclass
class Content:
    network: Network
    clock: StillClock
    keys: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    repeated: list[Json] = field(default_factory=list)
    """Requests with an `Idempotency-Key`, and their responses."""

    def begin(self, plugboard: Plugboard) -> None:
        workspace = self._workspace(plugboard)
        provider = self.network.provider
        provider.tenant("acme").add_client("machine", secret="canary-machine", grants=("client_credentials",))
        provider.tenant("acme").add_client("given", secret="canary-given")
        provider.tenant("secretive").configure(auth_methods=("client_secret_basic",))
        for name, fields in SERVERS.items():
            self._server(workspace, name, url=f"{WEATHER}/{name}/mcp", **fields)
        for name, fields in CONNECTABLE.items():
            self._server(workspace, name, **{"authType": "oauth", "url": None, "config": {}, **fields})
        self._server(workspace, "posthog", **POSTHOG)
        for name in CONNECTED:
            self._connect(workspace, name)
        self._agents(workspace)
        self._api_keys(workspace)

    def complete(self, plugboard: Plugboard) -> Json:
        workspace = Workspace(
            plugboard, self.ids["workspace"], self.keys["admin"], plugboard.caller(self.keys["admin"])
        )
        for name, fields in LATER.items():
            self._server(workspace, name, url=f"{WEATHER}/{name}/mcp", **fields)
        self._change(workspace)
        self._repeat(workspace)
        self._call(workspace, "mcp_none_echo", {"text": "Hello"})
        self._call(workspace, "mcp_header_nothing", {})
        self._call(workspace, "mcp_machine_whoami", {})
        self.network.provider.tenant("acme").expire_tokens()
        self._call(workspace, "mcp_acme_whoami", {})
        self.network.provider.tenant("slack").revoke_grants()
        self._call(workspace, "slack_list_channels_slack", {})
        self._end_linear(workspace)
        consent = self._begin_consent(workspace, "unconnected")
        page = ticket_of(workspace, self.ids["unconnected"])
        return {
            "clock": self.clock.seconds,
            "keys": self.keys,
            "ids": self.ids,
            "repeated": self.repeated,
            "consent": consent,
            "page": page,
            "views": self._views(plugboard),
            "provider": {name: state_of(self.network.provider.tenant(name)) for name in TENANTS},
        }

    def _workspace(self, plugboard: Plugboard) -> Workspace:
        other = plugboard.make_workspace("Other")
        self.clock.advance(1)
        workspace = plugboard.make_workspace("Stored")
        other.make_server(url=f"{WEATHER}/other/mcp")
        self.keys |= {"admin": workspace.key, "foreign": other.key, "operator": plugboard.operator_key}
        self.ids |= {"workspace": workspace.id, "other": other.id}
        return workspace

    def _server(self, workspace: Workspace, name: str, **fields: Any) -> None:
        self.clock.advance(1)
        draft = {"name": name.title(), "slug": name, "config": {}, **fields}
        self.ids[name] = _created(workspace.admin.post(workspace.servers, json=draft))["id"]

    def _agents(self, workspace: Workspace) -> None:
        rules = {self.ids["header"]: ["echo"], self.ids["basic"]: []}
        drafts = {
            "agent": {"enabledMcpServerIds": [self.ids[name] for name in (*SERVERS, *CONNECTABLE, "posthog")]},
            "limited": {
                "description": "With rules",
                "instructions": "Be brief.\n\n🌦",
                "enabledMcpServerIds": [self.ids["header"], self.ids["basic"]],
                "enabledMcpServerToolNames": rules,
            },
            "deleted": {},
        }
        for name, fields in drafts.items():
            self.clock.advance(1)
            self.ids[name] = _created(workspace.admin.post(workspace.agents, json={"name": name, **fields}))["id"]
        assert workspace.admin.delete(f"{workspace.agents}/{self.ids['deleted']}").status_code == 204

    def _api_keys(self, workspace: Workspace) -> None:
        drafts: dict[str, Json] = {scope: {"scope": scope} for scope in SCOPES}
        drafts["limited"] = {"scope": "invoke", "agentIds": [self.ids["limited"]]}
        drafts["expiring"] = {"scope": "read", "expiresAt": "2027-02-01T00:00:00Z"}
        drafts["revoked"] = {"scope": "admin"}
        for name, fields in drafts.items():
            self.clock.advance(1)
            key = workspace.make_key(fields.pop("scope"), name=name, **fields)
            self.keys[name], self.ids[f"{name} key"] = key["apiKey"], key["id"]
        assert workspace.admin.delete(f"{workspace.api_keys}/{self.ids['revoked key']}").status_code == 204

    def _connect(self, workspace: Workspace, name: str) -> None:
        consent = self._begin_consent(workspace, name)
        response = come_back(workspace.plugboard, self.network.visit(consent["location"]), consent["cookie"])
        assert response.headers["Location"] == f"/connected?connected={self.ids[name]}"

    def _begin_consent(self, workspace: Workspace, name: str) -> Json:
        self.clock.advance(1)
        return begin_consent(workspace, self.ids[name])

    def _change(self, workspace: Workspace) -> None:
        """So that something has a later version than its first."""
        self.clock.advance(1)
        path = f"{workspace.servers}/{self.ids['none']}"
        assert workspace.admin.put(path, json={"description": "Changed", "name": "None"}).status_code == 200

    def _repeat(self, workspace: Workspace) -> None:
        drafts = {
            workspace.agents: {"name": "Once"},
            workspace.api_keys: {"name": "once", "scope": "read"},
            f"{workspace.agents}/{self.ids['agent']}/tool-calls": {
                "toolName": "mcp_none_echo",
                "args": {"text": "Once"},
            },
        }
        for path, body in drafts.items():
            self.clock.advance(1)
            response = workspace.admin.post(path, json=body, headers={"Idempotency-Key": "stored"})
            self.repeated.append(
                {"path": path, "body": body, "status": response.status_code, "response": response.json()}
            )

    def _call(self, workspace: Workspace, tool: str, args: Json) -> None:
        self.clock.advance(1)
        path = f"{workspace.agents}/{self.ids['agent']}/tool-calls"
        workspace.admin.post(path, json={"toolName": tool, "args": args})

    def _end_linear(self, workspace: Workspace) -> None:
        """Its revocation fails, and is still to be done."""
        linear = self.network.provider.tenant("linear")
        linear.inject_fault("revoke", Fault("down"), None)
        self.clock.advance(1)
        path = f"{workspace.servers}/{self.ids['linear']}/oauth/disconnect"
        assert workspace.admin.post(path).status_code == 200
        until(lambda: linear.request_counts["revoke"] > 0)

    def _views(self, plugboard: Plugboard) -> list[Json]:
        """All that can be read, as it has to be read in later versions."""
        workspace = f"/api/workspaces/{self.ids['workspace']}"
        servers = [*SERVERS, *LATER, *CONNECTABLE, "posthog"]
        paths = [
            *(workspace, f"{workspace}/mcp-servers", f"{workspace}/agents", f"{workspace}/api-keys"),
            *(f"{workspace}/audit?kind={kind}&limit=100" for kind in ("config", "calls")),
            *(f"{workspace}/mcp-servers/{self.ids[name]}" for name in servers),
            *(f"{workspace}/mcp-servers/{self.ids[name]}/oauth/status" for name in CONNECTABLE),
            *(f"{workspace}/agents/{self.ids[name]}" for name in ("agent", "limited")),
        ]
        admin = plugboard.caller(self.keys["admin"])
        until(lambda: len(admin.get(f"{workspace}/audit?kind=calls").json()) == CALLS)
        return [{"path": path, "body": admin.get(path).json()} for path in paths]


def begin_consent(workspace: Workspace, server: str) -> Json:
    """Up to the provider: its URL, and the cookie that the browser keeps."""
    return press_button(workspace.plugboard, ticket_of(workspace, server))


def ticket_of(workspace: Workspace, server: str) -> str:
    """The path of the page on which a person goes on."""
    response = workspace.admin.get(f"{workspace.servers}/{server}/oauth/authorize")
    assert response.status_code == 200, response.text
    page: str = response.json()["authUrl"].removeprefix(PUBLIC)
    return page


def press_button(plugboard: Plugboard, page: str) -> Json:
    button = plugboard.caller().post(page, headers={"Sec-Fetch-Site": "same-origin"})
    assert button.status_code == 303, button.text
    cookie = SimpleCookie(button.headers["Set-Cookie"])
    return {
        "location": button.headers["Location"],
        "cookie": "; ".join(f"{name}={morsel.value}" for name, morsel in cookie.items()),
    }


def come_back(plugboard: Plugboard, callback: str, cookie: str) -> httpx2.Response:
    return plugboard.caller().get(callback, headers={"Cookie": cookie})


def until(holds: Callable[[], object]) -> None:
    """For what happens in the background."""
    deadline, pause = time.monotonic() + PATIENCE_SECONDS, threading.Event()
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        pause.wait(0.02)


def _created(response: httpx2.Response) -> Json:
    assert response.status_code == 201, response.text
    body: Json = response.json()
    return body
