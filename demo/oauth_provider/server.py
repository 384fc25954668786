"""An OAuth provider for tests and demos: four services and any number of MCP servers with OAuth, over real HTTP.

    with oauth_provider() as provider:
        provider.tenant("notion").configure(access_life=0.3)

`python -m demo.oauth_provider.server --port 8402` lets people try Connect without an account anywhere.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import uvicorn

from demo.arguments import HOST, add_port, free_port
from demo.oauth_provider.admin import NOT_FOUND, Admin
from demo.oauth_provider.endpoints import AuthorizationServer, Endpoint
from demo.oauth_provider.faults import Fault
from demo.oauth_provider.http import AbortableHttpProtocol, Request, Response, asgi_app, json_response
from demo.oauth_provider.mcp import McpAuthorizationServer
from demo.oauth_provider.model import Behaviour, Client, Token
from demo.oauth_provider.protected_resource import ProtectedMcpServer
from demo.oauth_provider.tenant import RecordedRequest, Tenant
from demo.oauth_provider.vendors.base import VendorAuthorizationServer
from demo.oauth_provider.vendors.hubspot import HubSpotAuthorizationServer
from demo.oauth_provider.vendors.linear import LinearAuthorizationServer
from demo.oauth_provider.vendors.notion import NotionAuthorizationServer
from demo.oauth_provider.vendors.slack import SlackAuthorizationServer
from demo.services.registry import FakeService, fake_service
from demo.serving import listening

__all__ = ["Behaviour", "Client", "Fault", "OAuthProvider", "RecordedRequest", "Tenant", "oauth_provider"]

SERVICES: Mapping[str, type[VendorAuthorizationServer]] = {
    item.name: item
    for item in (
        NotionAuthorizationServer,
        LinearAuthorizationServer,
        HubSpotAuthorizationServer,
        SlackAuthorizationServer,
    )
}
DEMO = "An MCP server to connect (authType oauth, serviceType external)"
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
WELL_KNOWN = re.compile(r"/\.well-known/(oauth-authorization-server|openid-configuration)(?:/mcp-as/([^/]+))?")
APPENDED = re.compile(r"/mcp-as/([^/]+)/\.well-known/openid-configuration")
RESOURCE_METADATA = re.compile(r"(?:/\.well-known/oauth-protected-resource/mcp|(/prm))/([^/]+)")
MCP_METHODS = ("GET", "POST", "DELETE")
API_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
SERVICES_WITHOUT_OAUTH = ("posthog",)


@dataclass(frozen=True)
class Route:
    tenant: Tenant
    endpoint: Endpoint


class OAuthProvider:
    def __init__(self, consent: str = "at once") -> None:
        self.origin = ""
        """The origin at which the provider is served."""
        self.recorded_requests: list[RecordedRequest] = []
        self._consent = consent
        self._lock = threading.RLock()
        self._tenants: dict[str, Tenant] = {}
        self._authorization_servers: dict[str, AuthorizationServer] = {}
        self._mcp_servers: dict[str, ProtectedMcpServer] = {}
        self._fakes: dict[str, FakeService | None] = {}
        self._admin = Admin(self.tenant, self.recorded_requests, self.clear_recorded_requests)

    def start(self, origin: str) -> None:
        self.origin = origin
        for name in SERVICES:
            self.tenant(name)

    def close(self) -> None:
        for tenant in self._tenants.values():
            tenant.release_held()

    def reset(self) -> None:
        """Restores the initial state, which is faster than a restart. Earlier `Tenant` objects become invalid."""
        with self._lock:
            self.close()
            for item in (
                self._tenants,
                self._authorization_servers,
                self._mcp_servers,
                self._fakes,
                self.recorded_requests,
            ):
                item.clear()
            self.start(self.origin)

    def clear_recorded_requests(self) -> None:
        with self._lock:
            for item in (self.recorded_requests, *(tenant.recorded_requests for tenant in self._tenants.values())):
                item.clear()

    def url(self, path: str) -> str:
        return f"{self.origin}{path}"

    def tenant(self, name: str) -> Tenant:
        with self._lock:
            if name not in self._tenants:
                assert NAME.fullmatch(name), name
                self._create_tenant(name)
            return self._tenants[name]

    def environment(self, *names: str) -> dict[str, str]:
        """The environment that makes Plugboard use this provider for the services."""
        expected = {"PLUGBOARD_EGRESS_ALLOW": "127.0.0.1"}
        for name in names or SERVICES:
            service, client, url = SERVICES[name], self.tenant(name).client, self.url(f"/{name}")
            values = {
                "OAUTH_CLIENT_ID": client.id,
                "OAUTH_CLIENT_SECRET": str(client.secret),
                "OAUTH_AUTHORIZE_URL": url + service.authorize_path,
                "OAUTH_TOKEN_URL": url + service.token_path,
                "OAUTH_REVOKE_URL": url + service.revoke_path,
                "API_BASE_URL": url,
            }
            expected |= {f"{name.upper()}_{key}": value for key, value in values.items()}
        if not names:
            expected |= {f"{name.upper()}_API_BASE_URL": self.url(f"/{name}") for name in SERVICES_WITHOUT_OAUTH}
        return expected

    async def respond(self, request: Request) -> Response | None:
        if request.path.startswith("/admin/"):
            with self._lock:
                return self._admin.respond(request)
        result = self._route(request.path)
        if result is None:
            self.recorded_requests.append(
                RecordedRequest("", "", request.method, request.path, request.query, request.headers, {}, "")
            )
            return NOT_FOUND
        seen = result.tenant.record(result.endpoint.name, request)
        self.recorded_requests.append(seen)
        answer = await self._respond_with_faults(result, request)
        seen.status = answer.status if answer else None
        return answer

    async def _respond_with_faults(self, route: Route, request: Request) -> Response | None:
        tenant, endpoint = route.tenant, route.endpoint
        fault = tenant.next_fault(endpoint.name)
        if fault is None or fault.after:
            answer = await self._handle(route, request)
        if fault is None:
            return answer
        if not fault.delays:
            return fault.response(self._authorization_servers[tenant.name].rate_limited)
        await tenant.delay(endpoint.name, fault)
        return answer if fault.after else await self._handle(route, request)

    async def _handle(self, route: Route, request: Request) -> Response:
        if request.method not in route.endpoint.methods:
            return json_response({"error": "method_not_allowed"}, 405, Allow=", ".join(route.endpoint.methods))
        await self._load_client_document(route.tenant, request)
        with self._lock:
            return route.endpoint.handle(request)

    async def _load_client_document(self, tenant: Tenant, request: Request) -> None:
        """Registers a client with a metadata document on its first request."""
        speaker = self._authorization_servers[tenant.name]
        if isinstance(speaker, McpAuthorizationServer) and (url := speaker.document_to_fetch(request)):
            client = await asyncio.to_thread(speaker.fetch_document, url)
            if client:
                tenant.clients[url] = client

    def _route(self, path: str) -> Route | None:
        first, _, rest = path[1:].partition("/")
        if first in SERVICES:
            return self._authorization_route(first, f"/{rest}") or self._api_route(first, f"/{rest}")
        if first in SERVICES_WITHOUT_OAUTH:
            return self._api_route(first, f"/{rest}")
        if first in ("mcp", "mcp-as"):
            name, _, rest = rest.partition("/")
            if first == "mcp" and not rest:
                return self._mcp_route(name)
            return self._metadata_route(path) or self._authorization_route(name, f"/{rest}")
        return (
            self._metadata_route(path)
            or self._resource_metadata_route(path)
            or self._authorization_route(self._tenant_at_root(), path)
        )

    def _authorization_route(self, name: str, path: str) -> Route | None:
        speaker = self._authorization_servers.get(name)
        endpoint = speaker.endpoints().get(path) if speaker else None
        return Route(self._tenants[name], endpoint) if endpoint else None

    def _api_route(self, name: str, path: str) -> Route | None:
        tenant = self.tenant(name)
        world = self.fake(name)
        if world is None:
            return None
        return Route(tenant, Endpoint("api", API_METHODS, lambda request: world.respond(replace(request, path=path))))

    def fake(self, name: str) -> FakeService | None:
        """The fake API of a vendor; the same object until the provider is reset."""
        if name not in self._fakes:
            self._fakes[name] = fake_service(name, self.tenant(name))
        return self._fakes[name]

    def _mcp_route(self, name: str) -> Route | None:
        if name not in self._mcp_servers:
            return None
        return Route(self._tenants[name], Endpoint("mcp", MCP_METHODS, self._mcp_servers[name].respond))

    def _metadata_route(self, path: str) -> Route | None:
        """The route of server metadata, also if the document is missing, so that the request is recorded."""
        appended, inserted = APPENDED.fullmatch(path), WELL_KNOWN.fullmatch(path)
        if appended:
            return self._server_metadata_route(appended[1], "oidc appended", oidc=True)
        if inserted:
            oidc = inserted[1] == "openid-configuration"
            return self._server_metadata_route(
                inserted[2] or self._tenant_at_root(), "oidc" if oidc else "oauth", oidc=oidc
            )
        return None

    def _server_metadata_route(self, name: str, place: str, *, oidc: bool) -> Route | None:
        speaker = self._authorization_servers.get(name)
        if not isinstance(speaker, McpAuthorizationServer):
            return None
        is_there = place in speaker.tenant.behaviour.metadata_at
        answer = speaker.metadata(oidc=oidc) if is_there else NOT_FOUND
        return Route(speaker.tenant, Endpoint("metadata", ("GET",), lambda _: answer))

    def _resource_metadata_route(self, path: str) -> Route | None:
        if path == "/.well-known/oauth-protected-resource":
            at_root = (name for name in self._mcp_servers if "root" in self._tenants[name].behaviour.prm_at)
            return self._resource_document_route(next(at_root, ""), "root")
        requested = RESOURCE_METADATA.fullmatch(path)
        return (
            self._resource_document_route(requested[2], "challenge" if requested[1] else "path") if requested else None
        )

    def _resource_document_route(self, name: str, place: str) -> Route | None:
        if name not in self._mcp_servers:
            return None
        is_there = place in self._tenants[name].behaviour.prm_at
        answer = self._mcp_servers[name].resource_metadata() if is_there else NOT_FOUND
        return Route(self._tenants[name], Endpoint("prm", ("GET",), lambda _: answer))

    def _tenant_at_root(self) -> str:
        return next((name for name, item in self._tenants.items() if item.behaviour.at_root), "")

    def _create_tenant(self, name: str) -> None:
        if service := SERVICES.get(name):
            callback = f"*/api/mcp/oauth/{name}/callback"
            both = ("client_secret_basic", "client_secret_post")
            client = Client(f"{name}-client", f"canary-{name}-secret", both, (callback,), name="Plugboard")
            tenant = Tenant(name, self.origin, self._lock, client)
            tenant.configure(**service.behaviour)
            self._authorization_servers[name] = service(tenant)
        else:
            tenant = Tenant(name, self.origin, self._lock)
            self._authorization_servers[name] = McpAuthorizationServer(tenant, self._is_trusted)
            self._mcp_servers[name] = ProtectedMcpServer(tenant, self._valid_token)
        tenant.configure(consent=self._consent)
        self._tenants[name] = tenant

    def _is_trusted(self, tenant: Tenant, resource: str) -> bool:
        """Whether the MCP server at `resource` accepts tokens of a tenant's authorization server."""
        named = [self._tenants[name] for name in self._mcp_servers]
        return any(item.mcp_url == resource and tenant.issuer in item.authorization_servers for item in named)

    def _valid_token(self, resource: Tenant, text: str | None) -> Token | None:
        """The token, if it is valid for this resource."""
        trusted = [value for value in self._tenants.values() if value.issuer in resource.authorization_servers]
        tokens = [token for item in trusted if (token := item.grants.valid_token(text))]
        allowed = (resource.mcp_url,) if resource.behaviour.demands_resource else (resource.mcp_url, None)
        return next((token for token in tokens if token.family.resource in allowed), None)


