"""The tools of an agent's servers, and the servers whose tools are not available."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from api.kit.clock import Clock
from api.kit.deadline import Deadline
from api.kit.turns import Pieces
from api.servers.server import Server
from api.toolbox.agent_toolbox import EnabledServer, Toolbox
from api.toolbox.failures import DISABLED, ToolsUnavailable
from api.toolbox.toolsets.generic_tool import generic_tool
from api.toolbox.toolsets.tool_catalog import Tool, ToolCatalog
from api.toolbox.toolsets.toolset import Toolset
from api.toolbox.unavailable_reason import UnavailableReason


@dataclass(frozen=True, slots=True)
class UnavailableServer:
    """A server whose tools are not in the list, and why."""

    server_id: str
    name: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class ToolList:
    tools: Sequence[Tool]
    unavailable: Sequence[UnavailableServer]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class NoTools:
    """The reason why a server adds no tools to a list."""

    reason: str
    detail: str


Source = ToolCatalog | NoTools
"""The contribution of one server to a list."""
IS_DISABLED = NoTools(UnavailableReason.DISABLED, DISABLED)
NOT_EXPOSED = NoTools("", "")  # only its generic tool is shown, which needs no list
_PERMANENT = (IS_DISABLED, NOT_EXPOSED)


class SourceCollector:
    """Collects what the servers of a toolbox list: remembered lists at once, the others together."""

    def __init__(self, toolset_for: Callable[[EnabledServer], Toolset], clock: Clock) -> None:
        self._toolset_for = toolset_for
        self._clock = clock

    async def collect(self, toolbox: Toolbox, deadline: Deadline) -> list[Source]:
        cached = [self._cached_source(share) for share in toolbox.servers]
        if None not in cached:
            return [source for source in cached if source is not None]
        missing = [share for share, source in zip(toolbox.servers, cached, strict=True) if source is None]
        loaded = iter(await asyncio.gather(*(self.list_server(share, deadline) for share in missing)))
        return [source if source is not None else next(loaded) for source in cached]

    async def list_server(self, share: EnabledServer, deadline: Deadline, *, refresh: bool = False) -> Source:
        try:
            return await self._toolset_for(share).list_tools(deadline, refresh=refresh)
        except ToolsUnavailable as missing:
            return NoTools(missing.reason, missing.detail)

    def _cached_source(self, share: EnabledServer) -> Source | None:
        if not share.server.enabled:
            return IS_DISABLED
        if not share.has_tools:
            return NOT_EXPOSED
        tools = self._toolset_for(share).known_tools
        return tools if tools and tools.is_ready and tools.is_fresh(self._clock.monotonic()) else None


def fresh_until(sources: Sequence[Source]) -> float:
    """The end of the list's validity; none while a server is unavailable, because it may recover at any time."""
    ends = [
        source.fresh_until if isinstance(source, ToolCatalog) else -inf
        for source in sources
        if source not in _PERMANENT
    ]
    return min(ends, default=inf)


async def agent_list(toolbox: Toolbox, sources: Sequence[Source]) -> ToolList:
    tools, unavailable = list[Tool](), list[UnavailableServer]()
    for share, source in zip(toolbox.servers, sources, strict=True):
        if share.has_generic and share.server.enabled:
            tools.append(generic_tool(share.server))
        if source is NOT_EXPOSED:
            continue
        from_server = await server_list(share, source)
        tools += from_server.tools
        unavailable += from_server.unavailable
    return ToolList(tools, unavailable)


async def server_list(share: EnabledServer, source: Source) -> ToolList:
    server = share.server
    if isinstance(source, ToolCatalog):
        return ToolList(await _tools(server, source, share), [])
    return ToolList([], [UnavailableServer(server.id, server.name, source.reason, source.detail)])


async def _tools(server: Server, catalog: ToolCatalog, share: EnabledServer) -> list[Tool]:
    aliases = {tool.name: alias for alias, tool in catalog.by_alias(server.slug).items()}
    shown = [tool for tool in catalog.tools if tool.name in aliases and share.allows(tool.name)]
    presented, pieces = list[Tool](), Pieces()
    for tool in shown:
        presented.append(tool.present(aliases[tool.name], server.id, server.slug))
        await pieces.pause()
    return presented
