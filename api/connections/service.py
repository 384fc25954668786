"""What can be done with the connection of a server: begin one, look at it, end it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from api.access.context import WorkspaceContext
from api.audit.journal import AuditEvent
from api.connections.authorization_request import AuthorizationRequest, AuthorizationRequests
from api.connections.consent.return_to import check_return_to
from api.connections.consent.state import AuthorizationState, given_of
from api.connections.dependencies import ConnectionDeps
from api.connections.repository import ACCESS, Grant, GrantRepository
from api.connections.revocation.grant_end import GrantEnd
from api.connections.tokens.access_tokens import AccessToken, AccessTokens
from api.connections.tokens.active_grant import NotConnected, ReconnectRequired, TokenTemporarilyUnavailable
from api.errors import NotConnectable, NotFound
from api.kit.clock import rfc3339
from api.kit.storage.conflict_retry import retry_on_conflict
from api.servers.service import (
    AuthType,
    Connection,
    OAuthGrant,
    Server,
    credential_binding,
    get_server,
    with_connection,
)

__all__ = [
    "AccessToken",
    "AccessTokens",
    "ConnectionService",
    "NotConnected",
    "ReconnectRequired",
    "TokenTemporarilyUnavailable",
]

BY_ITSELF = "This server needs nobody's consent: its client in `config` gets tokens by itself."


@dataclass(frozen=True, slots=True)
class Status:
    server: Server
    connection: Connection | None
    expires_at: str | None


class ConnectionService:
    def __init__(self, ctx: WorkspaceContext, works: ConnectionDeps, endings: GrantEnd) -> None:
        self._ctx = ctx
        self._works = works
        self._endings = endings

    async def start(self, server_id: str, return_to: str | None) -> str:
        """The URL of a page on which somebody can go on."""
        place = check_return_to(return_to, self._works.public.all_origins)
        server = await self._server(server_id)
        if server.oauth_grant == OAuthGrant.CLIENT_CREDENTIALS:
            raise NotConnectable(BY_ITSELF)
        with self._works.start_limit.enter(self._ctx.workspace_id):
            aim = await AuthorizationRequests(self._ctx, self._works).build(server)
        ticket = await self._works.states.open_ticket(self._pending(server, aim, place))
        return f"{self._works.public.url}/connect/{ticket}"

    def _pending(self, server: Server, aim: AuthorizationRequest, return_to: str | None) -> AuthorizationState:
        return AuthorizationState(
            self._ctx.workspace_id,
            server.id,
            server.name,
            server.service_type,
            server.url,
            credential_binding(server, self._works.auth_http.anywhere.egress),
            given_of(server, aim.ref),
            self._ctx.principal.id,
            msgspec.to_builtins(aim.provider),
            aim.ref,
            aim.scopes,
            aim.redirect_uri,
            return_to,
        )

    async def status(self, server_id: str) -> Status:
        server = await self._server(server_id)
        grant = await GrantRepository(self._works.store, self._ctx).now(server_id)
        ends = grant.expires_at if grant else None
        return Status(server, _shown(server, grant), None if ends is None else rfc3339(ends))

    async def disconnect(self, server_id: str) -> Status:
        """Forgotten at once; the authorization server is told as soon as it can be."""
        server = await retry_on_conflict(lambda: self._disconnect(server_id))
        self._endings.after_commit()
        return Status(server, None, None)

    async def _disconnect(self, server_id: str) -> Server:
        server = await self._server(server_id)
        ended = await self._endings.end_changes(self._ctx, server)
        if not ended and server.connection is None:
            return server
        changes = [*ended, *with_connection(self._works.store, self._ctx, server, None)]
        event = AuditEvent("server.disconnected", server.id, server.name)
        await self._works.journal.commit(self._ctx, changes, event)
        return replace(server, connection=None)

    async def _server(self, server_id: str) -> Server:
        server = await get_server(self._works.store, self._ctx, server_id)
        if server is None:
            raise NotFound
        if server.auth_type != AuthType.OAUTH:
            raise NotConnectable("This server does not use OAuth. Set its `authType` to `oauth` first, if it should.")
        return server


def _shown(server: Server, grant: Grant | None) -> Connection | None:
    """Of a client that asks in its own name, what it has got."""
    if server.connection or grant is None or not grant.by_client or ACCESS not in grant.sealed:
        return server.connection
    return Connection(grant.id, rfc3339(grant.renewed_at), asked=grant.scopes, granted=grant.scopes)
