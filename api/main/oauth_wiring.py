"""What connecting is made of, put together from the settings: vendors as the operator has set them up, and the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from api.access.authenticator import Authenticator
from api.audit.journal import Journal
from api.connections.consent.callback import AuthorizationCallback
from api.connections.consent.code_exchange import CodeExchange
from api.connections.consent.start import ConsentStart
from api.connections.consent.state import StateStore
from api.connections.dependencies import (
    AuthServerHttpFactory,
    ConfiguredService,
    ConnectionDeps,
    HttpAccess,
    PublicUrls,
)
from api.connections.encryption import TokenSealer
from api.connections.oauth_clients import OAuthClients
from api.connections.revocation.grant_end import GrantEnd
from api.connections.revocation.queue import RevocationQueue
from api.connections.tokens.access_tokens import AccessTokens
from api.kit.clock import Clock
from api.kit.crypto.vault import Vault
from api.kit.egress.resolver import Lookup, Resolver
from api.kit.http_client.client import HttpClient
from api.kit.storage.store import Store
from api.main.settings import Settings
from api.toolbox.toolsets.service_directory import ServiceDirectory
from integrations import OAuthClient, Service, authorization_server_of, client_auth_of

OVERRIDES = ("AUTHORIZE_URL", "TOKEN_URL", "REVOKE_URL")


@dataclass(frozen=True, slots=True)
class SharedDeps:
    """What all parts are made with."""

    settings: Settings
    store: Store
    vault: Vault
    journal: Journal
    clock: Clock
    access: Authenticator
    lookup: Lookup


@dataclass(frozen=True, slots=True)
class ConnectionComponents:
    deps: ConnectionDeps
    grant_end: GrantEnd
    revocation_queue: RevocationQueue
    tokens: AccessTokens
    consent_start: ConsentStart
    callback: AuthorizationCallback

    async def close(self) -> None:
        """New tokens that are on their way are stored first."""
        await self.tokens.finish()
        await self.revocation_queue.close()
        await self.deps.auth_http.close()


def build_connections(base: SharedDeps, outbound: HttpClient, services: Mapping[str, Service]) -> ConnectionComponents:
    settings, store, vault, clock = base.settings, base.store, base.vault, base.clock
    apps = oauth_clients(settings, services)
    lines = AuthServerHttpFactory(HttpAccess(outbound, settings.reachable), _service_routes(base, outbound, services))
    sealer = TokenSealer(vault, settings.reachable)
    clients = OAuthClients(store, sealer, apps, clock)
    works = ConnectionDeps(
        store,
        vault,
        base.journal,
        clock,
        base.access,
        configured_services(settings, services),
        clients,
        StateStore(store, sealer, clock),
        lines,
        PublicUrls(settings.public_url, settings.return_origins),
    )
    outbox = RevocationQueue(store, vault, lines, apps, clock, base.access.workspace_exists)
    endings = GrantEnd(store, base.journal, sealer, clients, outbox)
    granting = CodeExchange(works, sealer, endings)
    tokens = AccessTokens(works, sealer, endings)
    return ConnectionComponents(
        works, endings, outbox, tokens, ConsentStart(works), AuthorizationCallback(works, granting)
    )


def oauth_clients(settings: Settings, services: Mapping[str, Service]) -> dict[str, OAuthClient]:
    found = {name: settings.oauth_apps.get(service.env_prefix) for name, service in services.items() if service.oauth}
    return {
        name: OAuthClient(app.client_id, client_auth_of(services[name]), app.secret.reveal_text())
        for name, app in found.items()
        if app
    }


def configured_services(settings: Settings, services: Mapping[str, Service]) -> dict[str, ConfiguredService]:
    return {
        name: ConfiguredService(
            service,
            authorization_server_of(service, _with_overrides(settings, service)),
            _api_base_url(settings, service),
        )
        for name, service in services.items()
        if service.oauth
    }


def service_directory(settings: Settings, services: Mapping[str, Service], reach: HttpAccess) -> ServiceDirectory:
    set_here = {name: settings.address(service.variable("API_BASE_URL")) for name, service in services.items()}
    addresses = {name: url for name, url in set_here.items() if url}
    return ServiceDirectory(services, addresses, reach.outbound, reach.egress)


def _with_overrides(settings: Settings, service: Service) -> dict[str, str]:
    given = {name: settings.address(service.variable(f"OAUTH_{name}")) for name in OVERRIDES}
    return {name: url for name, url in given.items() if url}


def _api_base_url(settings: Settings, service: Service) -> str:
    return settings.address(service.variable("API_BASE_URL")) or service.api_base_url or ""


def _service_routes(base: SharedDeps, outbound: HttpClient, services: Mapping[str, Service]) -> HttpAccess:
    """What the operator has put in a vendor's place may be anywhere: but only these requests get there."""
    settings = base.settings
    bases = [settings.address(service.variable("API_BASE_URL")) for service in services.values()]
    urls = [
        *filter(None, bases),
        *(url for each in services.values() for url in _with_overrides(settings, each).values()),
    ]
    if not urls:
        return HttpAccess(outbound, settings.reachable)
    egress = settings.reachable_too(urls)
    return HttpAccess(HttpClient(egress, names=Resolver(base.lookup), trust=outbound.trust), egress)
