"""Which access token is good now, and how does nobody ever spend the same refresh token twice?

Who wants to renew takes a lease on the grant, in the store, and is alone with the authorization server until it ends;
all others wait and read again. A renewal counts when it is stored: each is one generation of the grant.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from api.access.context import WorkspaceContext
from api.connections.dependencies import ConnectionDeps
from api.connections.encryption import TokenSealer
from api.connections.repository import ACCESS, Grant, GrantRepository
from api.connections.revocation.grant_end import GrantEnd
from api.connections.tokens.active_grant import (
    ActiveGrant,
    NotConnected,
    ReconnectRequired,
    TokenTemporarilyUnavailable,
)
from api.connections.tokens.persistence import SupersededGrant, TokenWriter
from api.connections.tokens.policy import Pause, RefreshPolicy
from api.connections.tokens.refresh import RefreshFailed, TokenRefresher
from api.kit.backoff import between
from api.kit.storage.store import Conflict, StoreUnavailable
from api.servers.service import Server
from integrations import GrantRefused, GrantUnavailable

NOT_AVAILABLE = "The authorization server is not available right now."
USUAL = RefreshPolicy()

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An access token that is good now."""

    token: str = field(repr=False)
    grant_id: str
    generation: int
    renew_at: float | None
    """By the clock on the wall; None where nobody has said that it ends."""

    @property
    def origin(self) -> tuple[str, int]:
        """What it came of. Each grant counts its generations anew."""
        return self.grant_id, self.generation


@dataclass(frozen=True, slots=True)
class TokenKey:
    ctx: WorkspaceContext
    server: Server
    refused: AccessToken | None
    """What the upstream did not take, whatever was said of its end."""

    @property
    def key(self) -> Hashable:
        """Who wants the same can wait together."""
        origin = self.refused.origin if self.refused else None
        return self.ctx.workspace_id, self.server.id, self.server.version, origin

    def is_refused(self, grant: Grant) -> bool:
        return self.refused is not None and self.refused.origin == (grant.id, grant.generation)


