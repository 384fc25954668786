"""Arguments are held to what the tool takes before its server sees them."""

from __future__ import annotations

from dataclasses import dataclass

from api.kit.clock import Clock
from api.servers.server import Server
from api.toolbox.failures import invalid_arguments
from api.toolbox.output.results import failed
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.tool_catalog import ParsedArguments
from api.toolbox.toolsets.toolset import ToolCall, ToolsetWrapper, UnknownTool


@dataclass(slots=True, eq=False)
class ArgumentCheck(ToolsetWrapper):
    """An old list is good enough for arguments that fit; before a call is refused, the server is asked again."""

    _server: Server
    _clock: Clock

    async def call(self, call: ToolCall) -> ToolResult:
        parsed = call.tool.parse(call.arguments)
        if parsed.problems and call.catalog and not call.catalog.is_fresh(self._clock.monotonic()):
            parsed = await self._parse_anew(call)
        call.recorded_name = parsed.recorded_name or call.tool.name or call.name
        if parsed.problems:
            problems = [call.tool.with_agent_names(problem, self._server.slug) for problem in parsed.problems]
            return failed(invalid_arguments(call.name, problems))
        call.parsed_arguments = parsed.value
        return await self._inner.call(call)

    async def _parse_anew(self, call: ToolCall) -> ParsedArguments:
        tools = await self._inner.list_tools(call.deadline, refresh=True)
        tool = tools.by_name.get(call.tool.name)
        if tool is None:
            raise UnknownTool
        call.tool = tool
        return tool.parse(call.arguments)
