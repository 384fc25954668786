"""Token requests: refresh tokens and client credentials (RFC 6749 sections 6 and 4.4)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

import msgspec

from api.access.context import WorkspaceContext
from api.connections.authorization_request import AuthorizationRequests
from api.connections.dependencies import AuthServerHttpFactory
from api.connections.encryption import TokenSealer
from api.connections.oauth_clients import ClientUnavailable, OAuthClients
from api.connections.repository import REFRESH, Grant
from api.connections.tokens.errors import RefreshFailed
from api.errors import NotConnectable, ServiceUnavailable
from api.servers.server import Server
from api.upstream_http import AuthServerHttp
from integrations import (
    STANDARD_ERRORS,
    AuthorizationServer,
    GrantRefused,
    OAuthClient,
    Tokens,
    client_credentials,
    refresh,
)

NO_REFRESH_TOKEN = "no_refresh_token"  # noqa: S105  a reason, no token
# These errors end the grant. The cause of any other error can be corrected, and then the grant is still valid.
GRANT_ENDING_ERRORS = frozenset({"invalid_grant", NO_REFRESH_TOKEN})
KNOWN_ERRORS = GRANT_ENDING_ERRORS | STANDARD_ERRORS
CLIENT_GONE = "The OAuth client that this server was connected with is no longer set up."


@dataclass(frozen=True, slots=True)
class RefreshRequest:
    """Everything that the token request needs, collected before the lease is taken."""

    http: AuthServerHttp
    provider: AuthorizationServer
    client: OAuthClient
    grant: Grant
    refresh: str | None = field(repr=False)
    """None for the client credentials grant."""


class TokenRefresher:
    def __init__(
        self,
        sealer: TokenSealer,
        *,
        authorization_requests: AuthorizationRequests,
        oauth_clients: OAuthClients,
        auth_http: AuthServerHttpFactory,
    ) -> None:
        self._sealer = sealer
        self._requests = authorization_requests
        self._oauth_clients = oauth_clients
        self._auth_http = auth_http

    async def build_request(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> RefreshRequest:
        provider = msgspec.convert(grant.provider, AuthorizationServer)
        client = await self._client(ctx, server, grant, provider)
        refresh_token = None if grant.by_client else await self._refresh_token(ctx, server, grant)
        return RefreshRequest(self._auth_http.for_server(ctx, server), provider, client, grant, refresh_token)

    async def send(self, request: RefreshRequest) -> Tokens:
        """`GrantRefused` ends the grant; `GrantUnavailable` and `RefreshFailed` do not."""
        http, provider, client = request.http, request.provider, request.client
        try:
            if request.refresh is None:
                return await client_credentials(http, provider, client, request.grant.scopes)
            return await refresh(http, provider, client, request.refresh)
        except GrantRefused as error:
            if _ends_grant(request.grant, error):
                raise
            raise RefreshFailed(_refusal_text(request.grant, error)) from error

    async def client_credentials_grant(self, ctx: WorkspaceContext, server: Server) -> Grant:
        """A new grant without tokens: the first token request follows."""
        try:
            request = await self._requests.build(ctx, server)
        except (NotConnectable, ServiceUnavailable) as error:
            raise RefreshFailed(error.detail) from error
        provider = msgspec.to_builtins(request.provider)
        return Grant(secrets.token_hex(12), server.id, provider, request.ref, request.scopes, by_client=True)

    async def _refresh_token(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> str:
        token = await self._sealer.token(ctx, server, grant, REFRESH)
        if token is None:
            raise GrantRefused(NO_REFRESH_TOKEN)
        return token

    async def _client(
        self, ctx: WorkspaceContext, server: Server, grant: Grant, provider: AuthorizationServer
    ) -> OAuthClient:
        try:
            return await self._oauth_clients.load(ctx, server, grant.client, provider.identity)
        except ClientUnavailable as error:
            raise RefreshFailed(CLIENT_GONE) from error


def _refusal_text(grant: Grant, error: GrantRefused) -> str:
    """Quotes the error code only if it is one of the standard."""
    code = error.error if error.error in KNOWN_ERRORS else "a non-standard error code"
    if grant.by_client:
        return (
            f"The authorization server refuses this server's client ({code}). Check `clientId`, the secret or "
            "key, and `scope` in its `config`."
        )
    return f"The authorization server refuses to refresh the tokens ({code})."


def _ends_grant(grant: Grant, error: GrantRefused) -> bool:
    is_registration_gone = grant.client.kind == "registered" and error.error == "invalid_client"
    return not grant.by_client and (error.error in GRANT_ENDING_ERRORS or is_registration_gone)
