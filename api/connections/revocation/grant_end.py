"""The end of a grant: it is deleted here at once, and revoked at the authorization server by the queue."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from api.access.context import WorkspaceContext, as_system
from api.audit.events import Action, AuditEvent
from api.audit.journal import Journal
from api.connections.encryption import TokenSealer
from api.connections.oauth_clients import ClientUnavailable, OAuthClients
from api.connections.repository import ACCESS, REFRESH, Grant, GrantRepository
from api.connections.revocation.job import RevocationSecrets
from api.connections.revocation.queue import RevocationQueue
from api.errors import NotFound
from api.kit.crypto.envelope import CannotOpen
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.store import Change, Conflict, Store, StoreUnavailable
from api.servers.records import ServerRecords
from api.servers.server import Server
from integrations import AuthorizationServer, OAuthClient, Tokens

GRANTS_PAGE = 20
MAX_WANTED_LENGTH = 2000
"""The limit in characters for all scopes that tools have turned out to need, since a server could name any number."""

log = logging.getLogger(__name__)


class GrantEnd:
    """Implements `GrantLifecycle` of the servers."""

    def __init__(
        self, store: Store, journal: Journal, sealer: TokenSealer, oauth_clients: OAuthClients, queue: RevocationQueue
    ) -> None:
        self._store = store
        self._journal = journal
        self._sealer = sealer
        self._oauth_clients = oauth_clients
        self._queue = queue

    async def end_changes(self, ctx: WorkspaceContext, server: Server) -> list[Change]:
        grants = GrantRepository(self._store, ctx)
        grant = await grants.get(server.id)
        if grant is None:
            return []
        return [grants.deletion(grant), *await self._revocation(ctx, server, grant)]

    async def replacement_changes(self, ctx: WorkspaceContext, server: Server, account_id: str | None) -> list[Change]:
        """The old grant is revoked only if it belongs to another account: for the same account, the authorization
        server may treat both as one grant."""
        old_account = server.connection.account.get("id") if server.connection else None
        grant = await GrantRepository(self._store, ctx).get(server.id)
        if grant is None or grant.ended or not old_account or not account_id or old_account == account_id:
            return []
        return await self._revocation(ctx, server, grant)

    def after_commit(self) -> None:
        self._queue.wake()

    async def mark_ended(self, ctx: WorkspaceContext, server: Server, grant: Grant, reason: str) -> bool:
        """The authorization server has ended the grant. Its record remains, so that people see what was connected.

        False if the grant was refreshed in the meantime: then the refusal concerned an old token.
        """
        system = as_system(ctx)
        try:
            return await retry_on_conflict(lambda: self._mark_ended(system, server.id, grant, reason))
        except (NotFound, StoreUnavailable):  # the next refresh gets the same refusal and records it
            log.info("the end of a grant was not recorded")
            return True

    async def _mark_ended(self, ctx: WorkspaceContext, server_id: str, grant: Grant, reason: str) -> bool:
        grants = GrantRepository(self._store, ctx)
        current = await grants.get(server_id)
        if current is None or not current.has_same_tokens(grant):
            return False
        if current.ended:
            return True
        changes: list[Change] = [grants.replacement(replace(current.without_lease(), ended=reason))]
        server = await ServerRecords(self._store, ctx).get(server_id)
        if server is None:
            return False
        if server.connection and server.connection.grant_id == grant.id:
            connection = replace(server.connection, ended=reason)
            changes += ServerRecords(self._store, ctx).connection_changes(server, connection)
        event = AuditEvent(Action.SERVER_RECONNECT_REQUIRED, server.id, server.name, cause=reason)
        await self._journal.commit(ctx, changes, event)
        return True

    async def record_missing_scopes(self, ctx: WorkspaceContext, server_id: str, scopes: Sequence[str]) -> bool:
        """Tools need scopes that were not granted. False if all of them were already requested: then connecting again
        would not grant them either."""
        system = as_system(ctx)
        try:
            return await retry_on_conflict(lambda: self._record_missing_scopes(system, server_id, scopes))
        except (StoreUnavailable, NotFound):
            return False

    async def _record_missing_scopes(self, ctx: WorkspaceContext, server_id: str, scopes: Sequence[str]) -> bool:
        server = await ServerRecords(self._store, ctx).get(server_id)
        connection = server.connection if server else None
        if server is None or connection is None:
            return False
        new = set(scopes) - {*connection.asked, *connection.wanted}
        room = MAX_WANTED_LENGTH - len(" ".join(connection.wanted))
        if new and len(" ".join(new)) < room:
            wanted = replace(connection, wanted=(*connection.wanted, *sorted(new)))
            changes = ServerRecords(self._store, ctx).connection_changes(server, wanted)
            await self._journal.commit(ctx, changes, AuditEvent(Action.SERVER_SCOPES_NEEDED, server.id, server.name))
        return not set(scopes) <= set(connection.asked)

    async def discard_tokens(
        self, ctx: WorkspaceContext, server: Server, grant: Grant, tokens: Tokens, client: OAuthClient | None = None
    ) -> None:
        """Revokes tokens that arrived after the server was disconnected.

        `client` is the one that requested them: if the workspace was deleted, its secret can no longer be opened.
        """
        client = client or await self._client(ctx, server, grant)
        revoked = RevocationSecrets(tokens.access, tokens.refresh)
        try:
            await self._queue.save(await self._queue.job_changes(ctx, server, grant, revoked, client))
        except (Conflict, StoreUnavailable):
            log.warning("the revocation of unused tokens could not be stored")
        else:
            self._queue.wake()

    async def revoke_all(self, ctx: WorkspaceContext) -> None:
        """Called before a workspace is deleted, since afterwards its tokens cannot be opened. The jobs wait until the
        workspace is gone."""
        grants, after = GrantRepository(self._store, ctx), None
        while page := await grants.page(GRANTS_PAGE, after):
            for grant in page:
                await self._queue.save(await self._deferred_revocation(ctx, grant))
            after = page[-1].server_id

    async def _deferred_revocation(self, ctx: WorkspaceContext, grant: Grant) -> list[Change]:
        server = await ServerRecords(self._store, ctx).get(grant.server_id)
        return await self._revocation(ctx, server, grant, unless_there=True) if server else []

    async def _revocation(
        self, ctx: WorkspaceContext, server: Server, grant: Grant, *, unless_there: bool = False
    ) -> list[Change]:
        if not grant.provider.get("revocation"):
            return []
        try:
            access = await self._sealer.token(ctx, server, grant, ACCESS)
            refresh = await self._sealer.token(ctx, server, grant, REFRESH)
        except CannotOpen:  # without the root key, the tokens are unusable
            return []
        client = await self._client(ctx, server, grant)
        revoked = RevocationSecrets(access, refresh)
        return await self._queue.job_changes(ctx, server, grant, revoked, client, unless_there=unless_there)

    async def _client(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> OAuthClient | None:
        try:
            issuer = msgspec.convert(grant.provider, AuthorizationServer).identity
            return await self._oauth_clients.load(ctx, server, grant.client, issuer)
        except (ClientUnavailable, CannotOpen):
            return None
