"""The stored protocol of each server, so that processes need not detect it again."""

from __future__ import annotations

from dataclasses import replace

from api.access.context import WorkspaceContext
from api.kit.storage.store import Always, Conflict, Key, Put, Store, StoreUnavailable
from api.servers.records import ServerRecords
from api.servers.server import Server
from integrations import Era


def protocol_key(server_id: str) -> str:
    """Attached to the server, and deleted with it."""
    return f"PROTOCOL#{server_id}"


class ProtocolRepository:
    """The protocols of a workspace's servers. A record is valid for one version of a server."""

    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._store = store
        self._servers = ServerRecords(store, ctx)
        self._partition = ctx.partition

    async def get(self, server: Server) -> Era | None:
        item = await self._store.get(self._key(server))
        if item is None or item.data.get("server") != server.version:
            return None
        return Era.from_dict(item.data["era"])

    async def keep(self, server: Server, era: Era) -> None:
        """Store the era if the server is unchanged. If that fails, the era will be detected again."""
        plain = replace(era, server={})  # the server's own description may contain anything
        try:
            await self._store.write(
                Put(self._key(server), {"server": server.version, "era": plain.to_dict()}, Always()),
                self._servers.unchanged(server),
            )
        except (Conflict, StoreUnavailable):
            return

    def _key(self, server: Server) -> Key:
        return Key(self._partition, protocol_key(server.id))
