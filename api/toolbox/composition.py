"""The wrappers around a server's toolset, in their order."""

from __future__ import annotations

from api.access.context import WorkspaceContext
from api.toolbox.agent_toolbox import EnabledServer
from api.toolbox.runtime import ToolRuntime
from api.toolbox.toolsets.on_demand import OnDemandToolset
from api.toolbox.toolsets.toolset import Toolset
from api.toolbox.wrappers.agent_names import AgentNames
from api.toolbox.wrappers.argument_check import ArgumentCheck
from api.toolbox.wrappers.breaker_guard import BreakerGuard
from api.toolbox.wrappers.call_limit import CallLimit
from api.toolbox.wrappers.call_recorder import CallRecorder
from api.toolbox.wrappers.deadline_guard import DeadlineGuard
from api.toolbox.wrappers.failure_translator import FailureTranslator


def toolset_for(ctx: WorkspaceContext, runtime: ToolRuntime, agent_id: str | None, share: EnabledServer) -> Toolset:
    """What an agent may use of one server, from the inside out: the last wrapper sees a call first."""
    server, clock = share.server, runtime.clock
    toolset: Toolset = OnDemandToolset(runtime.toolsets, ctx, server)
    toolset = ArgumentCheck(toolset, server, clock)
    toolset = AgentNames(toolset, share, clock)
    toolset = DeadlineGuard(toolset)
    toolset = FailureTranslator(toolset, server)
    toolset = BreakerGuard(toolset, lambda: runtime.breaker(ctx.workspace_id, server))
    toolset = CallLimit(toolset, runtime.bulkheads, ctx.workspace_id, server.id)
    toolset = CallRecorder(toolset, ctx, share, runtime.call_log, runtime.call_metrics, clock, agent_id)
    return runtime.toolsets.kind_of(server).with_known_list(toolset, server)
