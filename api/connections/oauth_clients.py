"""Who are we to an authorization server: the operator's app, a client that came with the server, or one of our own?"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from api.access.context import WorkspaceContext
from api.connections.encryption import TokenSealer
from api.connections.repository import (
    ClientRegistration,
    ClientRegistrationRepository,
    ClientSecretUse,
    OAuthClientRef,
    registration_of,
)
from api.kit.clock import Clock
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.store import Store
from api.servers.service import Server, client_secret_use_key
from integrations import ClientAuth, OAuthClient

SECRET = "secret"  # noqa: S105  a field's name
MARK = "mark"
MARGIN_SECONDS = 60.0
WITH_SECRET: tuple[ClientAuth, ...] = ("client_secret_basic", "client_secret_post")


class ClientUnavailable(Exception):
    """What the grant was given to is not known any more."""


@dataclass(frozen=True, slots=True)
class ConfiguredClient:
    """What came with the server's `config`."""

    id: str | None = None
    secret: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] | None = None

    @property
    def mark(self) -> str:
        """What the secret is known again by. It is kept sealed, as the secret is."""
        return hashlib.sha256(f"{self.id} {self.secret}".encode()).hexdigest()

    def client(self, accepted: Sequence[ClientAuth]) -> OAuthClient:
        return OAuthClient(self.id or "", self._auth(accepted), self.secret, self.private_key)

    def _auth(self, accepted: Sequence[ClientAuth]) -> ClientAuth:
        if self.private_key:
            return "private_key_jwt"
        if not self.secret:
            return "none"
        return next((each for each in accepted if each in WITH_SECRET), WITH_SECRET[0])


class OAuthClients:
    def __init__(self, store: Store, sealer: TokenSealer, apps: Mapping[str, OAuthClient], clock: Clock) -> None:
        self._store = store
        self._sealer = sealer
        self._apps = apps
        self._clock = clock

    def app(self, service_type: str) -> OAuthClient | None:
        return self._apps.get(service_type)

    async def load(self, ctx: WorkspaceContext, server: Server, ref: OAuthClientRef, issuer: str) -> OAuthClient:
        """The one that a grant was given to, with its secret as it is now."""
        match ref.kind:
            case "service":
                found = self.app(server.service_type)
            case "given":
                found = (await self.configured(ctx, server)).client([ref.auth])
            case "registered":
                found = await self._registered(ctx, issuer, ref.id)
            case "document":
                found = OAuthClient(ref.id, "none")
        if found is None or found.id != ref.id:
            raise ClientUnavailable
        return found

    async def configured(self, ctx: WorkspaceContext, server: Server) -> ConfiguredClient:
        scope = await self._sealer.config(ctx, server, "scope")
        return ConfiguredClient(
            await self._sealer.config(ctx, server, "clientId"),
            await self._sealer.config(ctx, server, "clientSecret"),
            await self._sealer.config(ctx, server, "privateKey"),
            tuple(scope.split()) if scope else None,
        )

    async def may_send_secret_to(
        self, ctx: WorkspaceContext, server: Server, given: ConfiguredClient, issuer: str
    ) -> bool:
        """A secret that came with a server is one authorization server's: whomever else the server may name later,
        nobody else is shown it. Who enters another says anew whose it is."""
        return given.secret is None or await retry_on_conflict(lambda: self._is_known(ctx, server, given, issuer))

    async def _is_known(self, ctx: WorkspaceContext, server: Server, given: ConfiguredClient, issuer: str) -> bool:
        uses = ClientRegistrationRepository(self._store, ctx)
        first, mark = await uses.first_use(server.id), given.mark
        if first:
            known = await self._sealer.open(ctx, first.record, MARK, first.sealed)
            if known and hmac.compare_digest(known, mark):
                return first.issuer == issuer
        sealed, guards = await self._sealer.seal(ctx, client_secret_use_key(server.id), {MARK: mark})
        await uses.note(ClientSecretUse(server.id, issuer, sealed, first.version if first else 0), *guards)
        return True

    async def registered(
        self, ctx: WorkspaceContext, issuer: str, redirect_uri: str, scopes: Sequence[str]
    ) -> OAuthClient | None:
        """A client that we are there already, if one is good for this way back and for so much."""
        for known in await ClientRegistrationRepository(self._store, ctx).all_with(issuer):
            if known.redirect_uri == redirect_uri and set(scopes) <= set(known.scopes) and self._is_trusted(known):
                return await self._client(ctx, known)
        return None

    async def mark_unconfirmed(self, ctx: WorkspaceContext, issuer: str, client_id: str, *, is_doubted: bool) -> None:
        """From when somebody is sent there until they are back. Who tries again meanwhile goes as another client."""
        await ClientRegistrationRepository(self._store, ctx).doubt(issuer, client_id, is_doubted=is_doubted)

    async def forget(self, ctx: WorkspaceContext, issuer: str, client_id: str) -> None:
        """The authorization server does not know it any more: the next to connect is registered anew."""
        await ClientRegistrationRepository(self._store, ctx).forget(issuer, client_id)

    def _is_trusted(self, known: ClientRegistration) -> bool:
        ends = known.expires_at is not None and known.expires_at < self._clock.now() + MARGIN_SECONDS
        return not ends and not known.is_doubted

    async def _registered(self, ctx: WorkspaceContext, issuer: str, client_id: str) -> OAuthClient | None:
        """Also one whose secret has ended: whose grant it is learns that from the authorization server."""
        known = await ClientRegistrationRepository(self._store, ctx).now(issuer, client_id)
        return await self._client(ctx, known) if known else None

    async def _client(self, ctx: WorkspaceContext, known: ClientRegistration) -> OAuthClient:
        secret = await self._sealer.open(ctx, known.record, SECRET, known.sealed)
        return OAuthClient(known.id, known.auth, secret)

    async def keep(
        self,
        ctx: WorkspaceContext,
        issuer: str,
        client: OAuthClient,
        redirect_uri: str,
        scopes: tuple[str, ...],
        expires_at: float | None,
    ) -> None:
        secret = {SECRET: client.secret} if client.secret else {}
        sealed, guards = await self._sealer.seal(ctx, registration_of(issuer, client.id), secret)
        made = ClientRegistration(issuer, client.id, client.auth, redirect_uri, scopes, expires_at, sealed)
        await ClientRegistrationRepository(self._store, ctx).keep(made, *guards)
