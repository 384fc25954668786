"""Who are we to an authorization server: the operator's app, a client that came with the server, or one of our own?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from api.access.context import WorkspaceContext
from api.connections.repository import ClientRef, Registration, Registrations, registration_of
from api.connections.sealing import Sealer
from api.kit.clock import Clock
from api.kit.store import Store
from api.servers.service import Server
from integrations import Client, ClientAuth

SECRET = "secret"  # noqa: S105  a field's name
MARGIN_SECONDS = 60.0
WITH_SECRET: tuple[ClientAuth, ...] = ("client_secret_basic", "client_secret_post")


class NoClient(Exception):
    """What the grant was given to is not known any more."""


@dataclass(frozen=True, slots=True)
class Given:
    """What came with the server's `config`."""

    id: str | None = None
    secret: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] | None = None

    def client(self, accepted: Sequence[ClientAuth]) -> Client:
        return Client(self.id or "", self._auth(accepted), self.secret, self.private_key)

    def _auth(self, accepted: Sequence[ClientAuth]) -> ClientAuth:
        if self.private_key:
            return "private_key_jwt"
        if not self.secret:
            return "none"
        return next((each for each in accepted if each in WITH_SECRET), WITH_SECRET[0])


class Clients:
    def __init__(self, store: Store, sealer: Sealer, apps: Mapping[str, Client], clock: Clock) -> None:
        self._store = store
        self._sealer = sealer
        self._apps = apps
        self._clock = clock

    def app(self, service_type: str) -> Client | None:
        return self._apps.get(service_type)

    async def load(self, ctx: WorkspaceContext, server: Server, ref: ClientRef, issuer: str) -> Client:
        """The one that a grant was given to, with its secret as it is now."""
        match ref.kind:
            case "service":
                found = self.app(server.service_type)
            case "given":
                found = (await self.given(ctx, server)).client([_auth(ref.auth)])
            case "registered":
                found = await self.registered(ctx, issuer)
            case _:
                found = Client(ref.id, "none")
        if found is None or found.id != ref.id:
            raise NoClient
        return found

    async def given(self, ctx: WorkspaceContext, server: Server) -> Given:
        scope = await self._sealer.config(ctx, server, "scope")
        return Given(
            await self._sealer.config(ctx, server, "clientId"),
            await self._sealer.config(ctx, server, "clientSecret"),
            await self._sealer.config(ctx, server, "privateKey"),
            tuple(scope.split()) if scope else None,
        )

    async def registered(
        self, ctx: WorkspaceContext, issuer: str, redirect_uri: str | None = None, scopes: Sequence[str] = ()
    ) -> Client | None:
        """The client that we are there already, if it is good for this way back and for so much."""
        known = await Registrations(self._store, ctx).now(issuer)
        if known is None or redirect_uri not in (None, known.redirect_uri) or not set(scopes) <= set(known.scopes):
            return None
        if known.expires_at is not None and known.expires_at < self._clock.now() + MARGIN_SECONDS:
            return None
        return Client(known.id, _auth(known.auth), await self._sealer.opened(ctx, known.record, SECRET, known.sealed))

    async def keep(
        self,
        ctx: WorkspaceContext,
        issuer: str,
        client: Client,
        redirect_uri: str,
        scopes: tuple[str, ...],
        expires_at: float | None,
    ) -> None:
        secret = {SECRET: client.secret} if client.secret else {}
        sealed, guards = await self._sealer.sealed(ctx, registration_of(issuer), secret)
        made = Registration(issuer, client.id, client.auth, redirect_uri, scopes, expires_at, sealed)
        await Registrations(self._store, ctx).keep(made, *guards)


def _auth(kept: str) -> ClientAuth:
    auth: ClientAuth = kept  # type: ignore[assignment]  # it was one when it was kept
    return auth
