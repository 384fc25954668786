"""Listing and calling end with their deadline, whatever the server does."""

from __future__ import annotations

from api.kit.deadline import Deadline
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from api.toolbox.toolsets.toolset import ToolCall, ToolsetWrapper


class DeadlineGuard(ToolsetWrapper):
    __slots__ = ()

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:
        with deadline.enforce():
            return await self._inner.list_tools(deadline, refresh=refresh)

    async def call(self, call: ToolCall) -> ToolResult:
        with call.deadline.enforce():
            return await self._inner.call(call)
