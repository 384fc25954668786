"""A code has come back from where it should: how does a grant become of it?"""

from __future__ import annotations

import secrets
from dataclasses import asdict, replace

from api.access.context import WorkspaceContext
from api.audit.service import Event
from api.connections.endings import Endings
from api.connections.pending import Pending
from api.connections.repository import ACCESS, REFRESH, Grant, Grants
from api.connections.sealing import Sealer
from api.connections.works import ConnectionWorks
from api.kit.clock import rfc3339
from api.kit.tries import until_it_holds
from api.servers.service import Connection, Server, server_now, with_connection
from integrations import Account, Provider, Tokens, account_of, exchange


class ServerChanged(Exception):
    """It is gone, or points elsewhere. What was granted for it is revoked."""


class Granting:
    def __init__(self, works: ConnectionWorks, sealer: Sealer, endings: Endings) -> None:
        self._works = works
        self._sealer = sealer
        self._endings = endings

    async def grant(
        self,
        ctx: WorkspaceContext,
        server: Server,
        pending: Pending,
        provider: Provider,
        code: str,
        verifier: str | None,
    ) -> None:
        """`GrantRefused`, `GrantUnavailable`, `NoClient` and `ServerChanged` where there is none in the end."""
        works = self._works
        issuer = provider.issuer or provider.token_url
        client = await works.clients.load(ctx, server, pending.client, issuer)
        line, way_back = works.lines.of(ctx, server), pending.redirect_uri
        tokens = await exchange(line, provider, client, code=code, redirect_uri=way_back, verifier=verifier)
        account = await self._account(ctx, server, tokens)
        new = Grant(secrets.token_hex(12), server.id, pending.provider, pending.client, pending.scopes)
        try:
            await until_it_holds(lambda: self._store(ctx, server, new, tokens, account))
        except ServerChanged:
            await self._endings.discarded(ctx, server, new, tokens)
            raise

    async def _account(self, ctx: WorkspaceContext, server: Server, tokens: Tokens) -> Account:
        """Only a service can be asked in a way that we know."""
        vendor = self._works.vendors.get(server.service_type)
        if vendor is None:
            return Account()
        return await account_of(vendor.service, self._works.lines.of(ctx, server), vendor.api_base_url, tokens)

    async def _store(self, ctx: WorkspaceContext, begun: Server, new: Grant, tokens: Tokens, account: Account) -> None:
        store = self._works.store
        server = await server_now(store, ctx, begun.id)
        if server is None or self._sealer.place(server) != self._sealer.place(begun):
            raise ServerChanged
        given = {ACCESS: tokens.access} | ({REFRESH: tokens.refresh} if tokens.refresh else {})
        sealed, check = await self._sealer.tokens_sealed(ctx, server, given)
        now = self._works.clock.now()
        ends = None if tokens.expires_in is None else now + tokens.expires_in
        grant = replace(new, sealed=sealed, renewed_at=now, expires_at=ends)
        connection = Connection(
            grant.id,
            rfc3339(now),
            asked=grant.scopes,
            granted=grant.scopes if tokens.scopes is None else tokens.scopes,
            account={name: value for name, value in asdict(account).items() if value},
        )
        changes = with_connection(store, ctx, server, connection)
        put = Grants(store, ctx).put(grant)
        event = Event("server.connected", server.id, server.name)
        await self._works.journal.commit(ctx, [*changes, put, check], event)
