"""A server that has failed several times in a row is left alone for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from api.kit.deadline import Deadline
from api.toolbox.calling.circuit_breakers import CircuitBreaker
from api.toolbox.failures import ToolsUnavailable, circuit_open, left_alone, without_uncertainty
from api.toolbox.output.results import failed
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from api.toolbox.toolsets.toolset import ToolCall, ToolsetWrapper
from api.toolbox.unavailable_reason import UnavailableReason


@dataclass(slots=True, eq=False)
class BreakerGuard(ToolsetWrapper):
    _breaker: Callable[[], CircuitBreaker]

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:
        if refresh:  # passes an open breaker, and the outcome counts for nothing
            return await self._inner.list_tools(deadline, refresh=True)
        breaker = self._breaker()
        if held := breaker.admit():
            raise ToolsUnavailable(UnavailableReason.UNREACHABLE, left_alone(held))
        broken: str | None = None
        is_answered = False
        try:
            tools = await self._inner.list_tools(deadline)
            is_answered = True
        except ToolsUnavailable as missing:
            broken = missing.text if missing.is_down else None
            is_answered = missing.is_answer
            raise
        finally:
            breaker.record(broken, answered=is_answered)
        return tools

    async def call(self, call: ToolCall) -> ToolResult:
        breaker = self._breaker()
        if held := breaker.admit():
            return failed(circuit_open(held))
        broken: str | None = None
        is_answered = False
        try:
            result = await self._inner.call(call)
            failure = result.failure
            is_answered = failure is None or failure.is_answer
            broken = without_uncertainty(failure) if failure and failure.is_down else None
        finally:
            breaker.record(broken, answered=is_answered)
        return result
