"""Stores the names of the tools that servers list, when they have changed, and not too often."""

from __future__ import annotations

from api.access.context import WorkspaceContext
from api.kit.cache.lru import LruCache
from api.kit.clock import Clock
from api.kit.storage.store import Store
from api.servers.server import Server
from api.toolbox.tool_name_repository import ToolNameRepository
from api.toolbox.toolsets.tool_catalog import ToolCatalog

PAUSE_SECONDS = 5.0
"""Between two writes of one server's names: a list may be another one each time."""
MAX_SERVERS = 10_000


class ListedNamesWriter:
    """Costs a list that was fetched one read of the store, and one write if it has changed."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._written_at: LruCache[tuple[str, str], float] = LruCache(MAX_SERVERS)

    async def keep(self, ctx: WorkspaceContext, server: Server, tools: ToolCatalog) -> None:
        key, now = (ctx.workspace_id, server.id), self._clock.monotonic()
        written_at = self._written_at.get(key)
        if written_at is not None and now - written_at < PAUSE_SECONDS:
            return
        if await ToolNameRepository(self._store, ctx).keep(server, list(tools.by_name)):
            self._written_at.put(key, now)
