"""What can be done with the connection of a server: begin one, look at it, end it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from api.access.context import WorkspaceContext
from api.audit.journal import Event
from api.connections.authorization_request import Aim, Aims
from api.connections.consent.return_to import check_return_to
from api.connections.consent.state import Pending, given_of
from api.connections.dependencies import ConnectionWorks
from api.connections.repository import ACCESS, Grant, Grants
from api.connections.revocation.grant_end import Endings
from api.connections.tokens.access_tokens import Fresh, TokenKeeper
from api.connections.tokens.active_grant import NotConnected, NotNow, ReconnectRequired
from api.errors import NotConnectable, NotFound
from api.kit.clock import rfc3339
from api.kit.storage.conflict_retry import until_it_holds
from api.servers.service import AuthType, Connection, OAuthGrant, Server, place_of, server_now, with_connection

__all__ = [
    "ConnectionService",
    "Fresh",
    "NotConnected",
    "NotNow",
    "ReconnectRequired",
    "TokenKeeper",
]

BY_ITSELF = "This server needs nobody's consent: its client in `config` gets tokens by itself."


@dataclass(frozen=True, slots=True)
class Status:
    server: Server
    connection: Connection | None
    expires_at: str | None


class ConnectionService:
    def __init__(self, ctx: WorkspaceContext, works: ConnectionWorks, endings: Endings) -> None:
        self._ctx = ctx
        self._works = works
        self._endings = endings

    async def start(self, server_id: str, return_to: str | None) -> str:
        """The URL of a page on which somebody can go on."""
        place = check_return_to(return_to, self._works.public.all_origins)
        server = await self._server(server_id)
        if server.oauth_grant == OAuthGrant.CLIENT_CREDENTIALS:
            raise NotConnectable(BY_ITSELF)
        with self._works.starts.enter(self._ctx.workspace_id):
            aim = await Aims(self._ctx, self._works).of(server)
        ticket = await self._works.pendings.open(self._pending(server, aim, place))
        return f"{self._works.public.url}/connect/{ticket}"

    def _pending(self, server: Server, aim: Aim, return_to: str | None) -> Pending:
        return Pending(
            self._ctx.workspace_id,
            server.id,
            server.name,
            server.service_type,
            server.url,
            place_of(server, self._works.lines.anywhere.egress),
            given_of(server, aim.ref),
            self._ctx.caller.key_id,
            msgspec.to_builtins(aim.provider),
            aim.ref,
            aim.scopes,
            aim.redirect_uri,
            return_to,
        )

    async def status(self, server_id: str) -> Status:
        server = await self._server(server_id)
        grant = await Grants(self._works.store, self._ctx).now(server_id)
        ends = grant.expires_at if grant else None
        return Status(server, _shown(server, grant), None if ends is None else rfc3339(ends))

    async def disconnect(self, server_id: str) -> Status:
        """Forgotten at once; the authorization server is told as soon as it can be."""
        server = await until_it_holds(lambda: self._disconnect(server_id))
        self._endings.were_ended()
        return Status(server, None, None)

    async def _disconnect(self, server_id: str) -> Server:
        server = await self._server(server_id)
        ended = await self._endings.ended(self._ctx, server)
        if not ended and server.connection is None:
            return server
        changes = [*ended, *with_connection(self._works.store, self._ctx, server, None)]
        event = Event("server.disconnected", server.id, server.name)
        await self._works.journal.commit(self._ctx, changes, event)
        return replace(server, connection=None)

    async def _server(self, server_id: str) -> Server:
        server = await server_now(self._works.store, self._ctx, server_id)
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
