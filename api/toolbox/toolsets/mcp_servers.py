"""Servers that speak MCP: opened, and checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from api.access.context import WorkspaceContext
from api.kit.deadline import Deadline
from api.kit.egress.policy import UrlRefused, check_url
from api.kit.redaction import NO_SECRETS
from api.kit.turns import turns_of_loop
from api.servers.server import Server
from api.toolbox.failures import CredentialsUnavailable, unavailable
from api.toolbox.output.conversion import LargeResults
from api.toolbox.output.sanitize import safe_line
from api.toolbox.protocol_repository import ProtocolRepository
from api.toolbox.toolsets.dependencies import ToolsetDeps
from api.toolbox.toolsets.listed_names_writer import ListedNamesWriter
from api.toolbox.toolsets.mcp_toolset import McpToolset
from api.toolbox.toolsets.server_kind import ServerKind, ServerReport
from api.toolbox.toolsets.tool_catalog import ListVersion, ToolCatalog
from api.toolbox.toolsets.toolset import Toolset
from api.upstream_http import UpstreamHttp, url_refused
from integrations import Era, McpClient, UpstreamError

MAX_INFO = 200


class McpServers(ServerKind):
    def __init__(
        self,
        deps: ToolsetDeps,
        version: ListVersion,
        close_later: Callable[[Toolset], None],
        recount: Callable[[str, McpToolset], None],
    ) -> None:
        self._deps = deps
        self._known_names = ListedNamesWriter(deps.store, deps.clock)
        self._recount = recount
        self._version = version
        self._close_later = close_later

    async def open(self, ctx: WorkspaceContext, server: Server) -> Toolset:
        protocols = ProtocolRepository(self._deps.store, ctx)
        return await self._open(ctx, server, protocols, remember=True)

    def fixed_tools(self, server: Server) -> ToolCatalog | None:  # noqa: ARG002
        return None

    def with_known_list(self, toolset: Toolset, server: Server) -> Toolset:  # noqa: ARG002
        return toolset

    async def check(self, ctx: WorkspaceContext, server: Server, deadline: Deadline) -> ServerReport:
        toolset: McpToolset | None = None
        try:
            with deadline.enforce():
                toolset = await self._open(ctx, server, ProtocolRepository(self._deps.store, ctx), remember=False)
                tools = await toolset.list_tools(deadline)
        except (UpstreamError, TimeoutError, CredentialsUnavailable) as error:
            redact = toolset.redact if toolset else NO_SECRETS
            raise unavailable(error, redact, server.timeout_seconds) from error
        finally:
            if toolset is not None:
                self._close_later(toolset)
        return _report(toolset, len(tools.tools), tools.left_out)

    async def _open(
        self, ctx: WorkspaceContext, server: Server, protocols: ProtocolRepository, *, remember: bool
    ) -> McpToolset:
        deps = self._deps
        try:
            origin = check_url(server.url or "", deps.egress).origin
        except UrlRefused as refused:  # the policy has changed since the URL was stored
            raise url_refused(refused) from refused
        credentials = await deps.credentials.open(ctx, server)
        era = await protocols.get(server) if remember else None
        http = UpstreamHttp(
            deps.outbound,
            deps.egress,
            origin,
            credentials.headers,
            pool=f"{ctx.workspace_id} {server.id} {server.version}",
            seconds=server.timeout_seconds,
        )
        client = McpClient(http, server.url or "", era, next_turn=turns_of_loop().next)

        async def keep_era(era: Era) -> None:
            await protocols.keep(server, era)

        large_results = LargeResults(deps.conversion, ctx.workspace_id)
        return McpToolset(
            server,
            credentials,
            client,
            deps.clock,
            deps.ticker,
            keep_era,
            self._version,
            large_results,
            workspace_id=ctx.workspace_id,
            on_list=partial(self._known_names.keep, ctx, server),
            recount=self._recount,
        )


def _report(toolset: McpToolset, tool_count: int, left_out: int) -> ServerReport:
    era = toolset.era
    if era is None:
        return ServerReport(tool_count, left_out)
    info = {name: safe_line(str(value), toolset.redact, MAX_INFO) for name, value in era.server.items()}
    return ServerReport(tool_count, left_out, f"{era.kind} {era.version or ''}".strip(), info)
