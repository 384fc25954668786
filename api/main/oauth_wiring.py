"""What connecting is made of, put together from the settings: vendors as the operator has set them up, and the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from api.access.authenticator import Access
from api.audit.journal import Journal
from api.connections.consent.callback import Returning
from api.connections.consent.code_exchange import Granting
from api.connections.consent.start import Going
from api.connections.consent.state import Pendings
from api.connections.dependencies import ConnectionWorks, Lines, Public, Reach, Vendor
from api.connections.oauth_clients import Clients
from api.connections.revocation.grant_end import Endings
from api.connections.revocation.queue import Outbox
from api.connections.tokens.access_tokens import TokenKeeper
from api.connections.tokens.encryption import Sealer
from api.kit.clock import Clock
from api.kit.crypto.vault import Vault
from api.kit.egress.resolver import Lookup, Names
from api.kit.http_client.client import Outbound
from api.kit.storage.store import Store
from api.main.settings import Settings
from api.toolbox.toolsets.service_directory import Vendors
from integrations import OAuthClient, Service, authorization_server_of, client_auth_of

OVERRIDES = ("AUTHORIZE_URL", "TOKEN_URL", "REVOKE_URL")


@dataclass(frozen=True, slots=True)
class Base:
    """What all parts are made with."""

    settings: Settings
    store: Store
    vault: Vault
    journal: Journal
    clock: Clock
    access: Access
    lookup: Lookup


@dataclass(frozen=True, slots=True)
class Connecting:
    works: ConnectionWorks
    endings: Endings
    outbox: Outbox
    tokens: TokenKeeper
    going: Going
    returning: Returning

    async def close(self) -> None:
        """New tokens that are on their way are stored first."""
        await self.tokens.finish()
        await self.outbox.close()
        await self.works.lines.close()


def connecting(base: Base, outbound: Outbound, services: Mapping[str, Service]) -> Connecting:
    settings, store, vault, clock = base.settings, base.store, base.vault, base.clock
    apps = apps_of(settings, services)
    lines = Lines(Reach(outbound, settings.reachable), _to_vendors(base, outbound, services))
    sealer = Sealer(vault, settings.reachable)
    clients = Clients(store, sealer, apps, clock)
    works = ConnectionWorks(
        store,
        vault,
        base.journal,
        clock,
        base.access,
        vendors_of(settings, services),
        clients,
        Pendings(store, sealer, clock),
        lines,
        Public(settings.public_url, settings.return_origins),
    )
    outbox = Outbox(store, vault, lines, apps, clock, base.access.is_there)
    endings = Endings(store, base.journal, sealer, clients, outbox)
    granting = Granting(works, sealer, endings)
    tokens = TokenKeeper(works, sealer, endings)
    return Connecting(works, endings, outbox, tokens, Going(works), Returning(works, granting))


def apps_of(settings: Settings, services: Mapping[str, Service]) -> dict[str, OAuthClient]:
    found = {name: settings.oauth_apps.get(service.env_prefix) for name, service in services.items() if service.oauth}
    return {
        name: OAuthClient(app.client_id, client_auth_of(services[name]), app.secret.reveal_text())
        for name, app in found.items()
        if app
    }


def vendors_of(settings: Settings, services: Mapping[str, Service]) -> dict[str, Vendor]:
    return {
        name: Vendor(
            service, authorization_server_of(service, _set(settings, service)), _api_base_url(settings, service)
        )
        for name, service in services.items()
        if service.oauth
    }


def reached(settings: Settings, services: Mapping[str, Service], reach: Reach) -> Vendors:
    set_here = {name: settings.address(service.variable("API_BASE_URL")) for name, service in services.items()}
    addresses = {name: url for name, url in set_here.items() if url}
    return Vendors(services, addresses, reach.outbound, reach.egress)


def _set(settings: Settings, service: Service) -> dict[str, str]:
    given = {name: settings.address(service.variable(f"OAUTH_{name}")) for name in OVERRIDES}
    return {name: url for name, url in given.items() if url}


def _api_base_url(settings: Settings, service: Service) -> str:
    return settings.address(service.variable("API_BASE_URL")) or service.api_base_url or ""


def _to_vendors(base: Base, outbound: Outbound, services: Mapping[str, Service]) -> Reach:
    """What the operator has put in a vendor's place may be anywhere: but only these requests get there."""
    settings = base.settings
    bases = [settings.address(service.variable("API_BASE_URL")) for service in services.values()]
    urls = [*filter(None, bases), *(url for each in services.values() for url in _set(settings, each).values())]
    if not urls:
        return Reach(outbound, settings.reachable)
    egress = settings.reachable_too(urls)
    return Reach(Outbound(egress, names=Names(base.lookup), trust=outbound.trust), egress)
