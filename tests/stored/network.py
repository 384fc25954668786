"""The network of the stored databases: an MCP server and an OAuth provider, at names and ports that never change.

A stored credential is bound to the URL it was entered for, so URLs have to be the same in every run. The names lead to
a loopback address of this process alone: its ports are free, whatever else runs on this machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from demo.mcp_servers import PlainServer
from demo.oauth_provider.http import AbortableHttpProtocol, asgi_app
from demo.oauth_provider.model import Client, Family, Token
from demo.oauth_provider.server import OAuthProvider
from demo.oauth_provider.tenant import Tenant
from demo.serving import listening
from tests.harness import caller

WEATHER, PROVIDER = "http://weather.example.test:8498", "http://provider.example.test:8499"
PUBLIC = "http://127.0.0.1:8400"
Json = dict[str, Any]


@dataclass
class Network:
    weather: PlainServer
    provider: OAuthProvider
    address: str

    def lookup(self, name: str) -> Sequence[str]:
        return [self.address] if name.endswith(".example.test") else []

    def environment(self, data_dir: str) -> Mapping[str, str]:
        names = ",".join(str(urlsplit(url).hostname) for url in (WEATHER, PROVIDER))
        own = {"PLUGBOARD_DATA_DIR": data_dir, "PLUGBOARD_EGRESS_ALLOW": names}
        return self.provider.environment() | own

    def visit(self, url: str) -> str:
        """The path on Plugboard to which the provider redirects a browser, as it consents at once."""
        with caller(PROVIDER.replace(str(urlsplit(PROVIDER).hostname), self.address)) as browser:
            response = browser.get(url.removeprefix(PROVIDER))
        assert response.status_code == 302, response.text
        return response.headers["Location"].removeprefix(PUBLIC)


@contextmanager
def open_network() -> Iterator[Network]:
    weather, provider, address = PlainServer(), OAuthProvider(), _own_address()
    with (
        listening(weather, address=(address, urlsplit(WEATHER).port or 0)),
        listening(asgi_app(provider), AbortableHttpProtocol, address=(address, urlsplit(PROVIDER).port or 0)),
    ):
        provider.start(PROVIDER)
        try:
            yield Network(weather, provider, address)
        finally:
            provider.close()


def _own_address() -> str:
    """In 127.64.0.0/10, by the number of this process."""
    number = os.getpid()
    return f"127.{64 + (number >> 16) % 64}.{(number >> 8) % 256}.{number % 256}"


def state_of(tenant: Tenant) -> Json:
    """What a provider has to know of its clients and grants when the database is opened again."""
    tokens = [
        {"text": token.text, "kind": token.kind, "family": token.family.id, "generation": token.generation}
        for token in tenant.grants._tokens.values()
        if not token.is_revoked and token.used_at is None
    ]
    return {
        "families": [asdict(family) for family in tenant.families],
        "tokens": tokens,
        "clients": [asdict(client) for client in tenant.clients.values()],
    }


def restore(tenant: Tenant, state: Json) -> None:
    families = {family["id"]: Family(**family) for family in state["families"]}
    tenant.families[:] = families.values()
    for client in state["clients"]:
        known = Client(**{name: tuple(value) if isinstance(value, list) else value for name, value in client.items()})
        tenant.clients[known.id] = known
    for token in state["tokens"]:
        text, kind, generation = token["text"], token["kind"], token["generation"]
        tenant.grants._tokens[text] = Token(text, kind, families[token["family"]], generation, None)
