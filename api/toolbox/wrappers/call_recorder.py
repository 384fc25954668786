"""Each call is in the audit trail and in the metrics, whatever becomes of it."""

from __future__ import annotations

from api.access.context import WorkspaceContext
from api.audit.call_log import CallLog
from api.audit.events import ToolCallRecord
from api.kit.clock import Clock
from api.servers.server import Server
from api.toolbox.metrics import ToolCallCollector
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.toolset import ToolCall, Toolset, ToolsetWrapper, UnknownTool

ABANDONED, NOT_FOUND = "abandoned", "not_found"


class CallRecorder(ToolsetWrapper):
    __slots__ = ("_clock", "_ctx", "_log", "_metrics", "_server")

    def __init__(
        self,
        inner: Toolset,
        ctx: WorkspaceContext,
        server: Server,
        log: CallLog,
        metrics: ToolCallCollector,
        clock: Clock,
    ) -> None:
        super().__init__(inner)
        self._ctx = ctx
        self._server = server
        self._log = log
        self._metrics = metrics
        self._clock = clock

    async def call(self, call: ToolCall) -> ToolResult:
        started, outcome = self._clock.monotonic(), ABANDONED
        try:
            result = await self._inner.call(call)
            outcome = _outcome(result)
        except UnknownTool:
            outcome = NOT_FOUND
            raise
        finally:
            seconds = self._clock.monotonic() - started
            self._metrics.record(self._server.service_type, outcome, seconds)
            self._log.add(self._record(call, outcome, seconds))
        return result

    def _record(self, call: ToolCall, outcome: str, seconds: float) -> ToolCallRecord:
        ctx, server = self._ctx, self._server
        return ToolCallRecord(
            self._clock.now(),
            ctx.workspace_id,
            ctx.principal.id,
            ctx.principal.name,
            ctx.request_id,
            call.agent_id,
            server.id,
            server.name,
            call.recorded_name or call.name,
            outcome,
            int(seconds * 1000),
            ctx.principal.kind,
        )


def _outcome(result: ToolResult) -> str:
    if result.failure:
        return result.failure.kind.value
    return "tool_error" if result.is_error else "ok"
