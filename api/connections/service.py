"""Connections of servers: start, status and disconnect."""

from __future__ import annotations

from dataclasses import dataclass, replace

from api.access.context import WorkspaceContext
from api.audit.events import Action, AuditEvent
from api.audit.journal import Journal
from api.connections.consent.tickets import ConsentTickets
from api.connections.repository import ACCESS, Grant, GrantRepository
from api.connections.revocation.grant_end import GrantEnd
from api.errors import NotConnectable, NotFound
from api.kit.clock import rfc3339
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.store import Store
from api.servers.records import ServerRecords
from api.servers.server import AuthType, Connection, Server

NO_CONSENT_NEEDED = (
    "This server needs no user consent: the client in its `config` requests tokens on its own. If it was disconnected, "
    "connect it with `POST …/oauth/connect`."
)
CONSENT_NEEDED = "A person has to consent before this server is connected: open the URL of `GET …/oauth/authorize`."
NO_OAUTH = "This server does not use OAuth. To connect it, set its `authType` to `oauth` first."


@dataclass(frozen=True, slots=True)
class Status:
    server: Server
    connection: Connection | None = None
    expires_at: str | None = None
    problem: str | None = None
    """Why the last request for tokens failed, if a person can correct it."""


class ConnectionService:
    def __init__(
        self, ctx: WorkspaceContext, *, store: Store, journal: Journal, tickets: ConsentTickets, grant_end: GrantEnd
    ) -> None:
        self._ctx = ctx
        self._store = store
        self._journal = journal
        self._tickets = tickets
        self._grant_end = grant_end

    async def start(self, server_id: str, return_to: str | None) -> str:
        """The URL of the page on which a person starts the consent."""
        return_to = self._tickets.check_return_to(return_to)
        server = await self._server(server_id)
        if server.connects_by_client:
            raise NotConnectable(NO_CONSENT_NEEDED)
        return await self._tickets.issue(self._ctx, server, return_to)

    async def status(self, server_id: str) -> Status:
        server = await self._server(server_id)
        grant = await GrantRepository(self._store, self._ctx).get(server_id)
        return _status(server, grant) if grant else Status(server, server.connection)

    async def connect(self, server_id: str) -> Status:
        """Connects a server that needs no consent. Its client requests tokens when they are needed."""
        return await retry_on_conflict(lambda: self._connect(server_id))

    async def _connect(self, server_id: str) -> Status:
        server = await self._server(server_id)
        if not server.connects_by_client:
            raise NotConnectable(CONSENT_NEEDED)
        if not server.disconnected:
            return await self.status(server_id)
        changes = ServerRecords(self._store, self._ctx).client_connection_changes(server)
        await self._journal.commit(self._ctx, changes, AuditEvent(Action.SERVER_CONNECTED, server.id, server.name))
        return Status(replace(server, disconnected=False))

    async def disconnect(self, server_id: str) -> Status:
        """The tokens are deleted at once, and revoked as soon as the authorization server responds."""
        server = await retry_on_conflict(lambda: self._disconnect(server_id))
        self._grant_end.after_commit()
        return Status(server)

    async def _disconnect(self, server_id: str) -> Server:
        server = await self._server(server_id)
        end_changes = await self._grant_end.end_changes(self._ctx, server)
        if not (end_changes or server.connection or server.is_connected):
            return server
        changes = [*end_changes, *ServerRecords(self._store, self._ctx).connection_changes(server, None)]
        event = AuditEvent(Action.SERVER_DISCONNECTED, server.id, server.name)
        await self._journal.commit(self._ctx, changes, event)
        return replace(server, connection=None, disconnected=True)

    async def _server(self, server_id: str) -> Server:
        server = await ServerRecords(self._store, self._ctx).get(server_id)
        if server is None:
            raise NotFound
        if server.auth_type != AuthType.OAUTH:
            raise NotConnectable(NO_OAUTH)
        return server


def _status(server: Server, grant: Grant) -> Status:
    expires_at = None if grant.expires_at is None else rfc3339(grant.expires_at)
    return Status(server, _connection(server, grant), expires_at, grant.problem or None)


def _connection(server: Server, grant: Grant) -> Connection | None:
    """The connection of a server; with the client credentials grant it is not stored but derived from the grant."""
    if server.connection or not grant.by_client or ACCESS not in grant.sealed:
        return server.connection
    return Connection(grant.id, rfc3339(grant.renewed_at), asked=grant.scopes, granted=grant.scopes)
