"""What can be done with the tools of servers and agents: see them, call them, ask how a server is."""

from __future__ import annotations

from collections.abc import Callable

from api.access.context import WorkspaceContext
from api.agents.agent import Agent
from api.agents.service import AgentService
from api.errors import NotFound
from api.servers.server import EXTERNAL, Server
from api.servers.service import ServerService
from api.toolbox.agent_toolbox import Toolbox
from api.toolbox.calling.tool_caller import Args, ToolCaller
from api.toolbox.health import ServerHealth, check
from api.toolbox.listing.caches import Format
from api.toolbox.listing.server_tools import ServerTools, ToolsUnavailable
from api.toolbox.listing.tool_list import Listing, tools_of
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.runtime import ToolRuntime
from api.toolbox.service_checks import check_service
from api.toolbox.toolsets.catalog import Tool


class ToolboxService:
    """The other services are made only where something is not remembered."""

    def __init__(
        self,
        ctx: WorkspaceContext,
        works: ToolRuntime,
        agents: Callable[[], AgentService],
        servers: Callable[[], ServerService],
    ) -> None:
        self._ctx = ctx
        self._works = works
        self._agents = agents
        self._servers = servers

    async def call(self, agent_id: str, tool_name: str, args: Args) -> ToolResult:
        toolbox = await self._toolbox(agent_id)
        return await ToolCaller(self._ctx, self._works).call(toolbox, tool_name, args)

    async def list_rendered(self, agent_id: str, form: Format) -> bytes:
        toolbox = await self._toolbox(agent_id)
        return await Listing(self._ctx, self._works).of(toolbox, form)

    async def tools(self, server_id: str, *, anew: bool) -> tuple[Server, list[Tool] | ToolsUnavailable]:
        server = await self._server(server_id)
        found = await ServerTools(self._ctx, self._works).tools(server, server.timeout_seconds, anew=anew)
        return server, found if isinstance(found, ToolsUnavailable) else tools_of(server, found, lambda _: True)

    async def check(self, server_id: str) -> ServerHealth:
        server = await self._server(server_id)
        asked = check if server.service_type == EXTERNAL else check_service
        return await asked(self._ctx, self._works, server)

    async def _toolbox(self, agent_id: str) -> Toolbox:
        """One read where nothing has changed: that of the revision, by which the caller was let in."""
        known = self._works.toolboxes.get(self._ctx.workspace_id, agent_id, self._ctx.snapshot.revision)
        return known or await self._assembled(agent_id)

    async def _assembled(self, agent_id: str) -> Toolbox:
        agent: Agent = await self._agents().render_cached(agent_id, _itself)
        servers = await self._servers().get_many_cached(agent.enabled_mcp_server_ids)
        toolbox = Toolbox.of(self._ctx.workspace_id, agent, servers)
        self._works.toolboxes.remember(toolbox, self._ctx.snapshot.revision)
        return toolbox

    async def _server(self, server_id: str) -> Server:
        found = (await self._servers().get_many_cached([server_id])).get(server_id)
        if found is None:
            raise NotFound
        return found


def _itself(agent: Agent) -> Agent:
    return agent
