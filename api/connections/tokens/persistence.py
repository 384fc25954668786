"""How do renewed tokens get into the store, whatever is in the way?"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace

from api.access.context import WorkspaceContext
from api.connections.encryption import TokenSealer
from api.connections.repository import ACCESS, REFRESH, Grant, GrantRepository
from api.connections.revocation.grant_end import GrantEnd
from api.connections.tokens.policy import Pause, RefreshPolicy
from api.kit.clock import Clock
from api.kit.crypto.data_keys import NoDataKey
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.storage.store import Conflict, Store, StoreUnavailable
from api.servers.service import Server
from integrations import Tokens

log = logging.getLogger(__name__)


class SupersededGrant(Exception):
    """Somebody else has changed the grant meanwhile: theirs is what counts."""


@dataclass(frozen=True, slots=True)
class ReceivedTokens:
    """Tokens, and when they were told: their life counts from there, however long it takes to store them."""

    tokens: Tokens
    at: float

    @property
    def by_name(self) -> dict[str, str]:
        """As they are kept. An answer without a refresh token leaves the one from before in use."""
        tokens = self.tokens
        return {ACCESS: tokens.access} | ({REFRESH: tokens.refresh} if tokens.refresh else {})

    @property
    def expires_at(self) -> float | None:
        life = self.tokens.expires_in
        return None if life is None else self.at + life


class TokenWriter:
    def __init__(
        self, store: Store, sealer: TokenSealer, endings: GrantEnd, clock: Clock, timing: RefreshPolicy, pause: Pause
    ) -> None:
        self._store = store
        self._sealer = sealer
        self._endings = endings
        self._clock = clock
        self._timing = timing
        self._pause = pause
        self._until = math.inf

    async def save(self, ctx: WorkspaceContext, server: Server, grant: Grant, tokens: Tokens) -> Grant:
        """Tried until it is done: the old tokens may be spent, and the new ones are nowhere but here."""
        came = ReceivedTokens(tokens, self._clock.now())
        read: Grant | None = grant
        wait = self._timing.poll_seconds
        while True:
            try:
                return await self._keep(ctx, server, read or await self._still_ours(ctx, server, grant, tokens), came)
            except Conflict:
                read = None
            except (StoreUnavailable, RootKeyUnavailable):
                read = None
                await self._again_later(wait)
                wait = min(wait * 2, self._timing.longest_wait)
            except NoDataKey as error:  # the workspace is gone
                await self._endings.discard_tokens(ctx, server, grant, tokens)
                raise SupersededGrant from error

    def finish(self) -> None:
        """From now on it is not tried for ever: the process has to end."""
        self._until = self._clock.monotonic() + self._timing.give_up_seconds

    async def _keep(self, ctx: WorkspaceContext, server: Server, grant: Grant, came: ReceivedTokens) -> Grant:
        sealed, check = await self._sealer.seal_tokens(ctx, server, came.by_name)
        new = replace(
            grant.released(),
            sealed={**grant.sealed, **sealed},
            generation=grant.generation + 1,
            renewed_at=came.at,
            expires_at=came.expires_at,
            failures=0,
            retry_at=0.0,
            problem="",
        )
        return await GrantRepository(self._store, ctx).keep(new, check)

    async def _still_ours(self, ctx: WorkspaceContext, server: Server, grant: Grant, tokens: Tokens) -> Grant:
        """The workspace's keys may have been rotated, which changes the record and nothing else of it."""
        now = await GrantRepository(self._store, ctx).now(server.id)
        if now is not None and (now.id, now.generation, now.ended) == (grant.id, grant.generation, None):
            return now
        if now is None:
            log.warning("renewed tokens came too late")
            await self._endings.discard_tokens(ctx, server, grant, tokens)
        raise SupersededGrant  # where there is a grant, these may be the very tokens that are in use

    async def _again_later(self, seconds: float) -> None:
        if self._clock.monotonic() > self._until:
            log.critical("renewed tokens could not be stored: somebody will have to connect again")
            raise SupersededGrant
        log.warning("renewed tokens are not stored yet")
        await self._pause(seconds)
