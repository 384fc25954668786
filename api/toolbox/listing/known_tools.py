"""What is known of servers' tools without a request, for the rules of agents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from api.access.context import WorkspaceContext
from api.agents.tool_rules import KnownTools, ServerTools
from api.kit.storage.store import Store
from api.kit.turns import Pieces
from api.servers.server import EXTERNAL, Server, ServerState
from api.servers.service import ServerService
from api.toolbox.output.sanitize import one_line, safe_line
from api.toolbox.tool_name_repository import ToolNameRepository
from api.toolbox.tool_names import is_altered
from api.toolbox.toolsets.naming_scheme import NamingScheme, naming_of
from api.toolbox.toolsets.registry import ToolsetRegistry
from integrations import nearest_name

MAX_WARNING = 600


class StoredKnownTools(KnownTools):
    """Services' tools are part of Plugboard; those of other servers are stored when they are listed."""

    def __init__(self, ctx: WorkspaceContext, store: Store, servers: ServerService, toolsets: ToolsetRegistry) -> None:
        self._names = ToolNameRepository(store, ctx)
        self._servers = servers
        self._toolsets = toolsets

    async def of(self, server_ids: Collection[str]) -> Mapping[str, ServerTools]:
        servers = (await self._servers.get_many_cached(list(server_ids))).values() if server_ids else ()
        listed = await self._names.get_many([server for server in servers if _has_current_list(server)])
        known, pieces = dict[str, ServerTools](), Pieces()
        for server in servers:
            known[server.id] = ListedNames(server, naming_of(server), self._own_names(server, listed))
            await pieces.pause()
        return known

    def _own_names(self, server: Server, listed: Mapping[str, Collection[str]]) -> Mapping[str, None] | None:
        catalog = self._toolsets.kind_of(server).fixed_tools(server)
        names = listed.get(server.id) if catalog is None else catalog.by_name
        return None if names is None else dict.fromkeys(names)


@dataclass(frozen=True)
class ListedNames(ServerTools):
    """The names of one server's tools in its own order; None if they are not known."""

    server: Server
    naming: NamingScheme
    names: Mapping[str, None] | None

    def own_name(self, name: str) -> str:
        """Names that agents use can be read without a list, except those that were altered."""
        slug, names = self.server.slug, self.names
        if (names and name in names) or self.naming.slug_in(name) != slug:
            return name
        if names and is_altered(name):
            return self._altered.get(name, name)
        own_name = self.naming.own_name(slug, name)
        is_name = bool(own_name) and self.naming.tool_name(slug, own_name) == name
        return own_name if is_name and (names is None or own_name in names) else name

    def lacks(self, name: str) -> bool:
        return self.names is not None and name not in self.names

    def explain_missing(self, name: str) -> str:
        server_name = one_line(self.server.name, 100)
        place = f"enabledMcpServerToolNames.{self.server.id}"
        nearest = self._nearest(name)
        question = f" Did you mean `{nearest}`?" if nearest else ""
        return safe_line(f"The server '{server_name}' lists no tool `{name}` (`{place}`).{question}", limit=MAX_WARNING)

    def _nearest(self, name: str) -> str | None:
        meant = self.own_name(name)
        return nearest_name(name, self.names or ()) if meant == name else meant

    @cached_property
    def _altered(self) -> Mapping[str, str]:
        """Own names by the names for agents that were altered."""
        aliases = ((self.naming.tool_name(self.server.slug, own_name), own_name) for own_name in self.names or ())
        return {alias: own_name for alias, own_name in aliases if is_altered(alias)}


def _has_current_list(server: Server) -> bool:
    return server.service_type == EXTERNAL and server.state != ServerState.INCOMPLETE
