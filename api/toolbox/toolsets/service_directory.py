"""The addresses and HTTP access of services: their own addresses, or those that the operator has configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from api.access.context import WorkspaceContext
from api.kit.egress.policy import EgressPolicy, check_url
from api.kit.http_client.client import HttpClient
from api.servers.server import Server
from api.toolbox.credentials.static import UpstreamCredentials
from api.toolbox.toolsets.service_tools import service_tools
from api.toolbox.toolsets.tool_catalog import ToolCatalog
from api.upstream_http import UpstreamHttp
from integrations import Service, Toolkit, load_toolkit


@dataclass(frozen=True, slots=True)
class ServiceDirectory:
    services: Mapping[str, Service]
    addresses: Mapping[str, str]
    """Configured by the operator, by service name."""

    outbound: HttpClient
    egress: EgressPolicy
    _tools: dict[str, ToolCatalog | None] = field(default_factory=dict)

    def tools(self, service_type: str) -> ToolCatalog | None:
        """The catalog of a service; None if the service has no tools or no longer exists."""
        if service_type not in self._tools:
            toolkit = self.toolkit(service_type)
            self._tools[service_type] = service_tools(toolkit) if toolkit else None
        return self._tools[service_type]

    def toolkit(self, service_type: str) -> Toolkit | None:
        service = self.services.get(service_type)
        return load_toolkit(service) if service else None

    def base_url(self, server: Server) -> str:
        """The operator's, the server's or the service's own, in this order."""
        service = self.services[server.service_type]
        return self.addresses.get(service.name) or server.url or service.api_base_url or ""

    def upstream(self, ctx: WorkspaceContext, server: Server, credentials: UpstreamCredentials) -> UpstreamHttp:
        return UpstreamHttp(
            self.outbound,
            self.egress,
            check_url(self.base_url(server), self.egress).origin,
            credentials.headers,
            pool=f"{ctx.workspace_id} {server.id} {server.version}",
            seconds=server.timeout_seconds,
        )
