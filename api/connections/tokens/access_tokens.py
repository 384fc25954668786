"""Valid access tokens for servers. No refresh token is ever sent twice.

A process that refreshes takes a lease on the grant in the store. Until the lease ends no other process sends a token
request; the others wait and read again. A refresh is complete when it is stored: each is one generation of the grant.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from api.access.context import WorkspaceContext
from api.connections.encryption import TokenSealer
from api.connections.grant_secrets import GrantSecrets, present
from api.connections.repository import ACCESS, Grant, GrantRepository
from api.connections.revocation.grant_end import GrantEnd
from api.connections.tokens.active_grant import ActiveGrant
from api.connections.tokens.errors import (
    NotConnected,
    ReconnectRequired,
    RefreshFailed,
    SupersededGrant,
    TokenTemporarilyUnavailable,
)
from api.connections.tokens.persistence import TokenWriter
from api.connections.tokens.policy import Pause, RefreshPolicy
from api.connections.tokens.refresh import TokenRefresher
from api.kit.backoff import between
from api.kit.clock import Clock
from api.kit.storage.store import Conflict, Store, StoreUnavailable
from api.kit.tasks import SingleFlight
from api.servers.server import Server
from integrations import GrantRefused, GrantUnavailable

NOT_AVAILABLE = "The authorization server is not available right now."
DEFAULT_POLICY = RefreshPolicy()

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A valid access token."""

    token: str = field(repr=False)
    secrets: frozenset[str] = field(repr=False, compare=False)
    """All that the grant holds, which no response may repeat."""

    grant_id: str
    generation: int
    renew_at: float | None
    """Wall-clock time; None if the authorization server named no lifetime."""

    @property
    def origin(self) -> tuple[str, int]:
        """Each grant counts its own generations."""
        return self.grant_id, self.generation


@dataclass(frozen=True, slots=True)
class TokenKey:
    ctx: WorkspaceContext
    server: Server
    refused: AccessToken | None
    """The token that the upstream has rejected, whatever its stated lifetime."""

    @property
    def key(self) -> Hashable:
        """Callers with the same key share one task."""
        origin = self.refused.origin if self.refused else None
        return self.ctx.workspace_id, self.server.id, self.server.version, origin

    def is_refused(self, grant: Grant) -> bool:
        return self.refused is not None and self.refused.origin == (grant.id, grant.generation)


