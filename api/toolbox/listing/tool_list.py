"""Which tools has an agent right now, in the form that its client takes, and which of its servers have none to give?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

import msgspec

from api.access.context import WorkspaceContext
from api.servers.server import EXTERNAL, Server
from api.toolbox.agent_toolbox import EnabledServer, Toolbox
from api.toolbox.calling.tool_caller import GENERIC_SCHEMA
from api.toolbox.failures import generic_description
from api.toolbox.listing.caches import Format, RenderedList
from api.toolbox.listing.client_formats import as_anthropic, as_mcp, as_openai
from api.toolbox.listing.server_tools import ServerTools, ToolsUnavailable
from api.toolbox.runtime import ToolRuntime
from api.toolbox.tool_names import generic_name
from api.toolbox.toolsets.catalog import Tool, ToolCatalog

LIST_SECONDS = 10.0


SHOW: dict[Format, Callable[[Tool], dict[str, Any]]] = {
    Format.MCP: as_mcp,
    Format.OPENAI: as_openai,
    Format.ANTHROPIC: as_anthropic,
}


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A server of the agent whose tools are not in the list, and why."""

    server_id: str
    name: str
    reason: str
    detail: str


Found = ToolCatalog | ToolsUnavailable
"""What was learned of one server."""
DISABLED = ToolsUnavailable("disabled", "The server is disabled. Enable it to use its tools.")
NOTHING = ToolsUnavailable("", "")  # only its generic tool is shown, which needs no list
ASK = ToolsUnavailable("", "")
LASTING = (DISABLED, NOTHING)


class Listing:
    def __init__(self, ctx: WorkspaceContext, works: ToolRuntime) -> None:
        self._sources = ServerTools(ctx, works)
        self._works = works

    async def of(self, toolbox: Toolbox, form: Format) -> bytes:
        """As JSON. What was put together for the same servers and lists is not put together again."""
        lists, changes = self._works.lists, self._works.toolsets.changes.number
        known = lists.at_once(toolbox, form, changes, self._works.clock.monotonic())
        if known is not None:
            return known
        found = await self._all(toolbox)
        made = lists.get(toolbox, form, found) or _encoded(toolbox, form, found)
        lists.remember(form, RenderedList(toolbox, found, made, changes, _holds_until(found)))
        return made

    async def _all(self, toolbox: Toolbox) -> list[Found]:
        """What is remembered at once; the rest is asked for together."""
        known = [self._known(share) for share in toolbox.servers]
        asked = [share for share, each in zip(toolbox.servers, known, strict=True) if each is ASK]
        if not asked:
            return known
        answers = iter(await asyncio.gather(*(self._sources.tools(share.server, LIST_SECONDS) for share in asked)))
        return [next(answers) if each is ASK else each for each in known]

    def _known(self, share: EnabledServer) -> Found:
        if not share.server.enabled:
            return DISABLED
        if share.server.service_type == EXTERNAL and not share.has_tools:
            return NOTHING
        return self._sources.known(share.server) or ASK


def _holds_until(found: Sequence[Found]) -> float:
    """A server that could not be asked may be there the next moment."""
    ends = [each.holds_until if isinstance(each, ToolCatalog) else -inf for each in found if each not in LASTING]
    return min(ends, default=inf)


def tools_of(server: Server, found: ToolCatalog, allows: Callable[[str], bool]) -> list[Tool]:
    aliases = found.by_alias(server.slug)
    names = {tool.name: alias for alias, tool in aliases.items()}
    shown = [tool for tool in found.tools if tool.name in names and allows(tool.name)]
    return [tool.shown(names[tool.name], server.id, server.slug) for tool in shown]


def generic_tool(server: Server) -> Tool:
    return Tool(generic_name(server.id), None, generic_description(server.name), GENERIC_SCHEMA, None, server.id, "")


def _encoded(toolbox: Toolbox, form: Format, found: Sequence[Found]) -> bytes:
    tools, unavailable = list[Tool](), list[Unavailable]()
    for share, each in zip(toolbox.servers, found, strict=True):
        if share.has_generic and share.server.enabled:
            tools.append(generic_tool(share.server))
        if isinstance(each, ToolCatalog):
            tools += tools_of(share.server, each, share.allows)
        elif each is not NOTHING:
            unavailable.append(Unavailable(share.server.id, share.server.name, each.reason, each.detail))
    shown = [SHOW[form](tool) for tool in tools]
    told = [{"serverId": each.server_id, **_rest(each)} for each in unavailable]
    return msgspec.json.encode({"tools": shown, "unavailable": told})


def _rest(each: Unavailable) -> dict[str, str]:
    rest = asdict(each)
    del rest["server_id"]
    return rest
