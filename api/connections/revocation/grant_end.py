"""What is written when a grant ends, from either side: it is forgotten here at once, and revoked where it was given."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from api.access.context import WorkspaceContext, as_system
from api.audit.journal import AuditEvent, Journal
from api.connections.encryption import TokenSealer
from api.connections.oauth_clients import ClientUnavailable, OAuthClients
from api.connections.repository import ACCESS, REFRESH, Grant, GrantRepository
from api.connections.revocation.queue import RevocationQueue, RevocationSecrets
from api.errors import NotFound
from api.kit.crypto.envelope import CannotOpen
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.store import Change, Conflict, Store, StoreUnavailable
from api.servers.service import Server, get_server, with_connection
from integrations import AuthorizationServer, OAuthClient, Tokens

GRANTS_AT_ONCE = 20
MOST_WANTED = 2000
"""Characters, of all scopes that tools have turned out to need: a server can ask for more without end."""

log = logging.getLogger(__name__)


class GrantEnd:
    """What servers know as `Grants`."""

    def __init__(
        self, store: Store, journal: Journal, sealer: TokenSealer, clients: OAuthClients, outbox: RevocationQueue
    ) -> None:
        self._store = store
        self._journal = journal
        self._sealer = sealer
        self._clients = clients
        self._outbox = outbox

    async def end_changes(self, ctx: WorkspaceContext, server: Server) -> list[Change]:
        grants = GrantRepository(self._store, ctx)
        grant = await grants.now(server.id)
        if grant is None:
            return []
        return [grants.remove(grant), *await self._revocation(ctx, server, grant)]

    async def replacement_changes(self, ctx: WorkspaceContext, server: Server, account_id: str | None) -> list[Change]:
        """Somebody connects again. With the same account both grants may be one at the provider: it is left alone."""
        before = server.connection.account.get("id") if server.connection else None
        grant = await GrantRepository(self._store, ctx).now(server.id)
        if grant is None or grant.ended or not before or not account_id or before == account_id:
            return []
        return await self._revocation(ctx, server, grant)

    def after_commit(self) -> None:
        self._outbox.wake()

    async def mark_ended(self, ctx: WorkspaceContext, server: Server, grant: Grant, reason: str) -> bool:
        """It was taken back, or has run out, where it was given. It is kept, so that people can see what there was.

        Not where somebody else has renewed it meanwhile, or is about to: what was refused is not what counts then.
        """
        by_us = as_system(ctx)
        try:
            return await retry_on_conflict(lambda: self._lost(by_us, server.id, grant, reason))
        except (NotFound, StoreUnavailable):  # whoever asks next will find the same, and note it
            log.info("the end of a grant was not noted")
            return True

    async def _lost(self, ctx: WorkspaceContext, server_id: str, grant: Grant, reason: str) -> bool:
        grants = GrantRepository(self._store, ctx)
        now = await grants.now(server_id)
        if now is None or not now.is_still(grant):
            return False
        if now.ended:
            return True
        changes: list[Change] = [grants.replace(replace(now.released(), ended=reason))]
        server = await get_server(self._store, ctx, server_id)
        if server is None:
            return False
        if server.connection and server.connection.grant_id == grant.id:
            changes += with_connection(self._store, ctx, server, replace(server.connection, ended=reason))
        await self._journal.commit(ctx, changes, AuditEvent("server.reconnect_required", server.id, server.name))
        return True

    async def record_missing_scopes(self, ctx: WorkspaceContext, server_id: str, scopes: Sequence[str]) -> bool:
        """Tools need more than was granted. Whether to ask for it: what was asked for before is asked for in vain."""
        by_us = as_system(ctx)
        try:
            return await retry_on_conflict(lambda: self._lacks(by_us, server_id, scopes))
        except (StoreUnavailable, NotFound):
            return False

    async def _lacks(self, ctx: WorkspaceContext, server_id: str, scopes: Sequence[str]) -> bool:
        server = await get_server(self._store, ctx, server_id)
        connection = server.connection if server else None
        if server is None or connection is None:
            return False
        new = set(scopes) - {*connection.asked, *connection.wanted}
        room = MOST_WANTED - len(" ".join(connection.wanted))
        if new and len(" ".join(new)) < room:
            wanted = replace(connection, wanted=(*connection.wanted, *sorted(new)))
            changes = with_connection(self._store, ctx, server, wanted)
            await self._journal.commit(ctx, changes, AuditEvent("server.scopes_needed", server.id, server.name))
        return not set(scopes) <= set(connection.asked)

    async def discard_tokens(
        self, ctx: WorkspaceContext, server: Server, grant: Grant, tokens: Tokens, client: OAuthClient | None = None
    ) -> None:
        """Tokens that nobody will use: somebody has disconnected while they were on their way.

        `client`: as it was loaded to get them. The workspace may be gone by now, and then it cannot be opened any more.
        """
        client = client or await self._client(ctx, server, grant)
        try:
            await self._outbox.put(ctx, server, grant, RevocationSecrets(tokens.access, tokens.refresh), client)
        except (Conflict, StoreUnavailable):
            log.warning("tokens that nobody will use could not be revoked")

    async def revoke_all(self, ctx: WorkspaceContext) -> None:
        """Before a workspace goes: afterwards nobody could open what is to be revoked. Until it is gone, nothing is."""
        grants, after = GrantRepository(self._store, ctx), None
        while page := await grants.page(GRANTS_AT_ONCE, after):
            for grant in page:
                await self._outbox.keep(await self._farewell(ctx, grant))
            after = page[-1].server_id

    async def _farewell(self, ctx: WorkspaceContext, grant: Grant) -> list[Change]:
        server = await get_server(self._store, ctx, grant.server_id)
        return await self._revocation(ctx, server, grant, unless_there=True) if server else []

    async def _revocation(
        self, ctx: WorkspaceContext, server: Server, grant: Grant, *, unless_there: bool = False
    ) -> list[Change]:
        if not grant.provider.get("revocation"):
            return []
        try:
            access = await self._sealer.token(ctx, server, grant, ACCESS)
            refresh = await self._sealer.token(ctx, server, grant, REFRESH)
        except CannotOpen:  # the root key is gone: so is every use of what it sealed
            return []
        client = await self._client(ctx, server, grant)
        revoked = RevocationSecrets(access, refresh)
        return await self._outbox.job_change(ctx, server, grant, revoked, client, unless_there=unless_there)

    async def _client(self, ctx: WorkspaceContext, server: Server, grant: Grant) -> OAuthClient | None:
        try:
            issuer = msgspec.convert(grant.provider, AuthorizationServer).identity
            return await self._clients.load(ctx, server, grant.client, issuer)
        except (ClientUnavailable, CannotOpen):
            return None
