"""Requests and responses of the routes for tools, calls and checks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from pydantic.json_schema import SkipJsonSchema

from api.http.models import RequestModel, ResponseModel
from api.toolbox.health import ServerHealth
from api.toolbox.output.tool_result import FailureKind
from api.toolbox.unavailable_reason import UnavailableReason

MAX_TOOL_NAME = 128
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TOOL_NAME)]
_LeftOut = SkipJsonSchema[None]
"""Missing values are omitted: no response contains a null."""


class CallDraft(RequestModel):
    """A tool call."""

    slips = {  # noqa: RUF012  a class variable of the model
        "arguments": "Use `args`.",
        "input": "Use `args`.",
        "name": "Use `toolName`.",
        "tool": "Use `toolName`.",
        "args": "If you have it as text, send the object itself, without quotes around it.",
    }
    tool_name: Annotated[ToolName, Field(description="The tool's name in the agent's list.")]
    args: dict[str, Any] = Field(default={}, description="Arguments that match the tool's `inputSchema`.")


class CallError(ResponseModel):
    """The kind of a failure."""

    kind: FailureKind = Field(description="For programs.")
    retry_after: float | _LeftOut = Field(default=None, description="Seconds after which a retry may succeed.")


class CallView(ResponseModel):
    """The result of a call. A failure is a result too: `isError` with a `text` that an agent can act on."""

    text: str = Field(description="The whole result as text, for clients that take only text.")
    content: list[dict[str, Any]] = Field(description="The result as MCP content blocks.")
    structured_content: dict[str, Any] | _LeftOut = Field(
        default=None, description="If the tool returns structured data."
    )
    is_error: bool = Field(description="Whether the tool or the call failed.")
    error: CallError | _LeftOut = Field(default=None, description="If the call failed and not the tool itself.")


class UnavailableView(ResponseModel):
    """A server whose tools are not in the list."""

    server_id: str = Field(description="The server.")
    name: str
    reason: UnavailableReason = Field(description="Why the server has no tools to show.")
    detail: str = Field(description="Why, and what to do, in plain English.")


class ToolListView(ResponseModel):
    """Tools, and the servers whose tools are not available."""

    tools: list[dict[str, Any]] = Field(description="The tools, in the format that was asked for.")
    unavailable: list[UnavailableView] = Field(description="The servers whose tools are missing.")


class BreakerView(ResponseModel):
    """The circuit breaker of the server."""

    state: Literal["closed", "open", "half_open"] = Field(
        description="`open`: no calls are sent. `half_open`: one is tried."
    )
    failures: int = Field(description="Consecutive failures, in this process.")
    retry_after: int = Field(description="Seconds until a call is allowed.")


class CheckView(ResponseModel):
    """The state of a server."""

    status: Literal["ok", "unauthorized", "unreachable", "invalid"] = Field(description="The coarse state.")
    protocol: Annotated[str | None, Field(description="The transport and version of MCP.")]
    server_info: dict[str, str] = Field(description="The name and version that the server states.")
    tool_count: int | None = Field(description="The number of its tools, if it answers.")
    detail: str = Field(description="The state in plain English.")
    breaker: BreakerView = Field(description="The circuit breaker of calls to the server.")

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
