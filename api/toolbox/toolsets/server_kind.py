"""The port for kinds of servers, with the operations that differ between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from api.access.context import WorkspaceContext
from api.kit.deadline import Deadline
from api.servers.server import Server
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from api.toolbox.toolsets.toolset import Toolset


@dataclass(frozen=True, slots=True)
class ServerReport:
    """The result of a check of a working server."""

    tool_count: int
    left_out: int = 0
    """Tools that have no usable name or description."""
    protocol: str | None = None
    server_info: Mapping[str, str] = field(default_factory=dict)


class ServerKind(Protocol):
    async def open(self, ctx: WorkspaceContext, server: Server) -> Toolset: ...

    def fixed_tools(self, server: Server) -> ToolCatalog | None:
        """The tools of a server of this kind, if they are part of Plugboard."""
        ...

    def with_known_list(self, toolset: Toolset, server: Server) -> Toolset:
        """The toolset, which lists from the cache what is already known."""
        ...

    async def check(self, ctx: WorkspaceContext, server: Server, deadline: Deadline) -> ServerReport:
        """Check the server without cached knowledge; raises `ToolsUnavailable` if it does not work."""
        ...
