"""The stored names of the tools that each server listed last, for every process and without a request."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from api.access.context import WorkspaceContext
from api.kit.storage.store import Always, Conflict, Key, Put, Store, StoreUnavailable
from api.servers.records import ServerRecords
from api.servers.server import Server

PREFIX = "TOOLNAMES#"
MAX_BYTES = 64_000
"""Of the names of one server. Those of a longer list are not kept."""


def tool_names_key(server_id: str) -> str:
    """Attached to the server, and deleted with it."""
    return f"{PREFIX}{server_id}"


class ToolNameRepository:
    """The tool names of a workspace's servers. A record is valid for one URL of a server."""

    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._store = store
        self._servers = ServerRecords(store, ctx)
        self._partition = ctx.partition

    async def get_many(self, servers: Collection[Server]) -> Mapping[str, Sequence[str]]:
        """By server id; servers whose list is not known are left out."""
        items = await self._store.get_many([self._key(server.id) for server in servers]) if servers else {}
        found = ((server, items.get(self._key(server.id))) for server in servers)
        return {
            server.id: item.data["names"]
            for server, item in found
            if item and item.data["url"] == server.url and item.data["names"] is not None
        }

    async def keep(self, server: Server, names: Sequence[str]) -> bool:
        """Store the names if they have changed and the server has not; whether it did. If not, the next list does."""
        data = {"url": server.url, "names": list(names) if _is_short(names) else None}
        try:
            item = await self._store.get(self._key(server.id))
            if item and item.data == data:
                return False
            await self._store.write(Put(self._key(server.id), data, Always()), self._servers.unchanged(server))
        except (Conflict, StoreUnavailable):
            return False
        return True

    def _key(self, server_id: str) -> Key:
        return Key(self._partition, tool_names_key(server_id))


def _is_short(names: Sequence[str]) -> bool:
    return sum(len(name.encode()) for name in names) <= MAX_BYTES
