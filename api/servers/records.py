"""The stored servers of a workspace, for features whose own records depend on a server."""

from __future__ import annotations

from dataclasses import replace

from api.access.context import WorkspaceContext
from api.kit.storage.store import Change, Check, Store
from api.servers.repository import ServerRepository
from api.servers.server import Connection, Server


class ServerRecords:
    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._servers = ServerRepository(store, ctx)

    async def get(self, server_id: str) -> Server | None:
        """The server as it is stored now."""
        return await self._servers.get(server_id)

    def unchanged(self, server: Server) -> Check:
        """Refuses a write if the server was changed or deleted after it was read."""
        return self._servers.unchanged(server)

    def connection_changes(self, server: Server, connection: Connection | None) -> list[Change]:
        """Writes the server with this connection. Its new version makes readers open it again.

        None disconnects the server: no tokens are requested until it is connected again.
        """
        return self._next_version(server, replace(server, connection=connection, disconnected=connection is None))

    def client_connection_changes(self, server: Server) -> list[Change]:
        """Lets the client of the server request tokens again."""
        return self._next_version(server, replace(server, disconnected=False))

    def _next_version(self, old: Server, new: Server) -> list[Change]:
        return self._servers.replace(old, replace(new, version=old.version + 1))
