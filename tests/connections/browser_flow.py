"""A server that is to be connected, and a browser that is led through it one step at a time."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2

from demo.oauth_provider.server import OAuthProvider as Provider
from demo.oauth_provider.server import Tenant
from tests.harness import Plugboard, Workspace, caller

PUBLIC = "http://127.0.0.1:8400"
COOKIE = "plugboard-connect"
Json = dict[str, Any]
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ConnectableServer:
    """A server of a workspace, and who grants access to it."""

    workspace: Workspace
    id: str
    tenant: Tenant

    @property
    def path(self) -> str:
        return f"{self.workspace.servers}/{self.id}"

    @property
    def plugboard(self) -> Plugboard:
        return self.workspace.plugboard

    def start(self, **query: str) -> httpx2.Response:
        return self.workspace.admin.get(f"{self.path}/oauth/authorize", params=query)

    def page(self, **query: str) -> str:
        """The path of the consent page."""
        response = self.start(**query)
        assert response.status_code == 200, response.text
        return urlsplit(response.json()["authUrl"]).path

    def status(self) -> Json:
        return _read(self.workspace.admin.get(f"{self.path}/oauth/status"))

    def get(self) -> Json:
        return _read(self.workspace.admin.get(self.path))

    def change(self, **changed: Any) -> None:
        response = self.workspace.admin.put(self.path, json=changed)
        assert response.status_code == 200, response.text

    def call(self, tool: str = "whoami") -> Json:
        """What an agent is answered that asks for one of the server's tools."""
        agent = f"{self.workspace.agents}/{self.workspace.make_agent(enabledMcpServerIds=[self.id])['id']}"
        body = {"toolName": f"mcp_{self.get()['slug']}_{tool}", "args": {}}
        return _read(self.workspace.admin.post(f"{agent}/tool-calls", json=body))

    def events(self) -> list[str]:
        """Oldest first, what was done to the server."""
        records = _read(self.workspace.admin.get(self.workspace.audit, params={"limit": 100}))
        return [item["action"] for item in reversed(records) if item["target"]["id"] == self.id]

    def assert_untouched(self) -> None:
        """No token request was sent, and no connection is stored."""
        assert self.tenant.requests_to("token") == []
        self.assert_not_connected()

    def assert_not_connected(self) -> None:
        status = self.status()
        assert (status["connected"], status["scopes"], status.get("connectedAt")) == (False, [], None)
        assert self.get()["oauthConnected"] is False
        assert "server.connected" not in self.events()


@dataclass
class ConsentBrowser:
    """A browser that does one step at a time. Its cookies are those of the Plugboard alone."""

    plugboard: Plugboard
    public: str = PUBLIC
    cookies: dict[str, str] = field(default_factory=dict)

    def sent(self, method: str, path: str, **headers: str) -> httpx2.Response:
        cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        response = self.plugboard.caller().request(method, path, headers=headers | (cookie if self.cookies else {}))
        for line in response.headers.get_list("Set-Cookie"):
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return response

    def press(self, page: str, **headers: str) -> httpx2.Response:
        """The button of the page."""
        return self.sent("POST", page, **{"Sec-Fetch-Site": "same-origin", **headers})

    def go(self, page: str) -> str:
        """The URL at the provider that the button leads to."""
        response = self.press(page)
        assert response.status_code == 303, response.text
        return response.headers["Location"]

    def consent(self, page: str) -> Callback:
        """Up to the last step, which is not done."""
        return callback_from(self.go(page))

    def land(self, callback: Callback, method: str = "GET", **headers: str) -> httpx2.Response:
        return self.sent(method, callback.url, **headers)

    def connect(self, server: ConnectableServer, **query: str) -> dict[str, str]:
        """All of it; what the last URL says."""
        return result_of(self.land(self.consent(server.page(**query))))


@dataclass(frozen=True)
class Callback:
    """Where a provider sends a browser back to, for a test to change on the way."""

    path: str
    params: Pairs

    @property
    def url(self) -> str:
        return f"{self.path}?{urlencode(self.params)}"

    def __getitem__(self, name: str) -> str:
        return dict(self.params)[name]

    def with_params(self, **changed: str | None) -> Callback:
        """None takes a parameter away."""
        kept = [(name, value) for name, value in self.params if name not in changed]
        return Callback(self.path, [*kept, *((name, value) for name, value in changed.items() if value is not None)])

    def with_added(self, *pairs: tuple[str, str]) -> Callback:
        return Callback(self.path, [*self.params, *pairs])

    def at(self, path: str) -> Callback:
        return Callback(path, self.params)


def callback_from(url: str) -> Callback:
    """By the provider, that consents at once."""
    with caller(url) as client:
        response = client.get(url)
    assert response.status_code == 302, response.text
    parts = urlsplit(response.headers["Location"])
    return Callback(parts.path, parse_qsl(parts.query, keep_blank_values=True))


def mcp_server(
    plugboard: Plugboard, tenant: Tenant, workspace: Workspace | None = None, **fields: Any
) -> ConnectableServer:
    """A server behind an authorization server that is found by discovery."""
    known = workspace or plugboard.make_workspace()
    values = {"name": "Acme", "url": tenant.mcp_url, "authType": "oauth", "config": {}} | fields
    return ConnectableServer(known, known.make_server(**values)["id"], tenant)


def service(
    plugboard: Plugboard, provider: Provider, kind: str = "notion", workspace: Workspace | None = None, **fields: Any
) -> ConnectableServer:
    known = workspace or plugboard.make_workspace()
    values = {"name": kind.title(), "serviceType": kind, "authType": "oauth", "url": None, "config": {}} | fields
    return ConnectableServer(known, known.make_server(**values)["id"], provider.tenant(kind))


def result_of(response: httpx2.Response) -> dict[str, str]:
    """What the clean URL says that a browser is sent to, without the id of a server that was not connected."""
    assert response.status_code == 303, response.text
    outcome = dict(parse_qsl(urlsplit(response.headers["Location"]).query))
    return {name: value for name, value in outcome.items() if name != "serverId"}


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def facts_on(page: str) -> Mapping[str, str]:
    """What the page of Connect shows, by its labels."""
    pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page, re.DOTALL)
    return {name: html.unescape(value) for name, value in pairs}


def _read(response: httpx2.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()
