"""The OAuth clients that Plugboard acts as: operators' apps, clients from a server's `config`, and registered ones."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from api.access.context import WorkspaceContext
from api.connections.client_repository import (
    ClientRegistration,
    ClientRegistrationRepository,
    ClientSecretUse,
    client_secret_use_key,
    registration_key,
)
from api.connections.encryption import TokenSealer
from api.connections.repository import OAuthClientRef
from api.kit.clock import Clock
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.store import Store
from api.servers.server import Server
from integrations import ClientAuth, OAuthClient

SECRET = "secret"  # noqa: S105  a field's name
FINGERPRINT = "mark"
MARGIN_SECONDS = 60.0
IN_USE_SECONDS = 24 * 3600.0
"""The time that a registration is kept after its use for a consent."""
WITH_SECRET: tuple[ClientAuth, ...] = ("client_secret_basic", "client_secret_post")


class ClientUnavailable(Exception):
    """The client that the grant was issued to is no longer configured or registered."""


@dataclass(frozen=True, slots=True)
class ConfiguredClient:
    """The client in a server's `config`."""

    id: str | None = None
    secret: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] | None = None

    @property
    def fingerprint(self) -> str:
        """Identifies the secret. It is stored encrypted, like the secret."""
        return hashlib.sha256(f"{self.id} {self.secret}".encode()).hexdigest()

    def client(self, accepted: Sequence[ClientAuth]) -> OAuthClient:
        return OAuthClient(self.id or "", self._auth(accepted), self.secret, self.private_key)

    def _auth(self, accepted: Sequence[ClientAuth]) -> ClientAuth:
        if self.private_key:
            return "private_key_jwt"
        if not self.secret:
            return "none"
        return next((method for method in accepted if method in WITH_SECRET), WITH_SECRET[0])


class OAuthClients:
    def __init__(self, store: Store, sealer: TokenSealer, apps: Mapping[str, OAuthClient], clock: Clock) -> None:
        self._store = store
        self._sealer = sealer
        self._apps = apps
        self._clock = clock

    def app(self, service_type: str) -> OAuthClient | None:
        return self._apps.get(service_type)

    async def load(self, ctx: WorkspaceContext, server: Server, ref: OAuthClientRef, issuer: str) -> OAuthClient:
        """The client that a grant was issued to, with its current secret."""
        match ref.kind:
            case "service":
                client = self.app(server.service_type)
            case "given":
                client = (await self.configured(ctx, server)).client([ref.auth])
            case "registered":
                client = await self._load_registered(ctx, issuer, ref.id)
            case "document":
                client = OAuthClient(ref.id, "none")
        if client is None or client.id != ref.id:
            raise ClientUnavailable
        return client

    async def configured(self, ctx: WorkspaceContext, server: Server) -> ConfiguredClient:
        scope = await self._sealer.config(ctx, server, "scope")
        return ConfiguredClient(
            await self._sealer.config(ctx, server, "clientId"),
            await self._sealer.config(ctx, server, "clientSecret"),
            await self._sealer.config(ctx, server, "privateKey"),
            tuple(scope.split()) if scope else None,
        )

    async def may_send_secret_to(
        self, ctx: WorkspaceContext, server: Server, configured: ConfiguredClient, issuer: str
    ) -> bool:
        """A configured secret belongs to the first issuer that it was used with. Even if the server names another
        issuer later, the secret is not sent there. Entering another secret starts again."""
        return configured.secret is None or await retry_on_conflict(
            lambda: self._belongs_to(ctx, server, configured, issuer)
        )

    async def _belongs_to(
        self, ctx: WorkspaceContext, server: Server, configured: ConfiguredClient, issuer: str
    ) -> bool:
        uses = ClientRegistrationRepository(self._store, ctx)
        use, fingerprint = await uses.secret_use(server.id), configured.fingerprint
        if use:
            stored = await self._sealer.open(ctx, use.key, FINGERPRINT, use.sealed)
            if stored and hmac.compare_digest(stored, fingerprint):
                return use.issuer == issuer
        sealed, guards = await self._sealer.seal(ctx, client_secret_use_key(server.id), {FINGERPRINT: fingerprint})
        first = ClientSecretUse(server.id, issuer, sealed)
        await uses.save_secret_use(replace(use, issuer=issuer, sealed=sealed) if use else first, *guards)
        return True

    async def registered(
        self, ctx: WorkspaceContext, issuer: str, redirect_uri: str, scopes: Sequence[str]
    ) -> OAuthClient | None:
        """An existing registration with the redirect URI and at least the scopes."""
        registrations = ClientRegistrationRepository(self._store, ctx)
        for registration in await registrations.list_by_issuer(issuer):
            is_suitable = registration.redirect_uri == redirect_uri and set(scopes) <= set(registration.scopes)
            if not is_suitable or not self._is_trusted(registration):
                continue
            if await registrations.mark_in_use(registration, self._in_use_until()):
                return await self._client(ctx, registration)
        return None

    async def register(
        self,
        ctx: WorkspaceContext,
        issuer: str,
        client: OAuthClient,
        redirect_uri: str,
        scopes: tuple[str, ...],
        expires_at: float | None,
    ) -> None:
        secret = {SECRET: client.secret} if client.secret else {}
        sealed, guards = await self._sealer.seal(ctx, registration_key(issuer, client.id), secret)
        registration = ClientRegistration(issuer, client.id, client.auth, redirect_uri, scopes, expires_at, sealed)
        await ClientRegistrationRepository(self._store, ctx).save(registration, self._in_use_until(), *guards)

    async def mark_doubted(self, ctx: WorkspaceContext, issuer: str, client_id: str, *, is_doubted: bool) -> None:
        """Mark a registration as doubted while the browser is at the authorization server. Attempts in between use
        another client."""
        await ClientRegistrationRepository(self._store, ctx).mark_doubted(issuer, client_id, is_doubted=is_doubted)

    async def forget(self, ctx: WorkspaceContext, issuer: str, client_id: str) -> None:
        """The authorization server has deleted the registration: the next connection registers a new client."""
        await ClientRegistrationRepository(self._store, ctx).delete(issuer, client_id)

    def _in_use_until(self) -> int:
        return int(self._clock.now() + IN_USE_SECONDS)

    def _is_trusted(self, registration: ClientRegistration) -> bool:
        expires_at = registration.expires_at
        is_expiring = expires_at is not None and expires_at < self._clock.now() + MARGIN_SECONDS
        return not is_expiring and not registration.is_doubted

    async def _load_registered(self, ctx: WorkspaceContext, issuer: str, client_id: str) -> OAuthClient | None:
        """A registered client, even with an expired secret, which the authorization server will report."""
        registration = await ClientRegistrationRepository(self._store, ctx).get(issuer, client_id)
        return await self._client(ctx, registration) if registration else None

    async def _client(self, ctx: WorkspaceContext, registration: ClientRegistration) -> OAuthClient:
        secret = await self._sealer.open(ctx, registration.key, SECRET, registration.sealed)
        return OAuthClient(registration.id, registration.auth, secret)
