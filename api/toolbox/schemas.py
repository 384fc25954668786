"""Tools, calls and checks as callers send and see them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from pydantic.json_schema import SkipJsonSchema

from api.http.models import RequestModel, ResponseModel
from api.toolbox.health import ServerHealth
from api.toolbox.output.tool_result import FailureKind

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
    def of(cls, health: ServerHealth) -> CheckView:
        breaker = health.breaker
        return cls(
            status=health.status,
            protocol=health.protocol,
            server_info=dict(health.server_info),
            tool_count=health.tool_count,
            detail=health.detail,
            breaker=BreakerView(state=breaker.state, failures=breaker.failures, retry_after=breaker.retry_after),
        )
