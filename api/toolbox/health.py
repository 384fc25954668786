"""The check of one server, without caches. Its outcome does not count for the circuit breaker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from api.access.context import WorkspaceContext
from api.kit.deadline import Deadline
from api.kit.redaction import NO_SECRETS
from api.servers.server import Server
from api.toolbox.calling.bulkheads import LimitReached
from api.toolbox.calling.circuit_breakers import BreakerHealth
from api.toolbox.failure_log import FailureLog
from api.toolbox.failures import ToolsUnavailable
from api.toolbox.runtime import ToolRuntime
from api.toolbox.toolsets.server_kind import ServerReport
from api.toolbox.unavailable_reason import UnavailableReason

Status = Literal["ok", "unauthorized", "unreachable", "invalid"]

# The coarse status for each reason.
STATUS: dict[UnavailableReason, Status] = {
    UnavailableReason.NOT_CONNECTED: "unauthorized",
    UnavailableReason.RECONNECT_REQUIRED: "unauthorized",
    UnavailableReason.UNAUTHORIZED: "unauthorized",
    UnavailableReason.INVALID: "invalid",
}


@dataclass(frozen=True, slots=True)
class ServerHealth:
    status: Status
    detail: str
    breaker: BreakerHealth
    protocol: str | None = None
    server_info: Mapping[str, str] = field(default_factory=dict)
    tool_count: int | None = None


async def check_server(ctx: WorkspaceContext, runtime: ToolRuntime, server: Server) -> ServerHealth:
    breaker = runtime.health(ctx.workspace_id, server)
    deadline = Deadline(runtime.ticker, server.timeout_seconds)
    try:
        with runtime.bulkheads.enter(ctx.workspace_id, server.id):
            report = await runtime.toolsets.kind_of(server).check(ctx, server, deadline)
    except ToolsUnavailable as missing:
        FailureLog(ctx, server.id).check_failed(missing, NO_SECRETS)
        return ServerHealth(STATUS.get(missing.reason, "unreachable"), missing.detail, breaker)
    except LimitReached as limit:
        return ServerHealth("unreachable", str(limit), breaker)
    return ServerHealth("ok", _detail(report), breaker, report.protocol, report.server_info, report.tool_count)


def _detail(report: ServerReport) -> str:
    if report.left_out:
        return f"{report.left_out} of its tools are left out: they have no usable name or description."
    return "It answers."
