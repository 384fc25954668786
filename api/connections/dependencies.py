"""What connecting works with, the same for every request of the process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from api.access.authenticator import Authenticator
from api.access.context import WorkspaceContext
from api.audit.journal import Journal
from api.connections.consent.limits import ConsentStartLimit
from api.connections.consent.state import StateStore
from api.connections.http import AuthServerHttp
from api.connections.oauth_clients import OAuthClients
from api.kit.clock import Clock
from api.kit.crypto.vault import Vault
from api.kit.egress.policy import EgressPolicy
from api.kit.http_client.client import HttpClient
from api.kit.storage.store import Store
from api.servers.service import EXTERNAL, Server
from integrations import AuthorizationServer, Service


@dataclass(frozen=True, slots=True)
class HttpAccess:
    """Where requests may go, and over what."""

    outbound: HttpClient
    egress: EgressPolicy


@dataclass(frozen=True, slots=True)
class ConfiguredService:
    """A service, as the operator has set it up."""

    service: Service
    provider: AuthorizationServer
    api_base_url: str


@dataclass(frozen=True, slots=True)
class PublicUrls:
    """What of this service is known outside."""

    url: str
    return_origins: frozenset[str]

    @property
    def all_origins(self) -> frozenset[str]:
        """Its own, too."""
        parts = urlsplit(self.url)
        return self.return_origins | {f"{parts.scheme}://{parts.netloc}"}

    @property
    def is_secure(self) -> bool:
        return self.url.startswith("https://")

    def callback(self, service_type: str, suffix: str | None = None) -> str:
        return f"{self.url}/api/mcp/oauth/{service_type}/callback" + (f"/{suffix}" if suffix else "")


@dataclass(frozen=True, slots=True)
class AuthServerHttpFactory:
    anywhere: HttpAccess
    vendors: HttpAccess
    """The same, and what the operator has set in place of the vendors' addresses."""

    def for_server(self, ctx: WorkspaceContext, server: Server) -> AuthServerHttp:
        return self._line(server.service_type, f"{ctx.workspace_id} oauth {server.id}")

    def for_revocation(self, workspace_id: str, service_type: str, entry: str) -> AuthServerHttp:
        return self._line(service_type, f"{workspace_id} revocation {entry}")

    async def close(self) -> None:
        """What reaches anywhere is shared with others, who close it."""
        if self.vendors.outbound is not self.anywhere.outbound:
            await self.vendors.outbound.close()

    def _line(self, service_type: str, pool: str) -> AuthServerHttp:
        reach = self.anywhere if service_type == EXTERNAL else self.vendors
        return AuthServerHttp(reach.outbound, reach.egress, pool)


@dataclass(frozen=True, slots=True)
class ConnectionDeps:
    store: Store
    vault: Vault
    journal: Journal
    clock: Clock
    authenticator: Authenticator
    services: Mapping[str, ConfiguredService]
    oauth_clients: OAuthClients
    states: StateStore
    auth_http: AuthServerHttpFactory
    public: PublicUrls
    start_limit: ConsentStartLimit = field(default_factory=ConsentStartLimit)
