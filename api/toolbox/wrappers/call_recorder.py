"""Each call is in the audit trail and in the metrics, whatever becomes of it. What fails is in the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.access.context import WorkspaceContext
from api.audit.call_log import CallLog
from api.audit.events import Outcome, ToolCallRecord
from api.kit.clock import Clock
from api.kit.deadline import Deadline
from api.servers.server import Server
from api.toolbox.agent_toolbox import EnabledServer
from api.toolbox.failure_log import FailureLog
from api.toolbox.failures import ToolsUnavailable
from api.toolbox.metrics import ToolCallCollector
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.tool_names import GENERIC_PREFIX
from api.toolbox.toolsets.generic_tool import GENERIC_TOOL
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from api.toolbox.toolsets.toolset import ToolCall, ToolsetWrapper, UnknownTool


@dataclass(slots=True, eq=False)
class CallRecorder(ToolsetWrapper):
    _ctx: WorkspaceContext
    _share: EnabledServer
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
        started, outcome = self._clock.monotonic(), Outcome.ABANDONED
        try:
            result = await self._inner.call(call)
            outcome = outcome_of(result)
        except UnknownTool:
            outcome = Outcome.NOT_FOUND
            raise
        finally:
            seconds = self._clock.monotonic() - started
            self._metrics.record(self._share.server.service_type, outcome, seconds)
            self._log.add(self._record(call, outcome, seconds))
        if result.failure is not None:
            self._failure_log().call_failed(result.failure, self.redact, int(seconds * 1000))
        return result

    def _failure_log(self) -> FailureLog:
        return FailureLog(self._ctx, self._share.server.id, self._agent_id)

    def _record(self, call: ToolCall, outcome: str, seconds: float) -> ToolCallRecord:
        tool = call.recorded_name or recorded_name(self._share, call.name, call.arguments, self.known_tools)
        return call_record(self._ctx, self._share.server, call.agent_id, tool, outcome, self._clock.now(), seconds)


def call_record(
    ctx: WorkspaceContext, server: Server, agent_id: str, tool: str, outcome: str, at: float, seconds: float
) -> ToolCallRecord:
    principal = ctx.principal
    return ToolCallRecord(
        at,
        ctx.workspace_id,
        principal.id,
        principal.name,
        ctx.request_id,
        agent_id,
        server.id,
        server.name,
        tool,
        outcome,
        int(seconds * 1000),
        principal.kind,
        ctx.client_address,
    )


def recorded_name(
    share: EnabledServer, name: str, arguments: Mapping[str, Any], known_tools: ToolCatalog | None
) -> str:
    """The tool's own name, for a call that ended before the tool was found."""
    if name.startswith(GENERIC_PREFIX):
        return GENERIC_TOOL.parse(arguments).recorded_name or name
    slug = share.server.slug
    tool = known_tools.by_alias(slug).get(name) if known_tools else None
    return tool.name if tool else share.naming.own_name(slug, name)


def outcome_of(result: ToolResult) -> Outcome:
    if result.failure:
        return Outcome(result.failure.kind)
    return Outcome.TOOL_ERROR if result.is_error else Outcome.OK
