"""The authorization request for a server: authorization server, client, scopes and redirect URI."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from api.access.context import WorkspaceContext
from api.connections.dependencies import AuthServerHttpFactory, ConfiguredService, PublicUrls
from api.connections.grant_secrets import GrantSecrets
from api.connections.oauth_clients import ConfiguredClient, OAuthClients
from api.connections.repository import OAuthClientRef
from api.errors import NotConnectable, ServiceUnavailable
from api.servers.server import EXTERNAL, Server
from integrations import (
    Authorization,
    AuthorizationServer,
    NotAuthorizable,
    OAuthClient,
    UpstreamError,
    discover,
    register_client,
)

CLIENT_NAME = "Plugboard"
DOCUMENT = "/client-metadata"
SUFFIX_LENGTH = 32
DISCOVERY_SECONDS = 20.0
OTHER_ISSUER = (
    "The server now names another authorization server than the one that its client secret was used with. If this is "
    "correct, enter the client that is registered with the new one."
)
DISCOVERY_TIMED_OUT = (
    "Discovery of the server's authorization server timed out. Check the server (`POST …/check`), then try again."
)
DISCOVERY_FAILED = (
    "The server or its authorization server gave no valid response. Check the server (`POST …/check`) and its `url`, "
    "then try again."
)
REGISTRATION_FAILED = (
    "The authorization server gave no valid response when Plugboard registered its client. Try again later, or "
    "register an app there and set its `clientId` in `config`."
)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    provider: AuthorizationServer
    client: OAuthClient
    ref: OAuthClientRef
    scopes: tuple[str, ...]
    redirect_uri: str


class AuthorizationRequests:
    def __init__(
        self,
        *,
        services: Mapping[str, ConfiguredService],
        oauth_clients: OAuthClients,
        auth_http: AuthServerHttpFactory,
        public: PublicUrls,
        grant_secrets: GrantSecrets,
    ) -> None:
        self._grant_secrets = grant_secrets
        self._services = services
        self._oauth_clients = oauth_clients
        self._auth_http = auth_http
        self._public = public

    async def build(self, ctx: WorkspaceContext, server: Server) -> AuthorizationRequest:
        if server.service_type != EXTERNAL:
            return self._for_service(server.service_type)
        configured = await self._oauth_clients.configured(ctx, server)
        return await self._for_external(ctx, server, await self._discover(ctx, server), configured)

    async def _discover(self, ctx: WorkspaceContext, server: Server) -> Authorization:
        grant: Literal["authorization_code", "client_credentials"] = (
            "client_credentials" if server.connects_by_client else "authorization_code"
        )
        try:
            async with asyncio.timeout(DISCOVERY_SECONDS):
                return await discover(self._auth_http.for_server(ctx, server), server.url or "", grant=grant)
        except NotAuthorizable as error:
            raise NotConnectable(error.text) from error
        except TimeoutError as error:
            raise ServiceUnavailable(DISCOVERY_TIMED_OUT) from error
        except UpstreamError as error:
            raise ServiceUnavailable(DISCOVERY_FAILED) from error

    def _for_service(self, service_type: str) -> AuthorizationRequest:
        configured, app = self._services.get(service_type), self._oauth_clients.app(service_type)
        if configured is None or configured.service.oauth is None:
            raise NotConnectable("This service does not exist any more.")
        service = configured.service
        if app is None:
            variables = f"{service.client_id_variable} and {service.client_secret_variable}"
            raise NotConnectable(f"{service.title} is not set up here. The operator has to set {variables}.")
        ref = OAuthClientRef("service", app.id, app.auth)
        redirect_uri = self._public.callback(service_type)
        return AuthorizationRequest(configured.provider, app, ref, configured.service.oauth.scopes, redirect_uri)

    async def _for_external(
        self, ctx: WorkspaceContext, server: Server, authorization: Authorization, configured: ConfiguredClient
    ) -> AuthorizationRequest:
        """The client is, in this order: the configured one, our metadata document, or one that we register."""
        provider = authorization.provider
        suffix = None if provider.promises_issuer else issuer_suffix(provider)
        redirect_uri = self._public.callback(EXTERNAL, suffix)
        named = authorization.scopes if configured.scopes is None else configured.scopes
        redact = await self._grant_secrets.redactor(ctx, server)
        scopes = redact.without_secrets(_requested_scopes(server, named))
        if configured.id:
            client = await self._configured_client(ctx, server, authorization, configured)
            ref = OAuthClientRef("given", client.id, client.auth)
            redirect_uri = redirect_uri if client.auth == "none" else self._public.callback(EXTERNAL)
        elif authorization.takes_metadata_document and self._public.is_secure:
            client = OAuthClient(document_url(self._public.url, suffix), "none")
            ref = OAuthClientRef("document", client.id, "none")
        else:
            client = await self._registered_client(ctx, server, replace(authorization, scopes=scopes), redirect_uri)
            ref = OAuthClientRef("registered", client.id, client.auth)
        return AuthorizationRequest(provider, client, ref, scopes, redirect_uri)

    async def _configured_client(
        self, ctx: WorkspaceContext, server: Server, authorization: Authorization, configured: ConfiguredClient
    ) -> OAuthClient:
        issuer = authorization.provider.identity
        if not await self._oauth_clients.may_send_secret_to(ctx, server, configured, issuer):
            raise NotConnectable(OTHER_ISSUER)
        return configured.client(authorization.auth_methods)

    async def _registered_client(
        self, ctx: WorkspaceContext, server: Server, authorization: Authorization, redirect_uri: str
    ) -> OAuthClient:
        issuer, scopes = authorization.provider.identity, authorization.scopes
        existing = await self._oauth_clients.registered(ctx, issuer, redirect_uri, scopes)
        if existing:
            return existing
        http, url = self._auth_http.for_server(ctx, server), self._public.url
        try:
            registration = await register_client(
                http, authorization, redirect_uri=redirect_uri, client_name=CLIENT_NAME, client_uri=url
            )
        except NotAuthorizable as error:
            raise NotConnectable(error.text) from error
        except UpstreamError as error:
            raise ServiceUnavailable(REGISTRATION_FAILED) from error
        client = registration.client
        await self._oauth_clients.register(ctx, issuer, client, redirect_uri, scopes, registration.expires_at)
        return client


def issuer_suffix(provider: AuthorizationServer) -> str:
    """Distinguishes the redirect URIs of issuers that do not send `iss` (RFC 9207), against mix-up attacks."""
    return hashlib.sha256(provider.identity.encode()).hexdigest()[:SUFFIX_LENGTH]


def document_url(public_url: str, suffix: str | None) -> str:
    return f"{public_url}{DOCUMENT}{'/' + suffix if suffix else ''}.json"


def _requested_scopes(server: Server, scopes: Sequence[str]) -> tuple[str, ...]:
    """The scopes to request, including those granted before and those that tools have turned out to need."""
    connection = server.connection
    if connection is None or not connection.wanted:
        return tuple(scopes)
    return tuple(dict.fromkeys((*scopes, *connection.granted, *connection.wanted)))
