"""The naming schemes for tools, one for each kind of server."""

from __future__ import annotations

from typing import Protocol

from api.servers.server import EXTERNAL, Server
from api.toolbox.tool_names import GENERIC_PREFIX, PREFIX, tool_name


class NamingScheme(Protocol):
    has_generic_tool: bool
    """Whether agents can call any method of the server."""

    def tool_name(self, slug: str, own_name: str) -> str:
        """The name for agents of the tool that its server calls `own_name`."""
        ...

    def own_name(self, slug: str, name: str) -> str:
        """What the server calls its tool, as far as the name for agents shows: one that was altered has a hash."""
        ...

    def slug_in(self, name: str) -> str | None:
        """The slug of the server whose tool could have this name."""
        ...

    def lacks_slug(self, name: str, service_type: str) -> bool:
        """Whether it looks like a tool's own name."""
        ...


class McpNames:
    """`mcp_<slug>_<tool>`."""

    has_generic_tool = True

    def tool_name(self, slug: str, own_name: str) -> str:
        return tool_name(slug, own_name)

    def own_name(self, slug: str, name: str) -> str:
        return name.removeprefix(f"{PREFIX}{slug}_")

    def slug_in(self, name: str) -> str | None:
        if not name.startswith(PREFIX) or name.startswith(GENERIC_PREFIX):
            return None
        return name[len(PREFIX) :].partition("_")[0]

    def lacks_slug(self, name: str, service_type: str) -> bool:  # noqa: ARG002  # it could be the name of anything
        return False


class ServiceNames:
    """`<service>_<tool>_<slug>`."""

    has_generic_tool = False

    def tool_name(self, slug: str, own_name: str) -> str:
        """Unchecked: it may be a name that a caller has sent."""
        return f"{own_name}_{slug}"

    def own_name(self, slug: str, name: str) -> str:
        return name.removesuffix(f"_{slug}")

    def slug_in(self, name: str) -> str | None:
        return None if name.startswith(PREFIX) else name.rpartition("_")[2]

    def lacks_slug(self, name: str, service_type: str) -> bool:
        return name.startswith(f"{service_type}_")


MCP_NAMES, SERVICE_NAMES = McpNames(), ServiceNames()
SCHEMES: tuple[NamingScheme, ...] = (MCP_NAMES, SERVICE_NAMES)


def naming_of(server: Server) -> NamingScheme:
    return MCP_NAMES if server.service_type == EXTERNAL else SERVICE_NAMES
