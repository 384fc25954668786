"""How is an authorization server asked for new tokens? Once, by whoever holds the lease."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

import msgspec

from api.access.context import WorkspaceContext
from api.connections.authorization_request import AuthorizationRequests
from api.connections.dependencies import ConnectionDeps
from api.connections.encryption import TokenSealer
from api.connections.http import AuthServerHttp
from api.connections.oauth_clients import ClientUnavailable
from api.connections.repository import REFRESH, Grant
from api.errors import NotConnectable, ServiceUnavailable
from api.servers.service import Server
from integrations import (
    AuthorizationServer,
    GrantRefused,
    OAuthClient,
    Tokens,
    client_credentials,
    refresh,
)

NO_REFRESH_TOKEN = "no_refresh_token"  # noqa: S105  a reason, no token
# What is said of the grant. Anything else may be put right here, and then the grant is as good as before.
ENDED = frozenset({"invalid_grant", NO_REFRESH_TOKEN})
WORDS = ENDED | {
    *("access_denied", "invalid_client", "invalid_request", "invalid_scope", "invalid_target"),
    *("unauthorized_client", "unsupported_grant_type"),
}


class RefreshFailed(Exception):
    """Nothing is known against the grant, and yet there are no new tokens."""


@dataclass(frozen=True, slots=True)
class RefreshRequest:
    """All that is needed to ask, so that nothing else has to be waited for once the lease is taken."""

    line: AuthServerHttp
    provider: AuthorizationServer
    client: OAuthClient
    grant: Grant
    refresh: str | None = field(repr=False)
    """None for a client that asks in its own name."""


class TokenRefresher:
    def __init__(self, works: ConnectionDeps, sealer: TokenSealer) -> None:
        self._works = works
        self._sealer = sealer

    async def build_request(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> RefreshRequest:
        provider = msgspec.convert(grant.provider, AuthorizationServer)
        client = await self._client(ctx, server, grant, provider)
        refresh = None if grant.by_client else await self._refresh_token(ctx, server, grant)
        return RefreshRequest(self._works.auth_http.for_server(ctx, server), provider, client, grant, refresh)

    async def send(self, question: RefreshRequest) -> Tokens:
        """`GrantRefused` ends the grant; `GrantUnavailable` and `RefreshFailed` do not."""
        line, provider, client = question.line, question.provider, question.client
        try:
            if question.refresh is None:
                return await client_credentials(line, provider, client, question.grant.scopes)
            return await refresh(line, provider, client, question.refresh)
        except GrantRefused as error:
            if _ends(question.grant, error):
                raise
            raise RefreshFailed(_told(question.grant, error)) from error

    async def begun(self, ctx: WorkspaceContext, server: Server) -> Grant:
        """For a client that asks in its own name: nobody has to consent."""
        try:
            aim = await AuthorizationRequests(ctx, self._works).build(server)
        except (NotConnectable, ServiceUnavailable) as error:
            raise RefreshFailed(error.detail) from error
        provider = msgspec.to_builtins(aim.provider)
        return Grant(secrets.token_hex(12), server.id, provider, aim.ref, aim.scopes, by_client=True)

    async def _refresh_token(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> str:
        found = await self._sealer.token(ctx, server, grant, REFRESH)
        if found is None:
            raise GrantRefused(NO_REFRESH_TOKEN)
        return found

    async def _client(
        self, ctx: WorkspaceContext, server: Server, grant: Grant, provider: AuthorizationServer
    ) -> OAuthClient:
        try:
            return await self._works.oauth_clients.load(ctx, server, grant.client, provider.identity)
        except ClientUnavailable as error:
            raise RefreshFailed("The OAuth client that this was connected with is not set up any more.") from error


def _told(grant: Grant, error: GrantRefused) -> str:
    """Of what it says, a word that the RFC has."""
    word = error.error if error.error in WORDS else "an error of its own"
    if grant.by_client:
        return (
            f"The authorization server refuses this server's client ({word}). Check `clientId`, the secret or "
            "key, and `scope` in its `config`."
        )
    return f"The authorization server does not renew the tokens ({word})."


def _ends(grant: Grant, error: GrantRefused) -> bool:
    is_forgotten = grant.client.kind == "registered" and error.error == "invalid_client"
    return not grant.by_client and (error.error in ENDED or is_forgotten)
