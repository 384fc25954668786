"""A provider to test against: four services and any number of MCP servers with authorization, over real HTTP.

    with authorization_server() as server:
        server.tenant("notion").behave(access_life=0.3)

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

from demo.oauth_provider.admin import NOT_THERE, Admin
from demo.oauth_provider.endpoints import AuthorizationServer, Endpoint
from demo.oauth_provider.faults import Fault
from demo.oauth_provider.http import Answer, Cuttable, Request, app_of, said
from demo.oauth_provider.mcp import McpAuthorizationServer
from demo.oauth_provider.model import Behaviour, Client, Token
from demo.oauth_provider.protected_resource import ProtectedServer
from demo.oauth_provider.tenant import Seen, Tenant
from demo.oauth_provider.vendors.base import Service
from demo.oauth_provider.vendors.hubspot import HubSpot
from demo.oauth_provider.vendors.linear import Linear
from demo.oauth_provider.vendors.notion import Notion
from demo.oauth_provider.vendors.slack import Slack
from demo.services.registry import World, world_of
from demo.serving import listening

__all__ = ["Behaviour", "Client", "Fault", "Seen", "Server", "Tenant", "authorization_server"]

SERVICES: Mapping[str, type[Service]] = {each.name: each for each in (Notion, Linear, HubSpot, Slack)}
DEMO = "An MCP server to connect (authType oauth, serviceType external)"
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
WELL_KNOWN = re.compile(r"/\.well-known/(oauth-authorization-server|openid-configuration)(?:/mcp-as/([^/]+))?")
APPENDED = re.compile(r"/mcp-as/([^/]+)/\.well-known/openid-configuration")
RESOURCE_METADATA = re.compile(r"(?:/\.well-known/oauth-protected-resource/mcp|(/prm))/([^/]+)")
ANY = ("GET", "POST", "DELETE")
EVERY = ("GET", "POST", "PUT", "PATCH", "DELETE")
WITHOUT_OAUTH = ("posthog",)


@dataclass(frozen=True)
class Found:
    tenant: Tenant
    endpoint: Endpoint


class Server:
    def __init__(self, consent: str = "at once") -> None:
        self.origin = ""
        """Where it is served, once it is."""
        self.seen: list[Seen] = []
        self._consent = consent
        self._lock = threading.RLock()
        self._tenants: dict[str, Tenant] = {}
        self._speakers: dict[str, AuthorizationServer] = {}
        self._resources: dict[str, ProtectedServer] = {}
        self._worlds: dict[str, World | None] = {}
        self._admin = Admin(self.tenant, self.seen, self.forget_seen)

    def begin(self, origin: str) -> None:
        self.origin = origin
        for name in SERVICES:
            self.tenant(name)

    def close(self) -> None:
        for tenant in self._tenants.values():
            tenant.release()

    def reset(self) -> None:
        """As if it had just been started: faster than to start another. Tenants that were got before are no more."""
        with self._lock:
            self.close()
            for each in (self._tenants, self._speakers, self._resources, self._worlds, self.seen):
                each.clear()
            self.begin(self.origin)

    def forget_seen(self) -> None:
        with self._lock:
            for each in (self.seen, *(tenant.seen for tenant in self._tenants.values())):
                each.clear()

    def url(self, path: str) -> str:
        return f"{self.origin}{path}"

    def tenant(self, name: str) -> Tenant:
        with self._lock:
            if name not in self._tenants:
                assert NAME.fullmatch(name), name
                self._make(name)
            return self._tenants[name]

    def environment(self, *names: str) -> dict[str, str]:
        """What to start Plugboard with, so that it takes this for the services."""
        found = {"PLUGBOARD_EGRESS_ALLOW": "127.0.0.1"}
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
            found |= {f"{name.upper()}_{key}": value for key, value in values.items()}
        if not names:
            found |= {f"{name.upper()}_API_BASE_URL": self.url(f"/{name}") for name in WITHOUT_OAUTH}
        return found

    async def answer(self, request: Request) -> Answer | None:
        if request.path.startswith("/admin/"):
            with self._lock:
                return self._admin.answer(request)
        found = self._found(request.path)
        if found is None:
            self.seen.append(Seen("", "", request.method, request.path, request.query, request.headers, {}, ""))
            return NOT_THERE
        seen = found.tenant.noted(found.endpoint.name, request)
        self.seen.append(seen)
        answer = await self._answered(found, request)
        seen.status = answer.status if answer else None
        return answer

    async def _answered(self, found: Found, request: Request) -> Answer | None:
        tenant, endpoint = found.tenant, found.endpoint
        fault = tenant.next_fault(endpoint.name)
        if fault is None or fault.after:
            answer = await self._worked(found, request)
        if fault is None:
            return answer
        if not fault.delays:
            return fault.answer(self._speakers[tenant.name].busy)
        await tenant.wait(endpoint.name, fault)
        return answer if fault.after else await self._worked(found, request)

    async def _worked(self, found: Found, request: Request) -> Answer:
        if request.method not in found.endpoint.methods:
            return said({"error": "method_not_allowed"}, 405, Allow=", ".join(found.endpoint.methods))
        await self._meet(found.tenant, request)
        with self._lock:
            return found.endpoint.answer(request)

    async def _meet(self, tenant: Tenant, request: Request) -> None:
        """A client that has a document about itself, if this is its first time here."""
        speaker = self._speakers[tenant.name]
        if isinstance(speaker, McpAuthorizationServer) and (url := speaker.document_of(request)):
            client = await asyncio.to_thread(speaker.fetched, url)
            if client:
                tenant.clients[url] = client

    def _found(self, path: str) -> Found | None:
        first, _, rest = path[1:].partition("/")
        if first in SERVICES:
            return self._spoken(first, f"/{rest}") or self._of_world(first, f"/{rest}")
        if first in WITHOUT_OAUTH:
            return self._of_world(first, f"/{rest}")
        if first in ("mcp", "mcp-as"):
            name, _, rest = rest.partition("/")
            if first == "mcp" and not rest:
                return self._resource(name)
            return self._metadata(path) or self._spoken(name, f"/{rest}")
        return self._metadata(path) or self._described(path) or self._spoken(self._at_root(), path)

    def _spoken(self, name: str, path: str) -> Found | None:
        speaker = self._speakers.get(name)
        endpoint = speaker.endpoints().get(path) if speaker else None
        return Found(self._tenants[name], endpoint) if endpoint else None

    def _of_world(self, name: str, path: str) -> Found | None:
        tenant = self.tenant(name)
        world = self.world(name)
        if world is None:
            return None
        return Found(tenant, Endpoint("api", EVERY, lambda request: world.answer(replace(request, path=path))))

    def world(self, name: str) -> World | None:
        """The vendor's API with its data; the same until the server is reset."""
        if name not in self._worlds:
            self._worlds[name] = world_of(name, self.tenant(name))
        return self._worlds[name]

    def _resource(self, name: str) -> Found | None:
        if name not in self._resources:
            return None
        return Found(self._tenants[name], Endpoint("mcp", ANY, self._resources[name].answer))

    def _metadata(self, path: str) -> Found | None:
        """Also where it is not: then it was looked for in vain."""
        appended, inserted = APPENDED.fullmatch(path), WELL_KNOWN.fullmatch(path)
        if appended:
            return self._document(appended[1], "oidc appended", oidc=True)
        if inserted:
            oidc = inserted[1] == "openid-configuration"
            return self._document(inserted[2] or self._at_root(), "oidc" if oidc else "oauth", oidc=oidc)
        return None

    def _document(self, name: str, place: str, *, oidc: bool) -> Found | None:
        speaker = self._speakers.get(name)
        if not isinstance(speaker, McpAuthorizationServer):
            return None
        is_there = place in speaker.tenant.behaviour.metadata_at
        answer = speaker.metadata(oidc=oidc) if is_there else NOT_THERE
        return Found(speaker.tenant, Endpoint("metadata", ("GET",), lambda _: answer))

    def _described(self, path: str) -> Found | None:
        if path == "/.well-known/oauth-protected-resource":
            at_root = (name for name in self._resources if "root" in self._tenants[name].behaviour.prm_at)
            return self._description(next(at_root, ""), "root")
        asked = RESOURCE_METADATA.fullmatch(path)
        return self._description(asked[2], "challenge" if asked[1] else "path") if asked else None

    def _description(self, name: str, place: str) -> Found | None:
        if name not in self._resources:
            return None
        is_there = place in self._tenants[name].behaviour.prm_at
        answer = self._resources[name].resource_metadata() if is_there else NOT_THERE
        return Found(self._tenants[name], Endpoint("prm", ("GET",), lambda _: answer))

    def _at_root(self) -> str:
        return next((name for name, each in self._tenants.items() if each.behaviour.at_root), "")

    def _make(self, name: str) -> None:
        if service := SERVICES.get(name):
            callback = f"*/api/mcp/oauth/{name}/callback"
            both = ("client_secret_basic", "client_secret_post")
            client = Client(f"{name}-client", f"canary-{name}-secret", both, (callback,), name="Plugboard")
            tenant = Tenant(name, self.origin, self._lock, client)
            tenant.behave(**service.behaviour)
            self._speakers[name] = service(tenant)
        else:
            tenant = Tenant(name, self.origin, self._lock)
            self._speakers[name] = McpAuthorizationServer(tenant, self._trusts)
            self._resources[name] = ProtectedServer(tenant, self._good)
        tenant.behave(consent=self._consent)
        self._tenants[name] = tenant

    def _trusts(self, tenant: Tenant, resource: str) -> bool:
        """Whether the MCP server at `resource` takes the tokens of a tenant's authorization server."""
        named = [self._tenants[name] for name in self._resources]
        return any(each.mcp_url == resource and tenant.issuer in each.authorization_servers for each in named)

    def _good(self, resource: Tenant, text: str | None) -> Token | None:
        """No token is taken that was made for another server."""
        trusted = [each for each in self._tenants.values() if each.issuer in resource.authorization_servers]
        tokens = [token for each in trusted if (token := each.grants.good(text))]
        allowed = (resource.mcp_url,) if resource.behaviour.demands_resource else (resource.mcp_url, None)
        return next((token for token in tokens if token.family.resource in allowed), None)


@contextmanager
def authorization_server() -> Iterator[Server]:
    server = Server()
    with listening(app_of(server), Cuttable) as origin:
        server.begin(origin)
        try:
            yield server
        finally:
            server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="A provider to try Connect with, without an account anywhere.")
    parser.add_argument("--port", type=int, default=8402)
    parser.add_argument("--consent", choices=("page", "at once", "deny"), default="page")
    chosen = parser.parse_args()
    server = Server(chosen.consent)
    server.begin(f"http://127.0.0.1:{chosen.port}")
    _say(server)
    uvicorn.run(
        app_of(server),
        port=chosen.port,
        http=Cuttable,
        log_level="warning",
        timeout_graceful_shutdown=2,  # what is held then is given up, or nobody could stop it
    )


def _say(server: Server) -> None:
    exports = [f"export {name}={value}" for name, value in server.environment().items()]
    server.tenant("demo").add_client("demo-machine", secret="demo-secret", grants=("client_credentials",))
    lines = [
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
