"""A call that has no room among those under way is refused before it costs anything."""

from __future__ import annotations

from dataclasses import dataclass

from api.toolbox.calling.bulkheads import Bulkheads, LimitReached
from api.toolbox.failures import limit_reached
from api.toolbox.output.results import failed
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.toolset import ToolCall, ToolsetWrapper


@dataclass(slots=True, eq=False)
class CallLimit(ToolsetWrapper):
    _bulkheads: Bulkheads
    _workspace_id: str
    _server_id: str

    async def call(self, call: ToolCall) -> ToolResult:
        try:
            with self._bulkheads.enter(self._workspace_id, self._server_id):
                return await self._inner.call(call)
        except LimitReached as limit:
            return failed(limit_reached(str(limit), limit.retry_after))