@contextmanager
def oauth_provider() -> Iterator[OAuthProvider]:
    server = OAuthProvider()
    with listening(asgi_app(server), AbortableHttpProtocol) as origin:
        server.start(origin)
        try:
            yield server
        finally:
            server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="A provider to try Connect with, without an account anywhere.")
    add_port(parser, 8402)
    parser.add_argument("--consent", choices=("page", "at once", "deny"), default="page")
    chosen = parser.parse_args()
    port = free_port(parser, chosen, "demo-oauth")
    server = OAuthProvider(chosen.consent)
    server.start(f"http://{HOST}:{port}")
    _print_instructions(server)
    uvicorn.run(
        asgi_app(server),
        port=port,
        http=AbortableHttpProtocol,
        log_level="warning",
        timeout_graceful_shutdown=2,  # held requests are dropped, so that the process can stop
    )


def _print_instructions(server: OAuthProvider) -> None:
    exports = [f"export {name}={value}" for name, value in server.environment().items()]
    server.tenant("demo").add_client("demo-machine", secret="demo-secret", grants=("client_credentials",))
    lines = [
        f"The five services and an MCP server with OAuth are at {server.origin}. Ctrl-C stops them.",
        "",
        "In the terminal in which you start Plugboard, before `make run` (stop it first if it runs):",
        "",
        *exports,
        "",
        f"{DEMO}: {server.tenant('demo').mcp_url}",
        "with oauthGrant client_credentials: clientId demo-machine, clientSecret demo-secret",
        "PostHog's key (authType header, serviceType posthog, config apiKey): phx_demo",
        "",
        "To end the tokens it has given, or all that was granted, as a provider would (demo, notion, linear, ...):",
        f"curl -X POST {server.origin}/admin/tenants/demo/expire",
        f"curl -X POST {server.origin}/admin/tenants/demo/forget",
    ]
    print(*lines, sep="\n", flush=True)  # noqa: T201  a program that says so


if __name__ == "__main__":
    main()
