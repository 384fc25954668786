"""A code has come back from where it should: how does a grant become of it?"""

from __future__ import annotations

import secrets
from dataclasses import asdict, replace

from api.access.context import WorkspaceContext
from api.audit.journal import Event
from api.connections.consent.state import Pending
from api.connections.dependencies import ConnectionWorks
from api.connections.repository import Grant, Grants
from api.connections.revocation.grant_end import Endings
from api.connections.tokens.encryption import Sealer
from api.connections.tokens.persistence import Came
from api.errors import NotFound, Unauthorized
from api.kit.clock import rfc3339
from api.kit.crypto.data_keys import NoDataKey
from api.kit.storage.conflict_retry import until_it_holds
from api.kit.storage.store import Change
from api.servers.service import Connection, Server, server_now, with_connection
from integrations import Account, AuthorizationServer, GrantRefused, Tokens, account_of, exchange_code


class ServerChanged(Exception):
    """It is gone, or points elsewhere. What was granted for it is revoked."""


class NotAllowed(Exception):
    """Who began was shown out while the tokens were on their way. What was granted is revoked."""


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
        provider: AuthorizationServer,
        code: str,
        verifier: str | None,
    ) -> None:
        """Or there is none: `GrantRefused`, `GrantUnavailable`, `NoClient`, `ServerChanged`, `NotAllowed`."""
        works = self._works
        client = await works.clients.load(ctx, server, pending.client, provider.identity)
        line, way_back = works.lines.of(ctx, server), pending.redirect_uri
        try:
            tokens = await exchange_code(line, provider, client, code=code, redirect_uri=way_back, verifier=verifier)
        except GrantRefused as error:
            if error.error == "invalid_client" and pending.client.kind == "registered":
                await works.clients.forget(ctx, provider.identity, client.id)
            raise
        account = await self._account(ctx, server, tokens)
        new = Grant(secrets.token_hex(12), server.id, pending.provider, pending.client, pending.scopes)
        try:
            await until_it_holds(lambda: self._store(ctx, server, new, tokens, account))
        except (ServerChanged, NotAllowed):
            await self._endings.discarded(ctx, server, new, tokens, client)
            raise

    async def _account(self, ctx: WorkspaceContext, server: Server, tokens: Tokens) -> Account:
        """Only a service can be asked in a way that we know."""
        vendor = self._works.vendors.get(server.service_type)
        if vendor is None:
            return Account()
        return await account_of(vendor.service, self._works.lines.of(ctx, server), vendor.api_base_url, tokens)

    async def _store(self, ctx: WorkspaceContext, begun: Server, new: Grant, tokens: Tokens, account: Account) -> None:
        store, came = self._works.store, Came(tokens, self._works.clock.now())
        server = await self._still(ctx, begun, new)
        sealed, check = await self._sealed(ctx, server, came)
        grant = replace(new, sealed=sealed, renewed_at=came.at, expires_at=came.expires_at)
        changes = with_connection(store, ctx, server, _connection(grant, tokens, account, server.connection))
        changes += await self._endings.replaced(ctx, server, account.id)
        event = Event("server.connected", server.id, server.name)
        try:
            await self._works.journal.commit(ctx, [*changes, Grants(store, ctx).put(grant), check], event)
        except (Unauthorized, NotFound) as error:
            raise NotAllowed from error
        self._endings.were_ended()

    async def _still(self, ctx: WorkspaceContext, begun: Server, new: Grant) -> Server:
        """As it is now, if the grant is still for it: much may have changed while the tokens were on their way."""
        if await self._works.access.again(ctx.workspace_id, ctx.caller.key_id, ctx.request_id) is None:
            raise NotAllowed
        server = await server_now(self._works.store, ctx, begun.id)
        if server is None or server.url != begun.url or self._sealer.place(server) != self._sealer.place(begun):
            raise ServerChanged
        has_another_client = new.client.kind == "given" and server.sealed != begun.sealed
        if has_another_client or server.oauth_grant != begun.oauth_grant:
            raise ServerChanged
        return server

    async def _sealed(self, ctx: WorkspaceContext, server: Server, came: Came) -> tuple[dict[str, str], Change]:
        try:
            return await self._sealer.tokens_sealed(ctx, server, came.by_name)
        except NoDataKey as error:  # the workspace has just gone, and its keys went first
            raise NotAllowed from error


def _connection(grant: Grant, tokens: Tokens, account: Account, before: Connection | None) -> Connection:
    """What tools have turned out to need stays known, however often somebody connects."""
    return Connection(
        grant.id,
        rfc3339(grant.renewed_at),
        asked=grant.scopes,
        granted=grant.scopes if tokens.scopes is None else tokens.scopes,
        wanted=before.wanted if before else (),
        account={name: value for name, value in asdict(account).items() if value},
    )
