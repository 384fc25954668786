"""The toolset of one server, opened when it is first needed and shared with all other callers."""

from __future__ import annotations

from api.access.context import WorkspaceContext
from api.kit.deadline import Deadline
from api.kit.redaction import NO_SECRETS, Redactor
from api.servers.server import Server
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.registry import ToolsetRegistry
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from api.toolbox.toolsets.toolset import ToolCall, Toolset


class OnDemandToolset(Toolset):
    """For one request: it keeps the toolset that it found first."""

    __slots__ = ("_ctx", "_registry", "_server", "_toolset")

    def __init__(self, registry: ToolsetRegistry, ctx: WorkspaceContext, server: Server) -> None:
        self._registry = registry
        self._ctx = ctx
        self._server = server
        self._toolset: Toolset | None = None

    @property
    def size(self) -> int:
        return self._toolset.size if self._toolset else 0

    @property
    def redact(self) -> Redactor:
        return self._toolset.redact if self._toolset else NO_SECRETS

    @property
    def known_tools(self) -> ToolCatalog | None:
        if self._toolset is None:
            self._toolset = self._registry.get_ready(self._ctx, self._server)
        return self._toolset.known_tools if self._toolset else None

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:
        return await (await self._opened()).list_tools(deadline, refresh=refresh)

    async def call(self, call: ToolCall) -> ToolResult:
        toolset = self._toolset or await self._opened()
        return await toolset.call(call)

    async def close(self) -> None:
        """The registry closes what it has opened."""

    async def _opened(self) -> Toolset:
        if self._toolset is None:
            self._toolset = await self._registry.get(self._ctx, self._server)
        return self._toolset
