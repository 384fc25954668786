"""The port through which tools are listed and called, whatever kind of server has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from api.kit.deadline import Deadline
from api.kit.redaction import Redactor
from api.servers.server import Server
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.tool_catalog import CatalogTool, ToolCatalog


@dataclass(slots=True)
class ToolCall:
    """A call on its way to its server. What one wrapper finds out, those inside it need not find out again."""

    agent_id: str
    name: str
    """As the agent knows the tool."""
    arguments: Mapping[str, Any]
    deadline: Deadline
    tool: CatalogTool = field(init=False)
    """Set where the name is resolved."""
    catalog: ToolCatalog | None = None
    """The list in which the tool was found; None if a new list could not differ."""
    parsed_arguments: Any = None
    """As the tool takes them; set where they are checked."""
    recorded_name: str = ""
    """The tool's own name, for the audit trail."""


OPEN_BYTES = 20_000
"""A toolset without its list: client, session and credentials."""
TIMES_SEALED = 20
"""A credential is held as text and, to be redacted, in all its spellings."""


def open_size(server: Server) -> int:
    return OPEN_BYTES + TIMES_SEALED * sum(map(len, server.sealed.values()))


class UnknownTool(Exception):
    """The agent has no tool of this name; nothing was called."""


class Toolset(Protocol):
    """The tools of one server."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes: an estimate."""
        ...

    @property
    def redact(self) -> Redactor:
        """Removes the credentials that are sent to the server from a text."""
        ...

    @property
    def known_tools(self) -> ToolCatalog | None:
        """The last list, fresh or not; no request is made."""
        ...

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:
        """`refresh`: ask the server, whatever is remembered."""
        ...

    async def call(self, call: ToolCall) -> ToolResult: ...

    async def close(self) -> None:
        """Calls under way are finished first."""
        ...


@dataclass(slots=True, eq=False)
class ToolsetWrapper(Toolset):
    """A toolset around another one. Subclasses override what they change."""

    _inner: Toolset

    @property
    def size(self) -> int:
        return self._inner.size

    @property
    def redact(self) -> Redactor:
        return self._inner.redact

    @property
    def known_tools(self) -> ToolCatalog | None:
        return self._inner.known_tools

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:
        return await self._inner.list_tools(deadline, refresh=refresh)

    async def call(self, call: ToolCall) -> ToolResult:
        return await self._inner.call(call)

    async def close(self) -> None:
        await self._inner.close()
