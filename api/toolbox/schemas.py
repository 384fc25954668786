"""Tools, calls and checks as callers send and see them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from pydantic.json_schema import SkipJsonSchema

from api.http.models import RequestModel, ResponseModel
from api.servers.server import Server
from api.toolbox.health import ServerHealth
from api.toolbox.listing.client_formats import as_mcp
from api.toolbox.listing.server_tools import ToolsUnavailable
from api.toolbox.output.tool_result import FailureKind
from api.toolbox.toolsets.catalog import Tool

MAX_TOOL_NAME = 128
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TOOL_NAME)]
_LeftOut = SkipJsonSchema[None]
"""What is not there is left out: no null is ever answered."""


class CallDraft(RequestModel):
    """A call of a tool."""

    tool_name: Annotated[ToolName, Field(description="As the agent's tools are listed.")]
    args: dict[str, Any] = Field(default={}, description="What the tool's `inputSchema` asks for.")


class CallError(ResponseModel):
    """Which kind of failure it was."""

    kind: FailureKind
    retry_after: float | _LeftOut = Field(default=None, description="Seconds after which another try may do better.")


class CallView(ResponseModel):
    """What came of a call. A failure is an answer too: `isError` with a `text` that an agent can act on."""

    text: str = Field(description="All there is to read, for who takes nothing but text.")
    content: list[dict[str, Any]] = Field(description="The same as MCP content blocks.")
    structured_content: dict[str, Any] | _LeftOut = Field(default=None, description="Where the tool answers with data.")
    is_error: bool
    error: CallError | _LeftOut = Field(default=None, description="Where it was not the tool itself that failed.")


class UnavailableView(ResponseModel):
    """A server whose tools are not in the list."""

    server_id: str
    name: str
    reason: str = Field(
        description="`disabled`, `not_connected`, `reconnect_required`, `unauthorized`, `unreachable`, `timeout` or "
        "`invalid`."
    )
    detail: str


class ToolsView(ResponseModel):
    """Tools, and the servers that have none to show."""

    tools: list[dict[str, Any]]
    unavailable: list[UnavailableView]


class BreakerView(ResponseModel):
    """Whether calls go through just now."""

    state: Literal["closed", "open", "half_open"]
    failures: int = Field(description="In a row, in this process.")
    retry_after: int = Field(description="Seconds until a call is let through.")


class CheckView(ResponseModel):
    """How a server is."""

    status: Literal["ok", "unauthorized", "unreachable", "invalid"]
    protocol: Annotated[str | None, Field(description="How it speaks MCP, and which version.")]
    server_info: dict[str, str]
    tool_count: int | None
    detail: str
    breaker: BreakerView

    @classmethod
    def of(cls, found: ServerHealth) -> CheckView:
        health = found.health
        return cls(
            status=found.status,
            protocol=found.protocol,
            server_info=found.server_info,
            tool_count=found.tool_count,
            detail=found.detail,
            breaker=BreakerView(state=health.state, failures=health.failures, retry_after=health.retry_after),
        )


def server_tools(server: Server, found: list[Tool] | ToolsUnavailable) -> dict[str, Any]:
    """As `ToolsView`."""
    if isinstance(found, ToolsUnavailable):
        missing = {"serverId": server.id, "name": server.name, "reason": found.reason, "detail": found.detail}
        return {"tools": [], "unavailable": [missing]}
    return {"tools": [{**as_mcp(tool), "upstreamName": tool.upstream_name} for tool in found], "unavailable": []}