class AccessTokens:
    """The access tokens of all servers, for one process."""

    def __init__(
        self,
        store: Store,
        sealer: TokenSealer,
        clock: Clock,
        *,
        refresher: TokenRefresher,
        grant_end: GrantEnd,
        grant_secrets: GrantSecrets,
        policy: RefreshPolicy = DEFAULT_POLICY,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._store = store
        self._sealer = sealer
        self._clock = clock
        self._refresher = refresher
        self._grant_end = grant_end
        self._grant_secrets = grant_secrets
        self._active_grant = ActiveGrant(store, sealer, refresher)
        self._writer = TokenWriter(store, sealer, clock, grant_end=grant_end, policy=policy, pause=pause)
        self._policy = policy
        self._pause = pause
        self._loads: SingleFlight[Hashable, AccessToken] = SingleFlight()
        self._is_finishing = False

    async def get(self, ctx: WorkspaceContext, server: Server, *, refused: AccessToken | None = None) -> AccessToken:
        """Callers with the same request share one task, which continues if one of them is cancelled."""
        request = TokenKey(ctx, server, refused)
        return await self._loads.get(request.key, lambda: self._load(request))

    async def record_missing_scopes(self, ctx: WorkspaceContext, server: Server, scopes: Sequence[str]) -> bool:
        """Record scopes that a tool needs; True if connecting again can grant them."""
        return await self._grant_end.record_missing_scopes(ctx, server.id, scopes)

    async def finish(self) -> None:
        """Waits until received tokens are stored, since they would be lost. No further refresh begins."""
        self._is_finishing = True
        self._writer.finish()
        await self._loads.finish()

    async def _load(self, request: TokenKey) -> AccessToken:
        expired_owner = ""
        while True:
            try:
                grant = await self._active_grant.load(request.ctx, request.server)
                if not self._is_due(request, grant):
                    return await self._open(request, grant)
                if obstacle := self._obstacle(grant):
                    return await self._open_if_usable(request, grant, obstacle)
                if grant.lease.owner in ("", expired_owner):
                    return await self._refresh(request, grant)
                expired_owner = grant.lease.owner
                await self._pause(self._policy.grace)
            except SupersededGrant:
                await self._pause(self._policy.poll_seconds * between(0.5, 1.5))

    def _is_due(self, request: TokenKey, grant: Grant) -> bool:
        """A token without a stated lifetime is refreshed when the upstream rejects it."""
        if ACCESS not in grant.sealed or request.is_refused(grant):
            return True
        renew_at = self._renew_at(grant)
        return renew_at is not None and self._clock.now() >= renew_at

    def _renew_at(self, grant: Grant) -> float | None:
        if grant.expires_at is None or not grant.can_be_renewed:
            return grant.expires_at
        lifetime = grant.expires_at - grant.renewed_at
        return grant.expires_at - min(self._policy.skew, lifetime * self._policy.skew_share)

    def _obstacle(self, grant: Grant) -> Exception | None:
        """The reason why this process must not send a token request now; None if it may."""
        now = self._clock.now()
        if grant.must_back_off(now, self._policy.longest_backoff_period):
            return TokenTemporarilyUnavailable(
                grant.problem or NOT_AVAILABLE, grant.retry_at - now, is_lasting=bool(grant.problem)
            )
        if self._is_finishing:
            return TokenTemporarilyUnavailable(NOT_AVAILABLE)
        return SupersededGrant() if grant.is_leased(now, self._policy.longest_lease) else None

    async def _open_if_usable(self, request: TokenKey, grant: Grant, obstacle: Exception) -> AccessToken:
        """Refreshes begin before the token expires, so the old token may still be valid."""
        if self._is_usable(request, grant):
            return await self._open(request, grant)
        raise obstacle

    def _is_usable(self, request: TokenKey, grant: Grant) -> bool:
        if ACCESS not in grant.sealed or request.is_refused(grant):
            return False
        return grant.expires_at is None or self._clock.now() < grant.expires_at - self._policy.usable

    async def _open(self, request: TokenKey, grant: Grant) -> AccessToken:
        token = await self._sealer.token(request.ctx, request.server, grant, ACCESS)
        if token is None:
            raise NotConnected
        return self._access_token(token, grant, await self._grant_secrets.of(request.ctx, request.server, grant))

    def _access_token(self, token: str, grant: Grant, secrets: frozenset[str]) -> AccessToken:
        return AccessToken(token, secrets, grant.id, grant.generation, self._renew_at(grant))

    async def _refresh(self, key: TokenKey, grant: Grant) -> AccessToken:
        """The request is complete before the lease is taken, because the lease has to last for the response."""
        ctx, server = key.ctx, await self._active_grant.current_server(key.ctx, key.server)
        try:
            request = await self._refresher.build_request(ctx, server, grant)
            grant = await self._lease(ctx, grant)
            tokens = await self._refresher.send(request)
        except GrantRefused as error:
            has_ended = await self._grant_end.mark_ended(ctx, server, grant, error.error)
            raise (ReconnectRequired if has_ended else SupersededGrant) from error
        except (GrantUnavailable, RefreshFailed) as error:
            return await self._open_if_usable(key, grant, await self._back_off(ctx, grant, error))
        except StoreUnavailable as error:
            return await self._open_if_usable(key, grant, error)
        refreshed = await self._writer.save(ctx, server, grant, tokens)
        held = present(tokens.access, tokens.refresh, request.refresh, request.client.secret)
        return self._access_token(tokens.access, refreshed, held)

    async def _lease(self, ctx: WorkspaceContext, grant: Grant) -> Grant:
        """Take the lease; release it at once if storing took so long that the response could arrive after its end."""
        until = self._clock.now() + self._policy.lease
        leased = await self._save(ctx, grant.with_lease(secrets.token_hex(8), until))
        if self._clock.now() + self._policy.answer > until:
            await self._save(ctx, leased.without_lease())
            raise SupersededGrant
        return leased

    async def _save(self, ctx: WorkspaceContext, grant: Grant) -> Grant:
        try:
            return await GrantRepository(self._store, ctx).save(grant)
        except Conflict as conflict:
            raise SupersededGrant from conflict

    async def _back_off(
        self, ctx: WorkspaceContext, grant: Grant, error: GrantUnavailable | RefreshFailed
    ) -> TokenTemporarilyUnavailable:
        """No process sends a token request for a while: exponential, or as long as `Retry-After` says."""
        retry_after = error.retry_after if isinstance(error, GrantUnavailable) else None
        wait = self._policy.wait_after(grant.failures, retry_after)
        problem = str(error) if isinstance(error, RefreshFailed) else ""
        retry_at = self._clock.now() + wait
        failed = replace(grant.without_lease(), failures=grant.failures + 1, retry_at=retry_at, problem=problem)
        try:
            await GrantRepository(self._store, ctx).save(failed)
        except (Conflict, StoreUnavailable):  # the lease expires anyway
            log.info("the failed token request was not recorded")
        return TokenTemporarilyUnavailable(problem or NOT_AVAILABLE, wait, is_lasting=bool(problem))
