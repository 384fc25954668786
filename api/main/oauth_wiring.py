"""Construction of the components that connect servers, from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from api.access.authenticator import Authenticator
from api.audit.journal import Journal
from api.connections.authorization_request import AuthorizationRequests
from api.connections.consent.callback import AuthorizationCallback
from api.connections.consent.code_exchange import CodeExchange, ConnectionWriter
from api.connections.consent.start import ConsentStart
from api.connections.consent.state import StateStore
from api.connections.consent.tickets import ConsentTickets
from api.connections.dependencies import AuthServerHttpFactory, Brand, ConfiguredService, HttpAccess, PublicUrls
from api.connections.encryption import TokenSealer
from api.connections.grant_secrets import GrantSecrets
from api.connections.oauth_clients import OAuthClients
from api.connections.revocation.grant_end import GrantEnd
from api.connections.revocation.job import RevocationJobs
from api.connections.revocation.queue import RevocationQueue
from api.connections.tokens.access_tokens import AccessTokens
from api.connections.tokens.refresh import TokenRefresher
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
    """The dependencies of all components of this module."""

    settings: Settings
    store: Store
    vault: Vault
    journal: Journal
    clock: Clock
    access: Authenticator
    lookup: Lookup


@dataclass(frozen=True, slots=True)
class ConnectionComponents:
    public: PublicUrls
    brand: Brand
    auth_http: AuthServerHttpFactory
    sealer: TokenSealer
    oauth_clients: OAuthClients
    authorization_requests: AuthorizationRequests
    grant_end: GrantEnd
    revocation_queue: RevocationQueue
    tokens: AccessTokens
    consent_tickets: ConsentTickets
    consent_start: ConsentStart
    callback: AuthorizationCallback

    async def close(self) -> None:
        """Store received tokens first, then close the rest."""
        await self.tokens.finish()
        await self.revocation_queue.close()
        await self.auth_http.close()


def build_connections(
    shared: SharedDeps, outbound: HttpClient, services: Mapping[str, Service]
) -> ConnectionComponents:
    settings, store, clock = shared.settings, shared.store, shared.clock
    apps, configured = oauth_clients(settings, services), configured_services(settings, services)
    public = PublicUrls(settings.public_url, settings.return_origins)
    brand = Brand(settings.brand_name, settings.brand_color)
    vendors = _service_routes(shared, outbound, services)
    auth_http = AuthServerHttpFactory(HttpAccess(outbound, settings.reachable), vendors)
    sealer = TokenSealer(shared.vault, settings.reachable)
    clients = OAuthClients(store, sealer, apps, clock)
    secrets = GrantSecrets(store, sealer, clients)
    states = StateStore(store, sealer, clock)
    queue = _revocation_queue(shared, auth_http, apps)
    grant_end = GrantEnd(store, shared.journal, sealer, clients, queue)
    authorization_requests = AuthorizationRequests(
        services=configured, oauth_clients=clients, auth_http=auth_http, public=public, grant_secrets=secrets
    )
    refresher = TokenRefresher(
        sealer, authorization_requests=authorization_requests, oauth_clients=clients, auth_http=auth_http
    )
    writer = ConnectionWriter(
        store, sealer, journal=shared.journal, clock=clock, authenticator=shared.access, grant_end=grant_end
    )
    exchange = CodeExchange(oauth_clients=clients, auth_http=auth_http, services=configured, writer=writer)
    return ConnectionComponents(
        public=public,
        brand=brand,
        auth_http=auth_http,
        sealer=sealer,
        oauth_clients=clients,
        authorization_requests=authorization_requests,
        grant_end=grant_end,
        revocation_queue=queue,
        tokens=AccessTokens(store, sealer, clock, refresher=refresher, grant_end=grant_end, grant_secrets=secrets),
        consent_tickets=ConsentTickets(authorization_requests, states, sealer, public),
        consent_start=ConsentStart(states, shared.access, clients, configured, brand),
        callback=AuthorizationCallback(store, sealer, states, shared.access, clients, exchange),
    )


def _revocation_queue(
    shared: SharedDeps, auth_http: AuthServerHttpFactory, apps: Mapping[str, OAuthClient]
) -> RevocationQueue:
    return RevocationQueue(
        shared.store,
        shared.clock,
        jobs=RevocationJobs(shared.vault, shared.clock),
        auth_http=auth_http,
        apps=apps,
        workspace_exists=shared.access.workspace_exists,
    )


def oauth_clients(settings: Settings, services: Mapping[str, Service]) -> dict[str, OAuthClient]:
    apps = {name: settings.oauth_apps.get(service.env_prefix) for name, service in services.items() if service.oauth}
    return {
        name: OAuthClient(app.client_id, client_auth_of(services[name]), app.secret.reveal_text())
        for name, app in apps.items()
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


def service_directory(settings: Settings, services: Mapping[str, Service], access: HttpAccess) -> ServiceDirectory:
    configured = {name: settings.address(service.variable("API_BASE_URL")) for name, service in services.items()}
    addresses = {name: url for name, url in configured.items() if url}
    return ServiceDirectory(services, addresses, access.outbound, access.egress)


def _with_overrides(settings: Settings, service: Service) -> dict[str, str]:
    overrides = {name: settings.address(service.variable(f"OAUTH_{name}")) for name in OVERRIDES}
    return {name: url for name, url in overrides.items() if url}


def _api_base_url(settings: Settings, service: Service) -> str:
    return settings.address(service.variable("API_BASE_URL")) or service.api_base_url or ""


def _service_routes(shared: SharedDeps, outbound: HttpClient, services: Mapping[str, Service]) -> HttpAccess:
    """HTTP access for services: addresses that the operator has set for a vendor are reachable only with it."""
    settings = shared.settings
    base_urls = [settings.address(service.variable("API_BASE_URL")) for service in services.values()]
    urls = [
        *filter(None, base_urls),
        *(url for service in services.values() for url in _with_overrides(settings, service).values()),
    ]
    if not urls:
        return HttpAccess(outbound, settings.reachable)
    egress = settings.reachable_with(urls)
    return HttpAccess(HttpClient(egress, names=Resolver(shared.lookup), trust=outbound.trust), egress)
