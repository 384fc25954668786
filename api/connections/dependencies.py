"""The operator's configuration that connections need: public URLs, services, and HTTP access."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from api.access.context import WorkspaceContext
from api.kit.egress.policy import EgressPolicy
from api.kit.http_client.client import HttpClient
from api.servers.server import EXTERNAL, Server
from api.upstream_http import AuthServerHttp
from integrations import AuthorizationServer, Service


@dataclass(frozen=True, slots=True)
class HttpAccess:
    """An HTTP client and the addresses that it may reach."""

    outbound: HttpClient
    egress: EgressPolicy


@dataclass(frozen=True, slots=True)
class ConfiguredService:
    """A service with the operator's settings."""

    service: Service
    provider: AuthorizationServer
    api_base_url: str


@dataclass(frozen=True, slots=True)
class Brand:
    """Whose installation the pages for people show."""

    name: str = "Plugboard"
    color: str = ""
    """As `#0a7f5c`; empty for the colours of the browser."""

    @property
    def text_color(self) -> str:
        """Black or white, whichever has the greater contrast with the colour (WCAG 2)."""
        red, green, blue = (int(self.color[at : at + 2], 16) / 255 for at in (1, 3, 5))
        light = 0.2126 * _linear(red) + 0.7152 * _linear(green) + 0.0722 * _linear(blue)
        return "#000000" if light > EVEN_CONTRAST else "#ffffff"


EVEN_CONTRAST = 0.179
"""The luminance that has the same contrast with black and white."""


LINEAR_UP_TO = 0.04045


def _linear(part: float) -> float:
    """A part of an sRGB colour by its light."""
    return part / 12.92 if part <= LINEAR_UP_TO else ((part + 0.055) / 1.055) ** 2.4


@dataclass(frozen=True, slots=True)
class PublicUrls:
    """The URLs under which browsers and authorization servers reach this installation."""

    url: str
    return_origins: frozenset[str]

    @property
    def all_origins(self) -> frozenset[str]:
        """The configured origins and our own."""
        url = urlsplit(self.url)
        return self.return_origins | {f"{url.scheme}://{url.netloc}"}

    @property
    def is_secure(self) -> bool:
        return self.url.startswith("https://")

    def callback(self, service_type: str, suffix: str | None = None) -> str:
        return f"{self.url}/api/mcp/oauth/{service_type}/callback" + (f"/{suffix}" if suffix else "")


@dataclass(frozen=True, slots=True)
class AuthServerHttpFactory:
    anywhere: HttpAccess
    vendors: HttpAccess
    """The same, and the addresses that the operator has configured instead of the vendors' own."""

    def for_server(self, ctx: WorkspaceContext, server: Server) -> AuthServerHttp:
        return self._http(server.service_type, f"{ctx.workspace_id} oauth {server.id}")

    def for_revocation(self, workspace_id: str, service_type: str, job: str) -> AuthServerHttp:
        return self._http(service_type, f"{workspace_id} revocation {job}")

    async def close(self) -> None:
        """`anywhere` is shared with other components, and its owner closes it."""
        if self.vendors.outbound is not self.anywhere.outbound:
            await self.vendors.outbound.close()

    def _http(self, service_type: str, pool: str) -> AuthServerHttp:
        access = self.anywhere if service_type == EXTERNAL else self.vendors
        return AuthServerHttp(access.outbound, access.egress, pool)
