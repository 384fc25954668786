"""Which grant stands for a server now, and if none does, why not?"""

from __future__ import annotations

from api.access.context import WorkspaceContext
from api.connections.encryption import TokenSealer
from api.connections.repository import Grant, GrantRepository
from api.connections.tokens.persistence import SupersededGrant
from api.connections.tokens.refresh import RefreshFailed, TokenRefresher
from api.kit.storage.store import Conflict, Store
from api.servers.service import OAuthGrant, Server, get_server


class NotConnected(Exception):
    """Nobody has consented yet, or somebody has taken it back."""


class ReconnectRequired(Exception):
    """The grant has ended where it was given: somebody has to consent again."""


class TokenTemporarilyUnavailable(Exception):
    """New tokens cannot be got at the moment. The grant stands."""

    def __init__(self, text: str, retry_after: float | None = None, *, is_lasting: bool = False) -> None:
        """`is_lasting`: somebody has to put something right first."""
        super().__init__(text)
        self.text = text
        self.retry_after = retry_after
        self.is_lasting = is_lasting


class ActiveGrant:
    def __init__(self, store: Store, sealer: TokenSealer, renewal: TokenRefresher) -> None:
        self._store = store
        self._sealer = sealer
        self._renewal = renewal

    async def of(self, ctx: WorkspaceContext, server: Server) -> Grant:
        """`server` is as somebody has read it: by now it may be connected anew, or be another."""
        grant = await GrantRepository(self._store, ctx).now(server.id)
        if server.oauth_grant == OAuthGrant.CLIENT_CREDENTIALS:
            return grant or await self._begun(ctx, server)
        if grant is None or not await self._is_of(ctx, server, grant):
            raise NotConnected
        if grant.ended:
            raise ReconnectRequired
        return grant

    async def server(self, ctx: WorkspaceContext, server: Server) -> Server:
        """As it is now: whoever asks in its name has to ask as who it is by now, and for the same place."""
        now = await get_server(self._store, ctx, server.id)
        if now is None or self._sealer.place(now) != self._sealer.place(server):
            raise NotConnected
        return now

    async def _is_of(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> bool:
        if server.connection and server.connection.grant_id == grant.id:
            return True
        connection = (await self.server(ctx, server)).connection
        return connection is not None and connection.grant_id == grant.id

    async def _begun(self, ctx: WorkspaceContext, server: Server) -> Grant:
        now = await self.server(ctx, server)
        if now.oauth_grant != OAuthGrant.CLIENT_CREDENTIALS:
            raise NotConnected
        try:
            return await GrantRepository(self._store, ctx).begin(await self._renewal.begun(ctx, now), now)
        except RefreshFailed as error:
            raise TokenTemporarilyUnavailable(str(error)) from error
        except Conflict as conflict:
            raise SupersededGrant from conflict
