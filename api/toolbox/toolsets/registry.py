"""The toolsets that are open: one for each server in use, closed when idle, replaced when the server changes."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from api.access.context import WorkspaceContext
from api.kit.cache.memory import CacheMemory, OwnedCache
from api.kit.tasks import BackgroundTasks
from api.servers.server import EXTERNAL, Server
from api.toolbox.tool_name_repository import ToolNameRepository
from api.toolbox.toolsets.connected_services import ConnectedServices
from api.toolbox.toolsets.dependencies import ToolsetDeps
from api.toolbox.toolsets.mcp_servers import McpServers
from api.toolbox.toolsets.mcp_toolset import McpToolset
from api.toolbox.toolsets.server_kind import ServerKind
from api.toolbox.toolsets.tool_catalog import ListVersion, ToolCatalog
from api.toolbox.toolsets.toolset import Toolset
from integrations import UpstreamError

IDLE_SECONDS = 300.0
SWEEP_SECONDS = 30.0
SHUTDOWN_SECONDS = 3.0
"""When the process ends, no call is under way: only sessions are left to be closed."""
CLOSE_SECONDS = 40.0
"""Longer than a call may take: closing waits for those under way."""

Key = tuple[str, str]
"""A workspace and a server of it."""


@dataclass(slots=True)
class _Entry:
    toolset: Toolset
    server: Server
    used_at: float


class ToolsetRegistry:
    def __init__(self, deps: ToolsetDeps, memory: CacheMemory) -> None:
        self.list_version = ListVersion()
        self._mcp_servers = McpServers(deps, self.list_version, self.close_later, self._recount)
        self._services = ConnectedServices(deps)
        self._clock = deps.clock
        self._store = deps.store
        self._open: OwnedCache[Key, _Entry] = OwnedCache(memory, "toolsets", self._evicted)
        self._closing = BackgroundTasks()
        self._sweeper: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    def kind_of(self, server: Server) -> ServerKind:
        return self._mcp_servers if server.service_type == EXTERNAL else self._services

    def get_ready(self, ctx: WorkspaceContext, server: Server) -> Toolset | None:
        """One that is open, for this version of the server or a newer one."""
        key = (ctx.workspace_id, server.id)
        entry = self._open.get(key)
        if entry is None:
            return None
        if entry.server is not server and entry.server != server and entry.server.version <= server.version:
            self._drop(key)
            return None
        entry.used_at = self._clock.monotonic()
        return entry.toolset

    async def known_names(self, ctx: WorkspaceContext, servers: Collection[Server]) -> Mapping[str, Collection[str]]:
        """By server id, the tools' own names as far as they are known without a request. Opens and closes nothing."""
        catalogs = {server.id: self._known_tools(ctx, server) for server in servers}
        names = {server_id: tuple(catalog.by_name) for server_id, catalog in catalogs.items() if catalog}
        others = [server for server in servers if server.id not in names]
        return {**names, **await ToolNameRepository(self._store, ctx).get_many(others)}

    def _known_tools(self, ctx: WorkspaceContext, server: Server) -> ToolCatalog | None:
        entry = self._open.get((ctx.workspace_id, server.id))
        listed = entry.toolset.known_tools if entry and entry.server == server else None
        return listed or self.kind_of(server).fixed_tools(server)

    async def get(self, ctx: WorkspaceContext, server: Server) -> Toolset:
        return self.get_ready(ctx, server) or await self._add(ctx, server)

    def close_later(self, toolset: Toolset) -> None:
        self._closing.start(_close(toolset))

    def close_idle(self) -> None:
        before = self._clock.monotonic() - IDLE_SECONDS
        for key in [key for key, entry in self._open.items() if entry.used_at < before]:
            self._drop(key)

    async def close(self) -> None:
        if self._sweeper:
            self._sweeper.cancel()
        for key, _ in list(self._open.items()):
            self._drop(key)
        await self._closing.finish(SHUTDOWN_SECONDS)

    async def _add(self, ctx: WorkspaceContext, server: Server) -> Toolset:
        toolset = await self.kind_of(server).open(ctx, server)
        other = self.get_ready(ctx, server)  # another caller may have been faster
        if other is not None:
            self.close_later(toolset)
            return other
        entry = _Entry(toolset, server, self._clock.monotonic())
        self._open.put(ctx.partition, (ctx.workspace_id, server.id), entry, toolset.size)
        self._sweep()
        return toolset

    def _drop(self, key: Key) -> None:
        if (entry := self._open.pop(key)) is not None:
            self.close_later(entry.toolset)

    def _evicted(self, entry: _Entry) -> None:
        self.close_later(entry.toolset)

    def _recount(self, workspace_id: str, toolset: McpToolset) -> None:
        key = (workspace_id, toolset.server.id)
        entry = self._open.peek(key)
        if entry is not None and entry.toolset is toolset:
            self._open.resize(key, toolset.size)

    def _sweep(self) -> None:
        """Closes idle ones from time to time while any are open."""
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = asyncio.create_task(self._sweep_on())

    async def _sweep_on(self) -> None:
        while self._open:
            await asyncio.sleep(SWEEP_SECONDS)
            self.close_idle()


async def _close(toolset: Toolset) -> None:
    """Close a toolset in the background, where a failure has no consequence."""
    with suppress(UpstreamError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await toolset.close()
