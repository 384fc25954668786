"""The kind of servers that are connected services: opening, listing and checking."""

from __future__ import annotations

from dataclasses import dataclass

from api.access.context import WorkspaceContext
from api.kit.deadline import Deadline
from api.kit.redaction import NO_SECRETS
from api.servers.server import Server
from api.toolbox.credentials.static import UpstreamCredentials
from api.toolbox.failures import (
    NO_TOOLS,
    NOT_CONNECTED_SERVICE,
    CredentialsUnavailable,
    ToolsUnavailable,
    connection_ended,
    service_unavailable,
)
from api.toolbox.output.conversion import LargeResults
from api.toolbox.toolsets.dependencies import ToolsetDeps
from api.toolbox.toolsets.server_kind import ServerKind, ServerReport
from api.toolbox.toolsets.service_toolset import ServiceToolset
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from api.toolbox.toolsets.toolset import Toolset, ToolsetWrapper
from api.toolbox.unavailable_reason import UnavailableReason
from integrations import StatusRefused, UnreadableResponse, UpstreamError, probe_service


@dataclass(slots=True, eq=False)
class ServiceToolList(ToolsetWrapper):
    """Lists a service's tools without a request: they are part of Plugboard, and the server's record says the rest."""

    _server: Server
    _tools: ToolCatalog | None

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:  # noqa: ARG002
        connection = self._server.connection
        if connection and connection.ended:
            raise connection_ended(self._server.name)
        if not (self._server.is_connected or self._server.sealed):
            raise ToolsUnavailable(UnavailableReason.NOT_CONNECTED, NOT_CONNECTED_SERVICE)
        if self._tools is None:
            raise ToolsUnavailable(UnavailableReason.INVALID, NO_TOOLS)
        return self._tools


class ConnectedServices(ServerKind):
    def __init__(self, deps: ToolsetDeps) -> None:
        self._deps = deps

    async def open(self, ctx: WorkspaceContext, server: Server) -> Toolset:
        services = self._deps.services
        toolkit, tools = services.toolkit(server.service_type), services.tools(server.service_type)
        if toolkit is None or tools is None:
            raise UnreadableResponse(NO_TOOLS, sent=False)
        credentials = await self._deps.credentials.open(ctx, server)
        http, base_url = services.upstream(ctx, server, credentials), services.base_url(server)
        title = services.services[server.service_type].title
        large_results = LargeResults(self._deps.conversion, ctx.workspace_id)
        return ServiceToolset(server, credentials, http, toolkit, tools, base_url, title, large_results)

    def fixed_tools(self, server: Server) -> ToolCatalog | None:
        return self._deps.services.tools(server.service_type)

    def with_known_list(self, toolset: Toolset, server: Server) -> Toolset:
        return ServiceToolList(toolset, server, self.fixed_tools(server))

    async def check(self, ctx: WorkspaceContext, server: Server, deadline: Deadline) -> ServerReport:
        service = self._deps.services.services.get(server.service_type)
        if service is None:
            raise ToolsUnavailable(UnavailableReason.INVALID, NO_TOOLS)
        credentials: UpstreamCredentials | None = None
        try:
            with deadline.enforce():
                credentials = await self._deps.credentials.open(ctx, server)
                await self._probe(ctx, server, credentials)
        except (UpstreamError, TimeoutError, CredentialsUnavailable) as error:
            redact = credentials.redact if credentials else NO_SECRETS
            raise service_unavailable(error, redact, server.timeout_seconds, service.title) from error
        tools = self.fixed_tools(server)
        return ServerReport(len(tools.tools) if tools else 0)

    async def _probe(self, ctx: WorkspaceContext, server: Server, credentials: UpstreamCredentials) -> None:
        """One request, with the credential that the tools would use."""
        services = self._deps.services
        http, base_url = services.upstream(ctx, server, credentials), services.base_url(server)
        probe = services.services[server.service_type].probe
        if probe is None:
            return
        credential = credentials.sent
        try:
            await probe_service(http, base_url, probe)
        except StatusRefused as refused:
            if not await credentials.renew_after_rejection(refused, credential):
                raise
            await probe_service(http, base_url, probe)
