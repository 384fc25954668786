"""An agent's toolbox: its servers with their allowed tools, and the lookup of the server of a tool name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from sys import getsizeof

from api.agents.agent import Agent
from api.kit.cache.heap_size import heap_size
from api.servers.server import Exposure, Server
from api.toolbox.tool_names import GENERIC_PREFIX, MAX_NAME, PREFIX
from api.toolbox.toolsets.naming_scheme import SCHEMES, NamingScheme, naming_of

SERVER_BYTES = 2000
"""What a server in a toolbox takes besides its record and the names of its tools."""

ALIAS_BYTES = getsizeof("a" * MAX_NAME)


@dataclass(frozen=True)
class EnabledServer:
    """The part of one server that an agent may use."""

    server: Server
    naming: NamingScheme
    names: frozenset[str] | None
    """The tools that are allowed, by their own names; None for all."""

    @classmethod
    def of(cls, server: Server, names: Collection[str] | None = None) -> EnabledServer:
        return cls(server, naming_of(server), None if names is None else frozenset(names))

    @cached_property
    def aliases(self) -> frozenset[str] | None:
        """The names by which agents use the allowed tools, so that others are refused without a request.

        Computed for the server of a call only: an agent may have thousands of names, and altered ones take long.
        """
        if self.names is None:
            return None
        return frozenset(self.naming.tool_name(self.server.slug, name) for name in self.names)

    @property
    def size(self) -> int:
        """In bytes, with the aliases as if they were computed and as long as they may be."""
        aliases = 0 if self.names is None else getsizeof(self.names) + ALIAS_BYTES * len(self.names)
        return SERVER_BYTES + heap_size(self.server.encode()) + heap_size(self.names) + aliases

    @property
    def has_generic(self) -> bool:
        is_exposed = self.server.exposure in (Exposure.BOTH, Exposure.GENERIC)
        return self.naming.has_generic_tool and self.names is None and is_exposed

    @property
    def has_tools(self) -> bool:
        return self.server.exposure in (Exposure.BOTH, Exposure.TOOLS)

    def offers(self, alias: str) -> bool:
        return self.has_tools and self.server.enabled and (self.aliases is None or alias in self.aliases)

    def allows(self, own_name: str) -> bool:
        return self.names is None or own_name in self.names


@dataclass(frozen=True)
class Toolbox:
    """An agent's servers and their allowed tools, at one revision of the workspace."""

    workspace_id: str
    agent: Agent
    servers: Sequence[EnabledServer]
    by_id: Mapping[str, EnabledServer] = field(repr=False)
    by_slug: Mapping[str, EnabledServer] = field(repr=False)

    @classmethod
    def of(cls, workspace_id: str, agent: Agent, servers: Mapping[str, Server]) -> Toolbox:
        existing = [servers[server_id] for server_id in agent.enabled_mcp_server_ids if server_id in servers]
        shares = [EnabledServer.of(server, agent.enabled_mcp_server_tool_names.get(server.id)) for server in existing]
        return cls(
            workspace_id,
            agent,
            shares,
            {share.server.id: share for share in shares},
            {share.server.slug: share for share in shares},
        )

    @property
    def size(self) -> int:
        """In bytes. Counts the records too, although they may also be cached as such."""
        return heap_size(self.agent.encode()) + sum(share.size for share in self.servers)

    def owner(self, name: str) -> EnabledServer | None:
        """The server that the name points to, whether or not the agent may call such a tool."""
        if name.startswith(GENERIC_PREFIX):
            return self.by_id.get(name.removeprefix(PREFIX))
        for naming in SCHEMES:
            if (slug := naming.slug_in(name)) is not None:
                share = self.by_slug.get(slug)
                return share if share and share.naming is naming else None
        return None

    def find(self, name: str) -> EnabledServer | None:
        """The server whose tool has this name, or could have it."""
        share = self.owner(name)
        if share is None:
            return None
        if name.startswith(GENERIC_PREFIX):
            return share if share.has_generic and share.server.enabled else None
        return share if share.offers(name) else None
