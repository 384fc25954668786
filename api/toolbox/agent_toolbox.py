"""Which tools does an agent have: its servers, what it may use of each, and whose a name is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from api.agents.agent import Agent
from api.kit.ids import is_from_workspace
from api.servers.server import EXTERNAL, Exposure, Server
from api.toolbox.failures import server_not_found, server_of_another_workspace
from api.toolbox.output.sanitize import safe_line
from api.toolbox.tool_names import generic_name, tool_name

PREFIX = "mcp_"
GENERIC_PREFIX = f"{PREFIX}server_"


@dataclass(frozen=True, slots=True)
class EnabledServer:
    """What an agent may use of one server."""

    server: Server
    names: frozenset[str] | None
    """The only tools that are allowed, as the upstream calls them; None for all."""
    aliases: frozenset[str] | None
    """The same, as agents call them: what is not allowed is refused without asking anybody."""

    @classmethod
    def of(cls, server: Server, names: Collection[str] | None) -> EnabledServer:
        if names is None:
            return cls(server, None, None)
        return cls(server, frozenset(names), frozenset(_alias(server, name) for name in names))

    @property
    def has_generic(self) -> bool:
        return (
            self.server.service_type == EXTERNAL
            and self.names is None
            and self.server.exposure in (Exposure.BOTH, Exposure.GENERIC)
        )

    @property
    def has_tools(self) -> bool:
        return self.server.exposure in (Exposure.BOTH, Exposure.TOOLS)

    def offers(self, alias: str) -> bool:
        return self.has_tools and self.server.enabled and (self.aliases is None or alias in self.aliases)

    def allows(self, upstream_name: str) -> bool:
        return self.names is None or upstream_name in self.names


@dataclass(frozen=True)
class Toolbox:
    """As of one revision of the workspace."""

    workspace_id: str
    agent: Agent
    servers: Sequence[EnabledServer]
    by_id: Mapping[str, EnabledServer] = field(repr=False)
    by_slug: Mapping[str, EnabledServer] = field(repr=False)

    @classmethod
    def of(cls, workspace_id: str, agent: Agent, servers: Mapping[str, Server]) -> Toolbox:
        there = [servers[each] for each in agent.enabled_mcp_server_ids if each in servers]
        shares = [EnabledServer.of(server, agent.enabled_mcp_server_tool_names.get(server.id)) for server in there]
        return cls(
            workspace_id,
            agent,
            shares,
            {share.server.id: share for share in shares},
            {share.server.slug: share for share in shares},
        )

    def generic(self, name: str) -> EnabledServer | None:
        """Whose generic tool has this name, if the agent has it."""
        share = self.by_id.get(name.removeprefix(PREFIX)) if name.startswith(GENERIC_PREFIX) else None
        return share if share and share.has_generic and share.server.enabled else None

    def named(self, name: str) -> EnabledServer | None:
        """Whose tool could have this name: of a service's, the slug is at the end; of any other's, behind `mcp_`."""
        if name.startswith(GENERIC_PREFIX):
            return None
        is_external = name.startswith(PREFIX)
        slug = name[len(PREFIX) :].partition("_")[0] if is_external else name.rpartition("_")[2]
        share = self.by_slug.get(slug)
        if share is None or (share.server.service_type == EXTERNAL) is not is_external:
            return None
        return share if share.offers(name) else None

    def not_found_text(self, name: str) -> str:
        """What is said of a name that is not in the toolbox."""
        server_id = name.removeprefix(PREFIX)
        if not name.startswith(GENERIC_PREFIX):
            told = f"Error: tool {name} is not in this agent's toolbox. Its tools are listed at `tools`."
            return safe_line(told + self._meant(name), limit=600)
        if not is_from_workspace(server_id, self.workspace_id):
            return server_of_another_workspace(server_id)
        share = self.by_id.get(server_id)
        if share is None:
            return server_not_found(server_id)
        return f"Error: MCP server {server_id} {'; '.join(_why_not(share))}"

    def _meant(self, name: str) -> str:
        """A service's tools have the server's slug at their end, and who knows the service may have left it out."""
        of_it = [each for each in self.servers if name.startswith(f"{each.server.service_type}_")]
        if any(name.endswith(f"_{each.server.slug}") for each in of_it):
            return ""
        names = [f"`{alias}`" for each in of_it if each.offers(alias := _alias(each.server, name))]
        return f" Did you mean {' or '.join(names)}?" if names else ""


def _alias(server: Server, name: str) -> str:
    if server.service_type == EXTERNAL:
        return tool_name(server.slug, name)
    return f"{name}_{server.slug}"


def _why_not(share: EnabledServer) -> Iterator[str]:
    if not share.server.enabled:
        yield "is disabled"
    if not share.has_generic:
        yield f"has no tool {generic_name(share.server.id)} for this agent; use the server's own tools"