class AccessTokens:
    """One for each process."""

    def __init__(
        self,
        works: ConnectionDeps,
        sealer: TokenSealer,
        endings: GrantEnd,
        timing: RefreshPolicy = USUAL,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._store = works.store
        self._clock = works.clock
        self._sealer = sealer
        self._endings = endings
        self._renewal = TokenRefresher(works, sealer)
        self._standing = ActiveGrant(works.store, sealer, self._renewal)
        self._storing = TokenWriter(works.store, sealer, endings, works.clock, timing, pause)
        self._timing = timing
        self._pause = pause
        self._under_way: dict[Hashable, asyncio.Task[AccessToken]] = {}
        self._is_finishing = False

    async def get(self, ctx: WorkspaceContext, server: Server, *, refused: AccessToken | None = None) -> AccessToken:
        """One search at a time for all who want the same. Who stops waiting stops nobody else's."""
        wanted = TokenKey(ctx, server, refused)
        task = self._under_way.get(wanted.key)
        if task is None:
            task = self._under_way[wanted.key] = asyncio.create_task(self._found(wanted))
            task.add_done_callback(lambda _: self._under_way.pop(wanted.key))
            task.add_done_callback(_retrieved)
        return await asyncio.shield(task)

    async def record_missing_scopes(self, ctx: WorkspaceContext, server: Server, scopes: Sequence[str]) -> bool:
        """Whether somebody could grant what these tools need."""
        return await self._endings.record_missing_scopes(ctx, server.id, scopes)

    async def finish(self) -> None:
        """What is under way is stored first: a token that was not would be lost for good. No renewal is begun."""
        self._is_finishing = True
        self._storing.finish()
        while self._under_way:
            await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def _found(self, wanted: TokenKey) -> AccessToken:
        abandoned = ""
        while True:
            try:
                grant = await self._standing.of(wanted.ctx, wanted.server)
                if not self._is_due(wanted, grant):
                    return await self._opened(wanted, grant)
                if problem := self._has_to_wait(grant):
                    return await self._usable(wanted, grant, problem)
                if grant.lease.owner in ("", abandoned):
                    return await self._renewed(wanted, grant)
                abandoned = grant.lease.owner
                await self._pause(self._timing.grace)
            except SupersededGrant:
                await self._pause(self._timing.poll_seconds * between(0.5, 1.5))

    def _is_due(self, wanted: TokenKey, grant: Grant) -> bool:
        """Where nobody has said that it ends, the upstream's refusal is what tells."""
        if ACCESS not in grant.sealed or wanted.is_refused(grant):
            return True
        renew_at = self._renew_at(grant)
        return renew_at is not None and self._clock.now() >= renew_at

    def _renew_at(self, grant: Grant) -> float | None:
        if grant.expires_at is None or not grant.can_be_renewed:
            return grant.expires_at
        life = grant.expires_at - grant.renewed_at
        return grant.expires_at - min(self._timing.skew, life * self._timing.skew_share)

    def _has_to_wait(self, grant: Grant) -> Exception | None:
        now = self._clock.now()
        if grant.is_put_off(now, self._timing.longest_put_off):
            return TokenTemporarilyUnavailable(
                grant.problem or NOT_AVAILABLE, grant.retry_at - now, is_lasting=bool(grant.problem)
            )
        if self._is_finishing:
            return TokenTemporarilyUnavailable(NOT_AVAILABLE)
        return SupersededGrant() if grant.is_leased(now, self._timing.longest_lease) else None

    async def _usable(self, wanted: TokenKey, grant: Grant, problem: Exception) -> AccessToken:
        """The old token while it is good: a renewal was early."""
        if self._is_usable(wanted, grant):
            return await self._opened(wanted, grant)
        raise problem

    def _is_usable(self, wanted: TokenKey, grant: Grant) -> bool:
        if ACCESS not in grant.sealed or wanted.is_refused(grant):
            return False
        return grant.expires_at is None or self._clock.now() < grant.expires_at - self._timing.usable

    async def _opened(self, wanted: TokenKey, grant: Grant) -> AccessToken:
        token = await self._sealer.token(wanted.ctx, wanted.server, grant, ACCESS)
        if token is None:
            raise NotConnected
        return self._fresh(token, grant)

    def _fresh(self, token: str, grant: Grant) -> AccessToken:
        return AccessToken(token, grant.id, grant.generation, self._renew_at(grant))

    async def _renewed(self, wanted: TokenKey, grant: Grant) -> AccessToken:
        """All that is needed is at hand before the lease is taken: it has to last for the answer."""
        ctx, server = wanted.ctx, await self._standing.server(wanted.ctx, wanted.server)
        try:
            question = await self._renewal.build_request(ctx, server, grant)
            grant = await self._leased(ctx, grant)
            tokens = await self._renewal.send(question)
        except GrantRefused as error:
            over = await self._endings.mark_ended(ctx, server, grant, error.error)
            raise (ReconnectRequired if over else SupersededGrant) from error
        except (GrantUnavailable, RefreshFailed) as error:
            return await self._usable(wanted, grant, await self._put_off(ctx, grant, error))
        except StoreUnavailable as busy:
            return await self._usable(wanted, grant, busy)
        new = await self._storing.save(ctx, server, grant, tokens)
        return self._fresh(tokens.access, new)

    async def _leased(self, ctx: WorkspaceContext, grant: Grant) -> Grant:
        """From here on we are alone with the authorization server, if the store has not taken too long to say so."""
        until = self._clock.now() + self._timing.lease
        leased = await self._kept(ctx, grant.leased(secrets.token_hex(8), until))
        if self._clock.now() + self._timing.answer > until:
            await self._kept(ctx, leased.released())
            raise SupersededGrant
        return leased

    async def _kept(self, ctx: WorkspaceContext, grant: Grant) -> Grant:
        try:
            return await GrantRepository(self._store, ctx).keep(grant)
        except Conflict as conflict:
            raise SupersededGrant from conflict

    async def _put_off(
        self, ctx: WorkspaceContext, grant: Grant, error: GrantUnavailable | RefreshFailed
    ) -> TokenTemporarilyUnavailable:
        """For a while nobody asks again; longer each time, unless the server itself says how long."""
        told = error.retry_after if isinstance(error, GrantUnavailable) else None
        wait = self._timing.wait_after(grant.failures, told)
        problem = str(error) if isinstance(error, RefreshFailed) else ""
        retry_at = self._clock.now() + wait
        put_off = replace(grant.released(), failures=grant.failures + 1, retry_at=retry_at, problem=problem)
        try:
            await GrantRepository(self._store, ctx).keep(put_off)
        except (Conflict, StoreUnavailable):  # the lease will end by itself
            log.info("that tokens could not be renewed was not noted")
        return TokenTemporarilyUnavailable(problem or NOT_AVAILABLE, wait, is_lasting=bool(problem))


def _retrieved(task: asyncio.Task[AccessToken]) -> None:
    """Whoever waited may have left; then nobody asks what went wrong."""
    if not task.cancelled():
        task.exception()
