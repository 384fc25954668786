"""The one place that turns a call of a tool into an answer, whoever calls and whatever kind of server has the tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from api.access.context import WorkspaceContext
from api.audit.events import ToolCallRecord
from api.errors import NotFound
from api.kit.deadline import Deadline
from api.toolbox.agent_toolbox import EnabledServer, Toolbox
from api.toolbox.calling.bulkheads import LimitReached
from api.toolbox.failures import MAYBE_DONE, CredentialsUnavailable, failure_of, invalid_arguments, is_down, timed_out
from api.toolbox.json_schema.validation import Validator
from api.toolbox.output.redaction import NO_SECRETS
from api.toolbox.output.results import failed
from api.toolbox.output.tool_result import Failure, FailureKind, ToolResult
from api.toolbox.runtime import ToolRuntime
from api.toolbox.toolsets.catalog import CatalogTool, ToolCatalog
from api.toolbox.toolsets.mcp import McpToolset
from api.toolbox.toolsets.registry import Toolset
from integrations import UpstreamError

LOOK_AGAIN_SECONDS = 5.0
"""A name that is not in a list as young as this is in no younger one."""
GENERIC_SCHEMA = {
    "type": "object",
    "properties": {
        "method": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "description": "The MCP method, such as tools/call.",
        },
        "params": {"type": "object", "description": "The method's parameters."},
    },
    "required": ["method"],
    "additionalProperties": False,
}
_OF_THE_CONNECTION = ("initialize", "notifications/", "$/")
ABANDONED, NOT_FOUND = "abandoned", "not_found"

Args = Mapping[str, Any]
Work = Callable[["CallInProgress", str, Args], Awaitable[ToolResult]]


@dataclass(slots=True)
class CallInProgress:
    """A call as it will be told: the tool is known once it is found."""

    toolbox: Toolbox
    share: EnabledServer
    tool: str
    started: float
    outcome: str = ABANDONED
    toolset: Toolset | None = None
    """Whose credentials are looked for in what is told of a failure."""


class ToolCaller:
    def __init__(self, ctx: WorkspaceContext, works: ToolRuntime) -> None:
        self._ctx = ctx
        self._works = works

    async def call(self, toolbox: Toolbox, name: str, args: Args) -> ToolResult:
        """`NotFound` where the toolbox has no such tool; all other failures are results."""
        share, work = self._resolve(toolbox, name)
        begun = CallInProgress(toolbox, share, name, self._works.clock.monotonic())
        try:
            with self._works.bulkheads.enter(self._ctx.workspace_id, share.server.id):
                result = await self._guarded(begun, work, name, args)
            begun.outcome = _outcome(result)
        except LimitReached as full:
            result = failed(Failure(FailureKind.RATE_LIMITED, f"Error: {full}", full.retry_after))
            begun.outcome = _outcome(result)
        except NotFound:
            begun.outcome = NOT_FOUND
            raise
        finally:
            self._note(begun)
        return result

    def _resolve(self, toolbox: Toolbox, name: str) -> tuple[EnabledServer, Work]:
        if share := toolbox.generic(name):
            return share, self._call_method
        if share := toolbox.named(name):
            return share, self._call_tool
        raise NotFound(toolbox.not_found_text(name))

    async def _guarded(self, begun: CallInProgress, work: Work, name: str, args: Args) -> ToolResult:
        """And in time. What was learned of the server is told to whoever comes next."""
        server = begun.share.server
        breaker = self._works.breaker(self._ctx.workspace_id, server)
        held = breaker.admit()
        if held is not None:
            return failed(Failure(FailureKind.UPSTREAM_UNAVAILABLE, held.text, held.retry_after))
        broken: str | None = None
        answered = False
        try:
            with Deadline(self._works.ticker, server.timeout_seconds):
                result = await work(begun, name, args)
            answered = result.failure is None
            if result.failure and result.failure.is_down:
                broken = result.failure.text
        except (TimeoutError, CredentialsUnavailable, UpstreamError) as error:
            failure = _failure(error, begun)
            result = failed(failure)
            broken = _of_the_server(failure) if is_down(error) else None
            answered = broken is None and not isinstance(error, CredentialsUnavailable)
        finally:
            breaker.record(broken, answered=answered)
        return result

    async def _call_method(self, begun: CallInProgress, name: str, args: Args) -> ToolResult:
        if problems := _GENERIC.check(args):
            return failed(invalid_arguments(name, problems))
        method = begun.tool = args["method"]
        params = args.get("params")
        if method == "tools/call" and params and isinstance(params.get("name"), str):
            begun.tool = f"{method} {params['name']}"
        if method.startswith(_OF_THE_CONNECTION):
            return failed(
                invalid_arguments(name, [f"The method {method} belongs to the connection, which is made for you."])
            )
        toolset = await self._works.toolsets.get(self._ctx, begun.share.server)
        begun.toolset = toolset
        if not isinstance(toolset, McpToolset):  # a service has no generic tool
            raise NotFound(begun.toolbox.not_found_text(name))
        return await toolset.call_method(method, params)

    async def _call_tool(self, begun: CallInProgress, name: str, args: Args) -> ToolResult:
        share, toolsets = begun.share, self._works.toolsets
        toolset = toolsets.get_ready(self._ctx, share.server) or await toolsets.get(self._ctx, share.server)
        begun.toolset = toolset
        tool, problems = await self._find(toolset, share, name, args)
        if tool is None:
            raise NotFound(begun.toolbox.not_found_text(name))
        begun.tool = tool.name
        if problems:
            return failed(invalid_arguments(name, [tool.said(each, share.server.slug) for each in problems]))
        return await toolset.call_tool(tool.name, args)

    async def _find(
        self, toolset: Toolset, share: EnabledServer, name: str, args: Args
    ) -> tuple[CatalogTool | None, list[str]]:
        """The tool, and what does not fit it. An old list is good enough for a call that fits a tool in it."""
        tools = toolset.known_tools or await toolset.tools()
        tool, problems = _fitting(tools, share, name, args)
        if (tool is None or problems) and self._may_be_otherwise_now(tools, tool):
            return _fitting(await toolset.tools(anew=True), share, name, args)
        return tool, problems

    def _may_be_otherwise_now(self, tools: ToolCatalog, tool: CatalogTool | None) -> bool:
        now = self._works.clock.monotonic()
        return now - tools.listed_at > LOOK_AGAIN_SECONDS if tool is None else not tools.is_fresh(now)

    def _note(self, begun: CallInProgress) -> None:
        works, principal, server = self._works, self._ctx.principal, begun.share.server
        seconds = works.clock.monotonic() - begun.started
        works.metrics.call(server.service_type, begun.outcome, seconds)
        call = ToolCallRecord(
            works.clock.now(),
            self._ctx.workspace_id,
            principal.id,
            principal.name,
            self._ctx.request_id,
            begun.toolbox.agent.id,
            server.id,
            server.name,
            begun.tool,
            begun.outcome,
            int(seconds * 1000),
            principal.kind,
        )
        works.call_log.note(call)


def _fitting(tools: ToolCatalog, share: EnabledServer, name: str, args: Args) -> tuple[CatalogTool | None, list[str]]:
    tool = tools.by_alias(share.server.slug).get(name)
    if tool is None or not share.allows(tool.name):
        return None, []
    return tool, tool.validator.check(args)


def _failure(error: TimeoutError | CredentialsUnavailable | UpstreamError, begun: CallInProgress) -> Failure:
    seconds = begun.share.server.timeout_seconds
    match error:
        case TimeoutError():
            return timed_out(seconds)
        case CredentialsUnavailable(failure=failure):
            return failure
        case _:
            return failure_of(error, begun.toolset.redact if begun.toolset else NO_SECRETS, seconds)


def _of_the_server(failure: Failure) -> str:
    """What the failure tells those who come after: nothing about this one call."""
    return failure.text.removesuffix(f" {MAYBE_DONE}")


def _outcome(result: ToolResult) -> str:
    if result.failure:
        return result.failure.kind.value
    return "tool_error" if result.is_error else "ok"


_GENERIC = Validator.of(GENERIC_SCHEMA)
