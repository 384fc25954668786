"""Where does consent to a server's use have to be asked for, as whom, and for what?"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from api.access.context import WorkspaceContext
from api.connections.dependencies import ConnectionDeps
from api.connections.oauth_clients import ConfiguredClient
from api.connections.repository import OAuthClientRef
from api.errors import NotConnectable, ServiceUnavailable
from api.servers.service import EXTERNAL, OAuthGrant, Server
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
BY_ISSUER = 32
DISCOVERY_SECONDS = 20.0
OTHER_ISSUER = (
    "The server names another authorization server now than the one that its client secret was used with. If that is "
    "right, enter the client that it has there."
)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    provider: AuthorizationServer
    client: OAuthClient
    ref: OAuthClientRef
    scopes: tuple[str, ...]
    redirect_uri: str


class AuthorizationRequests:
    def __init__(self, ctx: WorkspaceContext, works: ConnectionDeps) -> None:
        self._ctx = ctx
        self._works = works

    async def build(self, server: Server) -> AuthorizationRequest:
        if server.service_type != EXTERNAL:
            return self._of_service(server.service_type)
        given = await self._works.oauth_clients.configured(self._ctx, server)
        found = await self.authorization(server)
        return await self._of_any(server, found, given)

    async def authorization(self, server: Server) -> Authorization:
        try:
            grant: Literal["authorization_code", "client_credentials"] = (
                "client_credentials" if server.oauth_grant == OAuthGrant.CLIENT_CREDENTIALS else "authorization_code"
            )
            async with asyncio.timeout(DISCOVERY_SECONDS):
                return await discover(
                    self._works.auth_http.for_server(self._ctx, server), server.url or "", grant=grant
                )
        except NotAuthorizable as error:
            raise NotConnectable(error.text) from error
        except TimeoutError as error:
            raise ServiceUnavailable(
                "It takes too long to find out who authorizes for this server. Try again later."
            ) from error
        except UpstreamError as error:
            raise ServiceUnavailable(
                "The server, or who authorizes for it, did not answer as it should. Try again."
            ) from error

    def _of_service(self, service_type: str) -> AuthorizationRequest:
        vendor, app = self._works.services.get(service_type), self._works.oauth_clients.app(service_type)
        if vendor is None or vendor.service.oauth is None:
            raise NotConnectable("There is no such service any more.")
        if app is None:
            needs = f"{vendor.service.client_id_variable} and {vendor.service.client_secret_variable}"
            raise NotConnectable(f"{vendor.service.title} is not set up here. The operator has to set {needs}.")
        redirect_uri = self._works.public.callback(service_type)
        ref = OAuthClientRef("service", app.id, app.auth)
        return AuthorizationRequest(vendor.provider, app, ref, vendor.service.oauth.scopes, redirect_uri)

    async def _of_any(self, server: Server, found: Authorization, given: ConfiguredClient) -> AuthorizationRequest:
        """A client of the user's own is best; then one that we publish; then one that we register."""
        provider, public = found.provider, self._works.public
        suffix = None if provider.promises_issuer else issuer_suffix(provider)
        redirect_uri = public.callback(EXTERNAL, suffix)
        scopes = _with_wanted(server, given.scopes if given.scopes is not None else found.scopes)
        if given.id:
            if not await self._works.oauth_clients.may_send_secret_to(self._ctx, server, given, provider.identity):
                raise NotConnectable(OTHER_ISSUER)
            client = given.client(found.auth_methods)
            way_back = redirect_uri if client.auth == "none" else public.callback(EXTERNAL)
            return AuthorizationRequest(
                provider, client, OAuthClientRef("given", client.id, client.auth), scopes, way_back
            )
        if found.takes_metadata_document and public.is_secure:
            client = OAuthClient(document_url(public.url, suffix), "none")
            return AuthorizationRequest(
                provider, client, OAuthClientRef("document", client.id, "none"), scopes, redirect_uri
            )
        client = await self._registered(server, replace(found, scopes=scopes), redirect_uri)
        return AuthorizationRequest(
            provider, client, OAuthClientRef("registered", client.id, client.auth), scopes, redirect_uri
        )

    async def _registered(self, server: Server, found: Authorization, redirect_uri: str) -> OAuthClient:
        issuer = found.provider.identity
        clients = self._works.oauth_clients
        known = await clients.registered(self._ctx, issuer, redirect_uri, found.scopes)
        if known:
            return known
        line, public = self._works.auth_http.for_server(self._ctx, server), self._works.public
        try:
            made = await register_client(
                line, found, redirect_uri=redirect_uri, client_name=CLIENT_NAME, client_uri=public.url
            )
        except NotAuthorizable as error:
            raise NotConnectable(error.text) from error
        except UpstreamError as error:
            raise ServiceUnavailable("The authorization server did not answer as it should. Try again.") from error
        await clients.keep(self._ctx, issuer, made.client, redirect_uri, found.scopes, made.expires_at)
        return made.client


def issuer_suffix(provider: AuthorizationServer) -> str:
    """A way back of its own for each issuer that does not name itself there: no answer of one passes for another's."""
    return hashlib.sha256(provider.identity.encode()).hexdigest()[:BY_ISSUER]


def document_url(public_url: str, suffix: str | None) -> str:
    return f"{public_url}{DOCUMENT}{'/' + suffix if suffix else ''}.json"


def _with_wanted(server: Server, found: Sequence[str]) -> tuple[str, ...]:
    """Where tools have turned out to need more, what was granted before is asked for again, and that with it."""
    connection = server.connection
    if connection is None or not connection.wanted:
        return tuple(found)
    return tuple(dict.fromkeys((*found, *connection.granted, *connection.wanted)))
