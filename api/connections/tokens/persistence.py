"""Storing of refreshed tokens, retried until it succeeds."""

from __future__ import annotations

import logging
import math
from dataclasses import replace

from api.access.context import WorkspaceContext
from api.connections.encryption import TokenSealer
from api.connections.repository import Grant, GrantRepository, ReceivedTokens
from api.connections.revocation.grant_end import GrantEnd
from api.connections.tokens.errors import SupersededGrant
from api.connections.tokens.policy import Pause, RefreshPolicy
from api.kit.clock import Clock
from api.kit.crypto.data_keys import NoDataKey
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.storage.store import Conflict, Store, StoreUnavailable
from api.servers.server import Server
from integrations import Tokens

log = logging.getLogger(__name__)


class TokenWriter:
    def __init__(
        self,
        store: Store,
        sealer: TokenSealer,
        clock: Clock,
        *,
        grant_end: GrantEnd,
        policy: RefreshPolicy,
        pause: Pause,
    ) -> None:
        self._store = store
        self._sealer = sealer
        self._clock = clock
        self._grant_end = grant_end
        self._policy = policy
        self._pause = pause
        self._give_up_at = math.inf

    async def save(self, ctx: WorkspaceContext, server: Server, grant: Grant, tokens: Tokens) -> Grant:
        """Retried without limit: the old tokens may be invalid, and the new ones exist only in this process."""
        received = ReceivedTokens(tokens, self._clock.now())
        current: Grant | None = grant
        wait = self._policy.poll_seconds
        while True:
            try:
                current = current or await self._reload(ctx, server, grant, tokens)
                return await self._store_tokens(ctx, server, current, received)
            except Conflict:
                current = None
            except (StoreUnavailable, RootKeyUnavailable):
                current = None
                await self._wait_before_retry(wait)
                wait = min(wait * 2, self._policy.longest_wait)
            except NoDataKey as error:  # the workspace was deleted
                await self._grant_end.discard_tokens(ctx, server, grant, tokens)
                raise SupersededGrant from error

    def finish(self) -> None:
        """Limit the time of retries from now on, because the process has to end."""
        self._give_up_at = self._clock.monotonic() + self._policy.give_up_seconds

    async def _store_tokens(
        self, ctx: WorkspaceContext, server: Server, grant: Grant, received: ReceivedTokens
    ) -> Grant:
        sealed, check = await self._sealer.seal_tokens(ctx, server, received.by_name)
        refreshed = replace(
            grant.without_lease(),
            sealed={**grant.sealed, **sealed},
            generation=grant.generation + 1,
            renewed_at=received.at,
            expires_at=received.expires_at,
            failures=0,
            retry_at=0.0,
            problem="",
        )
        return await GrantRepository(self._store, ctx).save(refreshed, check)

    async def _reload(self, ctx: WorkspaceContext, server: Server, grant: Grant, tokens: Tokens) -> Grant:
        """A rotation of the workspace's keys changes the record's version, but not its generation."""
        current = await GrantRepository(self._store, ctx).get(server.id)
        if current is not None and (current.id, current.generation, current.ended) == (
            grant.id,
            grant.generation,
            None,
        ):
            return current
        if current is None:
            log.warning("refreshed tokens arrived after the grant was deleted: revoking them")
            await self._grant_end.discard_tokens(ctx, server, grant, tokens)
        raise SupersededGrant  # an existing grant may contain these very tokens, so they are not revoked

    async def _wait_before_retry(self, seconds: float) -> None:
        if self._clock.monotonic() > self._give_up_at:
            log.critical("refreshed tokens could not be stored: the server has to be connected again")
            raise SupersededGrant
        log.warning("refreshed tokens are not stored yet: retrying")
        await self._pause(seconds)
