"""Each call is in the audit trail and in the metrics, whatever becomes of it. What fails is in the log."""

from __future__ import annotations

from dataclasses import dataclass

from api.access.context import WorkspaceContext
from api.audit.call_log import CallLog
from api.audit.events import ToolCallRecord
from api.kit.clock import Clock
from api.kit.deadline import Deadline
from api.servers.server import Server
from api.toolbox.failure_log import FailureLog
from api.toolbox.failures import ToolsUnavailable
from api.toolbox.metrics import ToolCallCollector
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from api.toolbox.toolsets.toolset import ToolCall, ToolsetWrapper, UnknownTool

ABANDONED, NOT_FOUND = "abandoned", "not_found"


@dataclass(slots=True, eq=False)
class CallRecorder(ToolsetWrapper):
    _ctx: WorkspaceContext
    _server: Server
    _log: CallLog
    _metrics: ToolCallCollector
    _clock: Clock
    _agent_id: str | None

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:
        try:
            return await self._inner.list_tools(deadline, refresh=refresh)
        except ToolsUnavailable as missing:
            self._failure_log().list_failed(missing, self.redact)
            raise

    async def call(self, call: ToolCall) -> ToolResult:
        started, outcome = self._clock.monotonic(), ABANDONED
        try:
            result = await self._inner.call(call)
            outcome = outcome_of(result)
        except UnknownTool:
            outcome = NOT_FOUND
            raise
        finally:
            seconds = self._clock.monotonic() - started
            self._metrics.record(self._server.service_type, outcome, seconds)
            self._log.add(self._record(call, outcome, seconds))
        if result.failure is not None:
            self._failure_log().call_failed(result.failure, self.redact, int(seconds * 1000))
        return result

    def _failure_log(self) -> FailureLog:
        return FailureLog(self._ctx, self._server.id, self._agent_id)

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


def outcome_of(result: ToolResult) -> str:
    if result.failure:
        return result.failure.kind.value
    return "tool_error" if result.is_error else "ok"
