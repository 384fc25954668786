"""The tools of one server for somebody who wants to see them, or why there are none."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

from api.access.context import WorkspaceContext
from api.servers.server import EXTERNAL, Server
from api.toolbox.failures import ENDED, CredentialsUnavailable, failure_of, is_down, not_answered
from api.toolbox.output.redaction import NO_SECRETS, Redactor
from api.toolbox.output.tool_result import FailureKind
from api.toolbox.runtime import ToolRuntime
from api.toolbox.toolsets.catalog import ToolCatalog
from api.toolbox.toolsets.registry import NO_TOOLS, Toolset
from integrations import StatusRefused, Unreachable, UpstreamError, UpstreamTimeout


@dataclass(frozen=True, slots=True)
class ToolsUnavailable:
    """Why a server has no tools to show: a word for programs, a sentence for people."""

    reason: str
    detail: str


Problem = UpstreamError | TimeoutError | CredentialsUnavailable | None
UNCONNECTED_SERVICE = ToolsUnavailable("not_connected", "Connect this service first.")
ENDED_SERVICE = ToolsUnavailable("reconnect_required", ENDED)
TOOLLESS_SERVICE = ToolsUnavailable("invalid", NO_TOOLS)
NOT_CONNECTED_REASONS = {
    FailureKind.NOT_CONNECTED: "not_connected",
    FailureKind.RECONNECT_REQUIRED: "reconnect_required",
}


class ServerTools:
    def __init__(self, ctx: WorkspaceContext, works: ToolRuntime) -> None:
        self._ctx = ctx
        self._works = works

    def known(self, server: Server) -> ToolCatalog | None:
        """What is remembered and holds, without waiting for anything."""
        toolset = self._works.toolsets.get_ready(self._ctx, server)
        tools = toolset.known_tools if toolset else None
        return tools if tools and tools.is_ready and tools.is_fresh(self._works.clock.monotonic()) else None

    async def tools(self, server: Server, seconds: float, *, anew: bool = False) -> ToolCatalog | ToolsUnavailable:
        """`anew`: somebody wants to know now. It is asked whatever happened before, and counts for nothing."""
        if server.service_type != EXTERNAL:
            return self._of_service(server)
        if anew:  # who asks anew is not held back, and nothing of it is counted
            found, _ = await self._asked(server, seconds, anew=True)
            return found
        breaker = self._works.breaker(self._ctx.workspace_id, server)
        held = breaker.admit()
        if held is not None:
            return ToolsUnavailable("unreachable", held.text)
        failed: str | None = None
        answered = False
        try:
            found, error = await self._asked(server, seconds, anew=False)
            failed = found.detail if isinstance(found, ToolsUnavailable) and is_down(error) else None
            answered = failed is None and not isinstance(error, CredentialsUnavailable)
        finally:
            breaker.record(failed, answered=answered)
        return found

    def _of_service(self, server: Server) -> ToolCatalog | ToolsUnavailable:
        """Nobody is asked: which tools there are is known, and whether there is a credential stands in the record."""
        if server.connection and server.connection.ended:
            return ENDED_SERVICE
        if not (server.is_connected or server.sealed):
            return UNCONNECTED_SERVICE
        return self._works.services.tools(server.service_type) or TOOLLESS_SERVICE

    async def _asked(
        self, server: Server, seconds: float, *, anew: bool
    ) -> tuple[ToolCatalog | ToolsUnavailable, Problem]:
        toolset: Toolset | None = None
        try:
            async with asyncio.timeout(seconds):
                toolset = await self._works.toolsets.get(self._ctx, server)
                found = await toolset.tools(anew=anew)
                return await found.prepare(), None
        except (UpstreamError, TimeoutError, CredentialsUnavailable) as error:
            return unavailable_reason(error, toolset, server), error


def unavailable_reason(
    error: UpstreamError | TimeoutError | CredentialsUnavailable, toolset: Toolset | None, server: Server
) -> ToolsUnavailable:
    return explain(error, toolset.redact if toolset else NO_SECRETS, server)


def explain(
    error: UpstreamError | TimeoutError | CredentialsUnavailable, redact: Redactor, server: Server
) -> ToolsUnavailable:
    match error:
        case CredentialsUnavailable(failure=failure, text=text):
            return ToolsUnavailable(NOT_CONNECTED_REASONS.get(failure.kind, "unreachable"), text)
        case TimeoutError():
            return ToolsUnavailable("timeout", not_answered("no answer in time."))
        case _:
            text = failure_of(error, redact, server.timeout_seconds).text
            return ToolsUnavailable(reason_of(error), text)


def reason_of(error: UpstreamError) -> str:
    match error:
        case StatusRefused(status=HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN):
            return "unauthorized"
        case Unreachable():
            return "unreachable"
        case UpstreamTimeout():
            return "timeout"
        case _ if is_down(error):
            return "unreachable"
        case _:
            return "invalid"
