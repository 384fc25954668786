"""The grant that a server currently uses."""

from __future__ import annotations

from api.access.context import WorkspaceContext
from api.connections.encryption import TokenSealer
from api.connections.repository import Grant, GrantRepository
from api.connections.tokens.errors import (
    NotConnected,
    ReconnectRequired,
    RefreshFailed,
    SupersededGrant,
    TokenTemporarilyUnavailable,
)
from api.connections.tokens.refresh import TokenRefresher
from api.kit.storage.store import Conflict, Store
from api.servers.records import ServerRecords
from api.servers.server import Server


class ActiveGrant:
    def __init__(self, store: Store, sealer: TokenSealer, refresher: TokenRefresher) -> None:
        self._store = store
        self._sealer = sealer
        self._refresher = refresher

    async def load(self, ctx: WorkspaceContext, server: Server) -> Grant:
        """`server` may be outdated: meanwhile it may have been connected again or changed."""
        grant = await GrantRepository(self._store, ctx).get(server.id)
        if server.connects_by_client:
            return await self._client_grant(ctx, server, grant)
        if grant is None or not await self._belongs_to(ctx, server, grant):
            raise NotConnected
        if grant.ended:
            raise ReconnectRequired
        return grant

    async def current_server(self, ctx: WorkspaceContext, server: Server) -> Server:
        """The stored server, with its current client and the address that the caller expects."""
        current = await ServerRecords(self._store, ctx).get(server.id)
        if current is None or self._sealer.binding(current) != self._sealer.binding(server):
            raise NotConnected
        return current

    async def _belongs_to(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> bool:
        if server.connection and server.connection.grant_id == grant.id:
            return True
        connection = (await self.current_server(ctx, server)).connection
        return connection is not None and connection.grant_id == grant.id

    async def _client_grant(self, ctx: WorkspaceContext, server: Server, grant: Grant | None) -> Grant:
        if server.disconnected:
            raise NotConnected
        return grant or await self._create(ctx, server)

    async def _create(self, ctx: WorkspaceContext, server: Server) -> Grant:
        current = await self.current_server(ctx, server)
        if not (current.connects_by_client and current.is_connected):
            raise NotConnected
        try:
            grant = await self._refresher.client_credentials_grant(ctx, current)
            unchanged = ServerRecords(self._store, ctx).unchanged(current)
            return await GrantRepository(self._store, ctx).save(grant, unchanged)
        except RefreshFailed as error:
            raise TokenTemporarilyUnavailable(str(error)) from error
        except Conflict as conflict:
            raise SupersededGrant from conflict
