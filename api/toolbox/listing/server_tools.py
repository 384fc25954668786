"""The tools of one server for somebody who wants to see them, or why there are none."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

from api.access.context import WorkspaceContext
from api.servers.service import EXTERNAL, Server
from api.toolbox.failures import ENDED, FailureKind, NotConnected, failure_of, is_down
from api.toolbox.output.redaction import NO_SECRETS, Scrubber
from api.toolbox.runtime import Works
from api.toolbox.texts import not_answered
from api.toolbox.toolsets.catalog import UpstreamTools
from api.toolbox.toolsets.registry import NO_TOOLS, Toolset
from integrations import StatusRefused, TimedOut, Unreachable, UpstreamError


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a server has no tools to show: a word for programs, a sentence for people."""

    reason: str
    detail: str


Problem = UpstreamError | TimeoutError | NotConnected | None
UNCONNECTED_SERVICE = Missing("not_connected", "Connect this service first.")
ENDED_SERVICE = Missing("reconnect_required", ENDED)
TOOLLESS_SERVICE = Missing("invalid", NO_TOOLS)
NOT_CONNECTED_REASONS = {
    FailureKind.NOT_CONNECTED: "not_connected",
    FailureKind.RECONNECT_REQUIRED: "reconnect_required",
}


class Sources:
    def __init__(self, ctx: WorkspaceContext, works: Works) -> None:
        self._ctx = ctx
        self._works = works

    def known(self, server: Server) -> UpstreamTools | None:
        """What is remembered and holds, without waiting for anything."""
        toolset = self._works.toolsets.known(self._ctx, server)
        tools = toolset.known_tools if toolset else None
        return tools if tools and tools.is_ready and tools.holds(self._works.clock.monotonic()) else None

    async def tools(self, server: Server, seconds: float, *, anew: bool = False) -> UpstreamTools | Missing:
        """`anew`: somebody wants to know now. It is asked whatever happened before, and counts for nothing."""
        if server.service_type != EXTERNAL:
            return self._of_service(server)
        if anew:  # who asks anew is not held back, and nothing of it is counted
            found, _ = await self._asked(server, seconds, anew=True)
            return found
        breaker = self._works.breaker(self._ctx.workspace_id, server)
        held = breaker.admit()
        if held is not None:
            return Missing("unreachable", held.text)
        failed: str | None = None
        answered = False
        try:
            found, error = await self._asked(server, seconds, anew=False)
            failed = found.detail if isinstance(found, Missing) and is_down(error) else None
            answered = failed is None and not isinstance(error, NotConnected)
        finally:
            breaker.learned(failed, answered=answered)
        return found

    def _of_service(self, server: Server) -> UpstreamTools | Missing:
        """Nobody is asked: which tools there are is known, and whether there is a credential stands in the record."""
        if server.connection and server.connection.ended:
            return ENDED_SERVICE
        if not (server.is_connected or server.sealed):
            return UNCONNECTED_SERVICE
        return self._works.vendors.tools(server.service_type) or TOOLLESS_SERVICE

    async def _asked(self, server: Server, seconds: float, *, anew: bool) -> tuple[UpstreamTools | Missing, Problem]:
        toolset: Toolset | None = None
        try:
            async with asyncio.timeout(seconds):
                toolset = await self._works.toolsets.of(self._ctx, server)
                found = await toolset.tools(anew=anew)
                return await found.made_ready(), None
        except (UpstreamError, TimeoutError, NotConnected) as error:
            return why(error, toolset, server), error


def why(error: UpstreamError | TimeoutError | NotConnected, toolset: Toolset | None, server: Server) -> Missing:
    return told(error, toolset.scrubbed if toolset else NO_SECRETS, server)


def told(error: UpstreamError | TimeoutError | NotConnected, scrubbed: Scrubber, server: Server) -> Missing:
    match error:
        case NotConnected(failure=failure, text=text):
            return Missing(NOT_CONNECTED_REASONS.get(failure.kind, "unreachable"), text)
        case TimeoutError():
            return Missing("timeout", not_answered("no answer in time."))
        case _:
            text = failure_of(error, scrubbed, server.timeout_seconds).text
            return Missing(reason_of(error), text)


def reason_of(error: UpstreamError) -> str:
    match error:
        case StatusRefused(status=HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN):
            return "unauthorized"
        case Unreachable():
            return "unreachable"
        case TimedOut():
            return "timeout"
        case _ if is_down(error):
            return "unreachable"
        case _:
            return "invalid"
