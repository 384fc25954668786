"""The stored names of the tools that each server listed last, for every process and without a request."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from api.access.context import WorkspaceContext
from api.kit.storage.store import Always, Conflict, Key, Put, Store, StoreUnavailable
from api.kit.turns import Pieces
from api.servers.records import ServerRecords
from api.servers.server import Server

PREFIX = "TOOLNAMES#"
SEPARATOR = "\n"
"""One text is read faster than thousands. No tool rule can contain a line end."""
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
        known, pieces = dict[str, Sequence[str]](), Pieces()
        for server in servers:
            item = items.get(self._key(server.id))
            if item and item.data["url"] == server.url and item.data["names"] is not None:
                text = item.data["names"]
                known[server.id] = text.split(SEPARATOR) if text else []
            await pieces.pause()
        return known

    async def keep(self, server: Server, names: Sequence[str]) -> bool:
        """Store the names if they have changed and the server has not; whether it did. If not, the next list does."""
        text = SEPARATOR.join(name for name in names if SEPARATOR not in name)
        data = {"url": server.url, "names": text if len(text.encode()) <= MAX_BYTES else None}
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
