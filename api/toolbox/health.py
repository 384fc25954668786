"""How is a server right now? It is asked as if nothing were known of it, and no answer is held against it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal

from api.access.context import WorkspaceContext
from api.servers.server import Server
from api.toolbox.calling.bulkheads import LimitReached
from api.toolbox.calling.circuit_breakers import BreakerHealth
from api.toolbox.failures import CredentialsUnavailable
from api.toolbox.listing.server_tools import ToolsUnavailable, unavailable_reason
from api.toolbox.output.sanitize import safe_line
from api.toolbox.runtime import ToolRuntime
from api.toolbox.toolsets.mcp import McpToolset
from integrations import UpstreamError

Status = Literal["ok", "unauthorized", "unreachable", "invalid"]

# What a reason comes to for who only wants to know whether it works.
STATUS: dict[str, Status] = {
    "not_connected": "unauthorized",
    "reconnect_required": "unauthorized",
    "unauthorized": "unauthorized",
    "invalid": "invalid",
}


@dataclass(frozen=True, slots=True)
class ServerHealth:
    status: Status
    detail: str
    health: BreakerHealth
    protocol: str | None = None
    server_info: dict[str, Any] = field(default_factory=dict)
    tool_count: int | None = None


async def check(ctx: WorkspaceContext, works: ToolRuntime, server: Server) -> ServerHealth:
    health = works.health(ctx.workspace_id, server)
    toolset: McpToolset | None = None
    try:
        with works.bulkheads.enter(ctx.workspace_id, server.id):
            async with asyncio.timeout(server.timeout_seconds):
                toolset = await works.toolsets.fresh(ctx, server)
                found = await toolset.tools()
    except (UpstreamError, TimeoutError, CredentialsUnavailable) as error:
        return failed(unavailable_reason(error, toolset, server), health)
    except LimitReached as full:
        return failed(ToolsUnavailable("unreachable", str(full)), health)
    finally:
        if toolset is not None:
            works.toolsets.close_later(toolset)
    era = toolset.era
    return ServerHealth(
        "ok",
        _left_out(found.left_out),
        health,
        f"{era.kind} {era.version or ''}".strip() if era else None,
        {name: safe_line(str(value), toolset.redact, 200) for name, value in (era.server if era else {}).items()},
        len(found.tools),
    )


def failed(missing: ToolsUnavailable, health: BreakerHealth) -> ServerHealth:
    return ServerHealth(STATUS.get(missing.reason, "unreachable"), missing.detail, health)


def _left_out(count: int) -> str:
    return f"{count} of its tools are left out: they have no usable name or description." if count else "It answers."
