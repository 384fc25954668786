"""What goes wrong becomes an answer: a result that an agent can act on, or the reason why there is no list."""

from __future__ import annotations

from dataclasses import dataclass

from api.kit.deadline import Deadline
from api.servers.server import Server
from api.toolbox.failures import CredentialsUnavailable, failure_of, unavailable
from api.toolbox.output.results import failed
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from api.toolbox.toolsets.toolset import ToolCall, ToolsetWrapper
from integrations import UpstreamError


@dataclass(slots=True, eq=False)
class FailureTranslator(ToolsetWrapper):
    _server: Server

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:
        try:
            return await self._inner.list_tools(deadline, refresh=refresh)
        except (UpstreamError, TimeoutError, CredentialsUnavailable) as error:
            raise unavailable(error, self._inner.redact, self._server.timeout_seconds) from error

    async def call(self, call: ToolCall) -> ToolResult:
        try:
            return await self._inner.call(call)
        except (UpstreamError, TimeoutError, CredentialsUnavailable) as error:
            return failed(failure_of(error, self._inner.redact, self._server.timeout_seconds))
