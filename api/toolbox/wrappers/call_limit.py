"""A call that has no room among those under way is refused before it costs anything."""

from __future__ import annotations

from api.toolbox.calling.bulkheads import Bulkheads, LimitReached
from api.toolbox.failures import limit_reached
from api.toolbox.output.results import failed
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.toolset import ToolCall, Toolset, ToolsetWrapper


class CallLimit(ToolsetWrapper):
    __slots__ = ("_bulkheads", "_server_id", "_workspace_id")

    def __init__(self, inner: Toolset, bulkheads: Bulkheads, workspace_id: str, server_id: str) -> None:
        super().__init__(inner)
        self._bulkheads = bulkheads
        self._workspace_id = workspace_id
        self._server_id = server_id

    async def call(self, call: ToolCall) -> ToolResult:
        try:
            with self._bulkheads.enter(self._workspace_id, self._server_id):
                return await self._inner.call(call)
        except LimitReached as limit:
            return failed(limit_reached(str(limit), limit.retry_after))
