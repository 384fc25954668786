"""The tools of servers and agents: list them, call them, check their servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from api.access.context import WorkspaceContext
from api.agents.agent import Agent
from api.agents.service import AgentService
from api.audit.events import Outcome
from api.errors import NotFound
from api.kit.deadline import Deadline
from api.servers.server import Server
from api.servers.service import ServerService
from api.toolbox.agent_toolbox import EnabledServer, Toolbox
from api.toolbox.composition import toolset_for
from api.toolbox.health import ServerHealth, check_server
from api.toolbox.listing.client_formats import FORMATS, Format, render
from api.toolbox.listing.tool_list import SourceCollector, ToolList, agent_list, fresh_until, server_list
from api.toolbox.missing_tools import missing_tool_text
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.runtime import ToolRuntime
from api.toolbox.toolsets.toolset import ToolCall, UnknownTool
from api.toolbox.wrappers.call_recorder import call_record, recorded_name

LIST_SECONDS = 10.0


class ToolboxService:
    """The services of agents and servers are made only where something is not cached."""

    def __init__(
        self,
        ctx: WorkspaceContext,
        runtime: ToolRuntime,
        agents: Callable[[], AgentService],
        servers: Callable[[], ServerService],
    ) -> None:
        self._ctx = ctx
        self._runtime = runtime
        self._agents = agents
        self._servers = servers

    async def call(self, agent_id: str, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """`NotFound` where the agent has no such tool; all other failures are results."""
        toolbox, runtime = self._cached_toolbox(agent_id) or await self._assemble(agent_id), self._runtime
        share = toolbox.find(name)
        if share is None:
            self._record_refusal(toolbox, name, arguments)
            raise await self._missing(toolbox, name)
        deadline = Deadline(runtime.ticker, share.server.timeout_seconds)
        try:
            toolset = toolset_for(self._ctx, runtime, agent_id, share)
            return await toolset.call(ToolCall(agent_id, name, arguments, deadline))
        except UnknownTool as error:
            raise await self._missing(toolbox, name) from error

    async def list_tools(self, agent_id: str) -> ToolList:
        toolbox = self._cached_toolbox(agent_id) or await self._assemble(agent_id)
        return await agent_list(toolbox, await self._collector(agent_id).collect(toolbox, self._list_deadline()))

    async def list_rendered(self, agent_id: str, form: Format) -> bytes:
        """The same, as the JSON that a client takes."""
        toolbox, runtime = self._cached_toolbox(agent_id) or await self._assemble(agent_id), self._runtime
        cache, version = runtime.lists, runtime.toolsets.list_version.number
        cached = cache.get_unchanged(toolbox, form, version, runtime.clock.monotonic())
        if cached is not None:
            return cached
        sources = await self._collector(agent_id).collect(toolbox, self._list_deadline())
        body = cache.get(toolbox, form, sources)
        if body is None:
            body = await render(await agent_list(toolbox, sources), FORMATS[form])
        cache.put(toolbox, form, sources, body, version, fresh_until(sources))
        return body

    async def list_server_tools(self, server_id: str, *, refresh: bool) -> ToolList:
        share = EnabledServer.of(await self._server(server_id))
        deadline = Deadline(self._runtime.ticker, share.server.timeout_seconds)
        return await server_list(share, await self._collector().list_server(share, deadline, refresh=refresh))

    async def check(self, server_id: str) -> ServerHealth:
        return await check_server(self._ctx, self._runtime, await self._server(server_id))

    async def _missing(self, toolbox: Toolbox, name: str) -> NotFound:
        """With names of the server that the name points to, or else of all, without a request."""
        owner = toolbox.owner(name)
        shares = toolbox.servers if owner is None else [owner]
        known = await self._runtime.toolsets.known_names(self._ctx, [share.server for share in shares])
        return NotFound(missing_tool_text(toolbox, name, [(share, known.get(share.server.id)) for share in shares]))

    def _record_refusal(self, toolbox: Toolbox, name: str, arguments: Mapping[str, Any]) -> None:
        """A call of a server that the agent enables, of a tool that it may not call."""
        if (share := toolbox.owner(name)) is None:
            return
        runtime, server, outcome = (
            self._runtime,
            share.server,
            Outcome.NOT_ALLOWED if share.server.enabled else Outcome.DISABLED,
        )
        tool, now = recorded_name(share, name, arguments, None), runtime.clock.now()
        runtime.call_log.add(call_record(self._ctx, server, toolbox.agent.id, tool, outcome, now, 0))

    def _collector(self, agent_id: str | None = None) -> SourceCollector:
        return SourceCollector(partial(toolset_for, self._ctx, self._runtime, agent_id), self._runtime.clock)

    def _list_deadline(self) -> Deadline:
        return Deadline(self._runtime.ticker, LIST_SECONDS)

    def _cached_toolbox(self, agent_id: str) -> Toolbox | None:
        """If nothing has changed: the guard has read the revision."""
        return self._runtime.toolboxes.get(self._ctx.workspace_id, agent_id, self._ctx.snapshot.revision)

    async def _assemble(self, agent_id: str) -> Toolbox:
        agent: Agent = await self._agents().render_cached(agent_id, _itself)
        servers = await self._servers().get_many_cached(agent.enabled_mcp_server_ids)
        toolbox = Toolbox.of(self._ctx.workspace_id, agent, servers)
        self._runtime.toolboxes.put(toolbox, self._ctx.snapshot.revision)
        return toolbox

    async def _server(self, server_id: str) -> Server:
        server = (await self._servers().get_many_cached([server_id])).get(server_id)
        if server is None:
            raise NotFound
        return server


def _itself(agent: Agent) -> Agent:
    return agent
