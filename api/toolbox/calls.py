"""The one place that turns a call of a tool into an answer, whoever calls and whatever kind of server has the tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from api.access.context import WorkspaceContext
from api.audit.service import Call
from api.errors import NotFound
from api.kit.deadline import Deadline
from api.servers.service import Server
from api.toolbox.arguments import Validator
from api.toolbox.breakers import Open
from api.toolbox.bulkheads import Full
from api.toolbox.credentials import NotConnected
from api.toolbox.failures import (
    MAYBE_DONE,
    Failure,
    FailureKind,
    failure_of,
    invalid_arguments,
    is_the_servers_fault,
    not_connected,
    timed_out,
)
from api.toolbox.mcp_toolset import McpToolset
from api.toolbox.results import ToolResult, failed
from api.toolbox.scrubbing import NO_SECRETS
from api.toolbox.toolbox import Share, Toolbox
from api.toolbox.upstream_tools import UpstreamTool, UpstreamTools
from api.toolbox.works import Works
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
_BUSY = "Error: too many calls of this server are under way. Try again in a moment."
ABANDONED, NOT_FOUND = "abandoned", "not_found"

Args = Mapping[str, Any]


@dataclass(slots=True)
class Begun:
    """A call as it will be told: the tool is known once it is found."""

    toolbox: Toolbox
    server: Server
    tool: str
    started: float
    outcome: str = ABANDONED


class Calls:
    def __init__(self, ctx: WorkspaceContext, works: Works) -> None:
        self._ctx = ctx
        self._works = works

    async def call(self, toolbox: Toolbox, name: str, args: Args) -> ToolResult:
        """`NotFound` where the toolbox has no such tool; all other failures are results."""
        if share := toolbox.generic(name):
            return await self._told(toolbox, share, name, lambda begun: self._generic(begun, name, args))
        if share := toolbox.named(name):
            found = share
            return await self._told(toolbox, share, name, lambda begun: self._named(begun, found, name, args))
        raise NotFound(toolbox.absent(name))

    async def _told(
        self, toolbox: Toolbox, share: Share, name: str, work: Callable[[Begun], Awaitable[ToolResult]]
    ) -> ToolResult:
        begun = Begun(toolbox, share.server, name, self._works.clock.monotonic())
        try:
            result = await self._bounded(begun, work)
            begun.outcome = _outcome(result)
        except NotFound:
            begun.outcome = NOT_FOUND
            raise
        finally:
            self._note(begun)
        return result

    async def _bounded(self, begun: Begun, work: Callable[[Begun], Awaitable[ToolResult]]) -> ToolResult:
        try:
            slot = self._works.bulkheads.enter(self._ctx.workspace_id, begun.server.id)
        except Full as full:
            return failed(Failure(FailureKind.RATE_LIMITED, _BUSY, full.retry_after))
        with slot:
            return await self._unless_broken(begun, work)

    async def _unless_broken(self, begun: Begun, work: Callable[[Begun], Awaitable[ToolResult]]) -> ToolResult:
        breaker = self._works.breaker(self._ctx.workspace_id, begun.server)
        held = breaker.admit()
        if isinstance(held, Open):
            return failed(Failure(FailureKind.UPSTREAM_UNAVAILABLE, held.text, held.retry_after))
        broken: str | None = None
        answered = False
        try:
            result, broken, answered = await self._in_time(begun, work)
        finally:
            breaker.learned(broken, answered=answered)
        return result

    async def _in_time(
        self, begun: Begun, work: Callable[[Begun], Awaitable[ToolResult]]
    ) -> tuple[ToolResult, str | None, bool]:
        """The result, what to hold against the server, and whether it answered."""
        seconds = begun.server.timeout_seconds
        try:
            with Deadline(seconds):
                result = await work(begun)
        except TimeoutError:
            failure = timed_out(seconds)
            return failed(failure), _of_the_server(failure), False
        except NotConnected:
            return failed(not_connected()), None, False
        except UpstreamError as error:
            toolset = self._works.toolsets.known(self._ctx, begun.server)
            failure = failure_of(error, toolset.scrubbed if toolset else NO_SECRETS, seconds)
            at_fault = is_the_servers_fault(error)
            return failed(failure), _of_the_server(failure) if at_fault else None, not at_fault
        return result, None, result.failure is None

    async def _generic(self, begun: Begun, name: str, args: Args) -> ToolResult:
        if problems := _GENERIC.check(args):
            return failed(invalid_arguments(name, problems))
        method = begun.tool = args["method"]
        if method.startswith(_OF_THE_CONNECTION):
            return failed(
                invalid_arguments(name, [f"The method {method} belongs to the connection, which is made for you."])
            )
        toolset = await self._works.toolsets.of(self._ctx, begun.server)
        return await toolset.call_method(method, args.get("params"))

    async def _named(self, begun: Begun, share: Share, name: str, args: Args) -> ToolResult:
        toolset = await self._works.toolsets.of(self._ctx, begun.server)
        tool, problems = await self._find(toolset, share, name, args)
        if tool is None:
            raise NotFound(begun.toolbox.absent(name))
        begun.tool = tool.name
        if problems:
            return failed(invalid_arguments(name, problems))
        return await toolset.call_tool(tool.name, args)

    async def _find(
        self, toolset: McpToolset, share: Share, name: str, args: Args
    ) -> tuple[UpstreamTool | None, list[str]]:
        """The tool, and what does not fit it. An old list is good enough for a call that fits a tool in it."""
        tools = toolset.known_tools or await toolset.tools()
        tool, problems = _fitting(tools, share, name, args)
        if (tool is None or problems) and self._may_be_otherwise_now(tools, tool):
            return _fitting(await toolset.tools(anew=True), share, name, args)
        return tool, problems

    def _may_be_otherwise_now(self, tools: UpstreamTools, tool: UpstreamTool | None) -> bool:
        now = self._works.clock.monotonic()
        return now - tools.listed_at > LOOK_AGAIN_SECONDS if tool is None else not tools.holds(now)

    def _note(self, begun: Begun) -> None:
        works, caller = self._works, self._ctx.caller
        seconds = works.clock.monotonic() - begun.started
        works.metrics.call(begun.server.service_type, begun.outcome, seconds)
        works.call_log.note(
            Call(
                at=works.clock.now(),
                workspace_id=self._ctx.workspace_id,
                actor_id=caller.key_id,
                actor_name=caller.name,
                request_id=self._ctx.request_id,
                agent_id=begun.toolbox.agent.id,
                server_id=begun.server.id,
                server_name=begun.server.name,
                tool=begun.tool,
                outcome=begun.outcome,
                milliseconds=int(seconds * 1000),
            )
        )


def _fitting(tools: UpstreamTools, share: Share, name: str, args: Args) -> tuple[UpstreamTool | None, list[str]]:
    tool = tools.by_alias(share.server.slug).get(name)
    if tool is None or not share.allows(tool.name):
        return None, []
    return tool, tool.validator.check(args)


def _of_the_server(failure: Failure) -> str:
    """What the failure tells those who come after: nothing about this one call."""
    return failure.text.removesuffix(f" {MAYBE_DONE}")


def _outcome(result: ToolResult) -> str:
    if result.failure:
        return result.failure.kind.value
    return "tool_error" if result.is_error else "ok"


_GENERIC = Validator.of(GENERIC_SCHEMA)
