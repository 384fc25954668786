"""Tools are called by the names that the agent knows, and only those that it may use."""

from __future__ import annotations

from dataclasses import dataclass

from api.kit.clock import Clock
from api.kit.deadline import Deadline
from api.toolbox.agent_toolbox import EnabledServer
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.tool_names import GENERIC_PREFIX
from api.toolbox.toolsets.generic_tool import GENERIC_TOOL
from api.toolbox.toolsets.tool_catalog import CatalogTool, ToolCatalog
from api.toolbox.toolsets.toolset import ToolCall, ToolsetWrapper, UnknownTool

LOOK_AGAIN_SECONDS = 5.0
"""A name that is missing in a list of this age or younger is taken to be missing in a new one too."""


@dataclass(slots=True, eq=False)
class AgentNames(ToolsetWrapper):
    _share: EnabledServer
    _clock: Clock

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:
        """Ready to be shown."""
        return await (await self._inner.list_tools(deadline, refresh=refresh)).prepare()

    async def call(self, call: ToolCall) -> ToolResult:
        call.tool = GENERIC_TOOL if call.name.startswith(GENERIC_PREFIX) else await self._find(call)
        return await self._inner.call(call)

    async def _find(self, call: ToolCall) -> CatalogTool:
        tools = self._inner.known_tools or await self._inner.list_tools(call.deadline)
        tool = self._allowed(tools, call.name)
        if tool is not None:
            call.catalog = tools
        elif self._clock.monotonic() - tools.listed_at > LOOK_AGAIN_SECONDS:
            tool = self._allowed(await self._inner.list_tools(call.deadline, refresh=True), call.name)
        if tool is None:
            raise UnknownTool
        return tool

    def _allowed(self, tools: ToolCatalog, name: str) -> CatalogTool | None:
        tool = tools.by_alias(self._share.server.slug).get(name)
        return tool if tool is not None and self._share.allows(tool.name) else None
