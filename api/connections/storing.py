"""How do renewed tokens get into the store, whatever is in the way?"""

from __future__ import annotations

import logging
from dataclasses import replace

from api.access.context import WorkspaceContext
from api.connections.endings import Endings
from api.connections.repository import ACCESS, REFRESH, Grant, Grants
from api.connections.sealing import Sealer
from api.connections.timing import Pause, Timing
from api.kit.clock import Clock
from api.kit.store import Conflict, Store, StoreBusy
from api.servers.service import Server
from integrations import Tokens

log = logging.getLogger(__name__)


class Overtaken(Exception):
    """Somebody else has changed the grant meanwhile: theirs is what counts."""


class Storing:
    def __init__(
        self, store: Store, sealer: Sealer, endings: Endings, clock: Clock, timing: Timing, pause: Pause
    ) -> None:
        self._store = store
        self._sealer = sealer
        self._endings = endings
        self._clock = clock
        self._timing = timing
        self._pause = pause

    async def kept(self, ctx: WorkspaceContext, server: Server, grant: Grant, tokens: Tokens) -> Grant:
        """Tried until it is done: the old tokens may be spent, and the new ones are nowhere but here."""
        grants = Grants(self._store, ctx)
        until = self._clock.monotonic() + self._timing.give_up_seconds
        wait = self._timing.poll_seconds
        while True:
            try:
                return await self._keep(ctx, server, grants, grant, tokens)
            except Conflict:
                grant = await self._still_ours(ctx, server, grants, grant, tokens)
            except StoreBusy:
                if self._clock.monotonic() > until:
                    log.critical("renewed tokens could not be stored: somebody will have to connect again")
                    raise
                log.warning("renewed tokens are not stored yet")
                await self._pause(wait)
                wait = min(wait * 2, self._timing.longest_wait)

    async def _keep(self, ctx: WorkspaceContext, server: Server, grants: Grants, grant: Grant, tokens: Tokens) -> Grant:
        given = {ACCESS: tokens.access} | ({REFRESH: tokens.refresh} if tokens.refresh else {})
        sealed, check = await self._sealer.tokens_sealed(ctx, server, given)
        now = self._clock.now()
        new = replace(
            grant.released(),
            sealed={**grant.sealed, **sealed},
            generation=grant.generation + 1,
            renewed_at=now,
            expires_at=None if tokens.expires_in is None else now + tokens.expires_in,
            failures=0,
            retry_at=0.0,
        )
        return await grants.keep(new, check)

    async def _still_ours(
        self, ctx: WorkspaceContext, server: Server, grants: Grants, grant: Grant, tokens: Tokens
    ) -> Grant:
        """The workspace's keys may have been rotated, which changes the record and nothing else of it."""
        now = await self._now(grants, server.id)
        if now is not None and (now.id, now.generation, now.ended) == (grant.id, grant.generation, None):
            return now
        log.warning("renewed tokens came too late")
        if now is None or now.id != grant.id:  # otherwise they may be the very ones that are in use
            await self._endings.discarded(ctx, server, grant, tokens)
        raise Overtaken

    async def _now(self, grants: Grants, server_id: str) -> Grant | None:
        while True:
            try:
                return await grants.now(server_id)
            except StoreBusy:
                await self._pause(self._timing.poll_seconds)
