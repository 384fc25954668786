"""Which access token is good now, and how does nobody ever spend the same refresh token twice?

Who wants to renew takes a lease on the grant, in the store, and is alone with the authorization server until it ends;
all others wait and read again. A renewal counts when it is stored: each is one generation of the grant.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from api.access.context import WorkspaceContext
from api.connections.endings import Endings
from api.connections.renewal import Renewal, RenewalFailed
from api.connections.repository import ACCESS, Grant, Grants
from api.connections.sealing import Sealer
from api.connections.storing import Overtaken, Storing
from api.connections.timing import Pause, Timing
from api.connections.works import ConnectionWorks
from api.kit.store import Conflict, StoreBusy
from api.servers.service import OAuthGrant, Server
from integrations import GrantRefused, GrantUnavailable

NOT_AVAILABLE = "The authorization server is not available right now."
USUAL = Timing()

log = logging.getLogger(__name__)


class NotConnected(Exception):
    """Nobody has consented yet, or somebody has taken it back."""


class ReconnectRequired(Exception):
    """The grant has ended where it was given: somebody has to consent again."""


class NotNow(Exception):
    """New tokens cannot be got at the moment. The grant stands."""

    def __init__(self, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Fresh:
    """An access token that is good now."""

    token: str = field(repr=False)
    generation: int
    renew_at: float | None
    """By the clock on the wall; None where nobody has said that it ends."""


class TokenKeeper:
    """One for each process."""

    def __init__(
        self,
        works: ConnectionWorks,
        sealer: Sealer,
        endings: Endings,
        timing: Timing = USUAL,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._store = works.store
        self._clock = works.clock
        self._sealer = sealer
        self._endings = endings
        self._renewal = Renewal(works, sealer)
        self._storing = Storing(works.store, sealer, endings, works.clock, timing, pause)
        self._timing = timing
        self._pause = pause
        self._under_way: dict[tuple[str, str, int | None], asyncio.Task[Fresh]] = {}

    async def fresh(self, ctx: WorkspaceContext, server: Server, *, refused: int | None = None) -> Fresh:
        """`refused`: the generation that the upstream did not take, whatever was said of its end.

        One at a time for all who want it. Who stops waiting stops nobody else's.
        """
        key = (ctx.workspace_id, server.id, refused)
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._found(ctx, server, refused))
            task.add_done_callback(lambda _: self._under_way.pop(key))
            task.add_done_callback(_retrieved)
        return await asyncio.shield(task)

    async def lacks(self, ctx: WorkspaceContext, server: Server, scopes: Sequence[str]) -> bool:
        """Whether somebody could grant what these tools need."""
        return await self._endings.lacks(ctx, server.id, scopes)

    async def finish(self) -> None:
        """What is under way is stored first: a token that was not would be lost for good."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def _found(self, ctx: WorkspaceContext, server: Server, refused: int | None) -> Fresh:
        while True:
            grant = await self._grant(ctx, server)
            if not self._is_due(grant, refused):
                return await self._opened(ctx, server, grant)
            if grant.retry_at > self._clock.now():
                failed = NotNow(NOT_AVAILABLE, grant.retry_at - self._clock.now())
                return await self._usable(ctx, server, grant, refused, failed)
            try:
                return await self._renewed(ctx, server, grant, refused)
            except Overtaken:
                await self._pause(self._timing.poll_seconds * random.uniform(0.5, 1.5))  # noqa: S311  no secret

    async def _grant(self, ctx: WorkspaceContext, server: Server) -> Grant:
        grant = await Grants(self._store, ctx).now(server.id)
        if server.oauth_grant == OAuthGrant.CLIENT_CREDENTIALS:
            return grant or await self._begun(ctx, server)
        connection = server.connection
        if grant is None or connection is None or grant.id != connection.grant_id:
            raise NotConnected
        if grant.ended:
            raise ReconnectRequired
        return grant

    async def _begun(self, ctx: WorkspaceContext, server: Server) -> Grant:
        try:
            return await self._renewal.begun(ctx, server)
        except RenewalFailed as error:
            raise NotNow(str(error)) from error

    def _is_due(self, grant: Grant, refused: int | None) -> bool:
        """Where nobody has said that it ends, the upstream's refusal is what tells."""
        if ACCESS not in grant.sealed or refused == grant.generation:
            return True
        renew_at = self._renew_at(grant)
        return renew_at is not None and self._clock.now() >= renew_at

    def _renew_at(self, grant: Grant) -> float | None:
        if grant.expires_at is None or not grant.can_be_renewed:
            return grant.expires_at
        life = grant.expires_at - grant.renewed_at
        return grant.expires_at - min(self._timing.skew, life * self._timing.skew_share)

    def _is_usable(self, grant: Grant, refused: int | None) -> bool:
        if ACCESS not in grant.sealed or refused == grant.generation:
            return False
        return grant.expires_at is None or self._clock.now() < grant.expires_at - self._timing.usable

    async def _usable(
        self, ctx: WorkspaceContext, server: Server, grant: Grant, refused: int | None, error: Exception
    ) -> Fresh:
        """The old token while it is good: a renewal was early."""
        if self._is_usable(grant, refused):
            return await self._opened(ctx, server, grant)
        raise error

    async def _opened(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> Fresh:
        token = await self._sealer.token(ctx, server, grant, ACCESS)
        if token is None:
            raise NotConnected
        return Fresh(token, grant.generation, self._renew_at(grant))

    async def _renewed(self, ctx: WorkspaceContext, server: Server, grant: Grant, refused: int | None) -> Fresh:
        if grant.is_leased(self._clock.now()):
            return await self._usable(ctx, server, grant, refused, Overtaken())
        leased = await self._leased(ctx, grant)
        try:
            tokens = await self._renewal.asked(ctx, server, leased)
        except GrantRefused as error:
            await self._is_over(ctx, server, leased, error)
            raise ReconnectRequired from error
        except (GrantUnavailable, RenewalFailed) as error:
            failed = await self._put_off(ctx, leased, error)
            return await self._usable(ctx, server, leased, refused, failed)
        new = await self._storing.kept(ctx, server, leased, tokens)
        return Fresh(tokens.access, new.generation, self._renew_at(new))

    async def _leased(self, ctx: WorkspaceContext, grant: Grant) -> Grant:
        """From here on we are alone with the authorization server, for a while."""
        leased = grant.leased(secrets.token_hex(8), self._clock.now() + self._timing.lease)
        try:
            return await Grants(self._store, ctx).keep(leased)
        except Conflict as conflict:
            raise Overtaken from conflict

    async def _is_over(self, ctx: WorkspaceContext, server: Server, grant: Grant, error: GrantRefused) -> None:
        """Unless somebody else has renewed it after our lease had ended: then it stands, and is theirs."""
        now = await Grants(self._store, ctx).now(server.id)
        if now is None or now.id != grant.id or now.generation != grant.generation:
            raise Overtaken from error
        await self._endings.lost(ctx, server, now, error.error)

    async def _put_off(self, ctx: WorkspaceContext, grant: Grant, error: GrantUnavailable | RenewalFailed) -> NotNow:
        """For a while nobody asks again; longer each time, unless the server itself says how long."""
        told = error.retry_after if isinstance(error, GrantUnavailable) else None
        backoff = 2.0 ** min(grant.failures, 10) * random.uniform(0.8, 1.2)  # noqa: S311  no secret
        wait = min(backoff if told is None else told, self._timing.longest_backoff)
        put_off = replace(grant.released(), failures=grant.failures + 1, retry_at=self._clock.now() + wait)
        try:
            await Grants(self._store, ctx).keep(put_off)
        except (Conflict, StoreBusy):  # the lease will end by itself
            log.info("that tokens could not be renewed was not noted")
        return NotNow(str(error) if isinstance(error, RenewalFailed) else NOT_AVAILABLE, wait)


def _retrieved(task: asyncio.Task[Fresh]) -> None:
    """Whoever waited may have left; then nobody asks what went wrong."""
    if not task.cancelled():
        task.exception()
