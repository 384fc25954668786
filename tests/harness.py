"""A served Plugboard and HTTP clients for it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from api.access.context import partition_of
from api.api_keys.service import make_operator_key
from api.http.middleware import AccessLog
from api.kit.clock import Clock
from api.kit.crypto.vault import Sealed, SecretLocation
from api.kit.egress.resolver import Lookup, system_lookup
from api.kit.storage.store import Key
from api.main.app import create_app
from api.main.container import build_container
from api.main.settings import Settings
from api.servers.credential_binding import unbind_credential
from api.servers.repository import server_key
from demo.serving import PATIENCE_SECONDS, listening
from integrations import Service

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # shared: creating a context takes 15 ms

WEATHER = {
    "name": "Weather API",
    "url": "https://api.weather.example.com/mcp",
    "authType": "header",
    "config": {"headerValue": "Bearer canary-weather"},
}


class Caller(httpx2.Client):
    """Reads a response to its end, but not a stream of events, which may have none. `stream` reads that."""

    def request(self, method: str, url: httpx2.URL | str, **parts: Any) -> httpx2.Response:
        with self.stream(method, url, **parts) as response:
            if response.headers.get("Content-Type", "").startswith("text/event-stream"):
                return httpx2.Response(response.status_code, headers=response.headers, request=response.request)
            response.read()
            return response


def caller(url: str, key: str | None = None, **headers: str) -> Caller:
    sent = headers | ({"Authorization": f"Bearer {key}"} if key else {})
    return Caller(base_url=url, headers=sent, verify=NO_TLS, timeout=PATIENCE_SECONDS, trust_env=False)


def many_callers(url: str, key: str) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=100)
    headers = {"Authorization": f"Bearer {key}"}
    return httpx2.AsyncClient(
        base_url=url, headers=headers, verify=NO_TLS, timeout=PATIENCE_SECONDS, trust_env=False, limits=limits
    )


def bearer(key: str) -> list[tuple[bytes, bytes]]:
    """The headers of a request with this API key, as ASGI passes them."""
    return [(b"authorization", f"Bearer {key}".encode())]


@dataclass
class Workspace:
    """A workspace of one test, with its first admin key."""

    plugboard: Plugboard
    id: str
    key: str
    admin: httpx2.Client

    @property
    def path(self) -> str:
        return f"/api/workspaces/{self.id}"

    @property
    def servers(self) -> str:
        return f"{self.path}/mcp-servers"

    @property
    def agents(self) -> str:
        return f"{self.path}/agents"

    @property
    def api_keys(self) -> str:
        return f"{self.path}/api-keys"

    @property
    def audit(self) -> str:
        return f"{self.path}/audit"

    def make_server(self, **changed: Any) -> dict[str, Any]:
        return _created(self.admin.post(self.servers, json=WEATHER | changed))

    def make_silent_server(self) -> dict[str, Any]:
        """A server without credentials, because its origin changed after they were entered: no request is ever sent."""
        path = f"{self.servers}/{self.make_server()['id']}"
        moved = self.admin.put(path, json={"url": "https://moved.weather.example.com/mcp"})
        assert moved.json()["configured"] == []
        created: dict[str, Any] = moved.json()
        return created

    def make_agent(self, **changed: Any) -> dict[str, Any]:
        return _created(self.admin.post(self.agents, json={"name": "Support"} | changed))

    def make_key(self, scope: str, **changed: Any) -> dict[str, Any]:
        return _created(self.admin.post(self.api_keys, json={"name": f"a {scope} key", "scope": scope} | changed))

    def caller(self, scope: str, **changed: Any) -> httpx2.Client:
        return self.plugboard.caller(self.make_key(scope, **changed)["apiKey"])

    def stored_credentials(self, server_id: str) -> dict[str, str]:
        """The stored `config` of a server in plaintext, read by a new container."""
        return asyncio.run(_unsealed(self, server_id))


@dataclass
class Plugboard:
    url: str
    settings: Settings
    operator_key: str
    opened: list[httpx2.Client] = field(default_factory=list)

    def caller(self, key: str | None = None, **headers: str) -> httpx2.Client:
        self.opened.append(caller(self.url, key, **headers))
        return self.opened[-1]

    @property
    def operator(self) -> httpx2.Client:
        return self.caller(self.operator_key)

    def make_workspace(self, name: str = "Acme") -> Workspace:
        created = _created(self.operator.post("/api/workspaces", json={"name": name}))
        return Workspace(self, created["id"], created["apiKey"], self.caller(created["apiKey"]))

    def close(self) -> None:
        for client in self.opened:
            client.close()


@contextmanager
def served(
    settings: Settings,
    clock: Clock | None = None,
    lookup: Lookup = system_lookup,
    catalog: Mapping[str, Service] | None = None,
    trust: ssl.SSLContext | None = None,
    access_log: AccessLog | None = None,
) -> Iterator[Plugboard]:
    key = asyncio.run(_operator_key(settings, clock))
    with listening(create_app(settings, clock, access_log, lookup, catalog, trust)) as url:
        plugboard = Plugboard(url, settings, key)
        try:
            yield plugboard
        finally:
            plugboard.close()


async def _operator_key(settings: Settings, clock: Clock | None) -> str:
    parts = await build_container(settings, clock)
    try:
        return (await make_operator_key(parts.store, parts.key_maker)).reveal_text()
    finally:
        await parts.close()


async def _unsealed(workspace: Workspace, server_id: str) -> dict[str, str]:
    parts = await build_container(workspace.plugboard.settings)
    try:
        partition, sk = partition_of(workspace.id), server_key(server_id)
        item = await parts.store.get(Key(partition, sk))
        sealed = item.data["sealed"] if item else {}
        opened = {
            name: await parts.vault.unseal(partition, SecretLocation(sk, name), Sealed.parse(text))
            for name, text in sealed.items()
        }
        return {name: unbind_credential(secret)[1].reveal_text() for name, secret in opened.items()}
    finally:
        await parts.close()


def error_paths(response: httpx2.Response) -> list[str]:
    """The paths of the errors of a 422 response."""
    assert response.status_code == 422, response.text
    assert response.headers["Content-Type"] == "application/problem+json"
    return [error["path"] for error in response.json()["errors"]]


def _created(response: httpx2.Response) -> dict[str, Any]:
    assert response.status_code == 201, response.text
    created: dict[str, Any] = response.json()
    return created
