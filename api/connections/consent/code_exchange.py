"""A code has come back from where it should: how does a grant become of it?"""

from __future__ import annotations

import secrets
from dataclasses import asdict, replace

from api.access.context import WorkspaceContext
from api.audit.journal import AuditEvent
from api.connections.consent.state import AuthorizationState
from api.connections.dependencies import ConnectionDeps
from api.connections.encryption import TokenSealer
from api.connections.repository import Grant, GrantRepository
from api.connections.revocation.grant_end import GrantEnd
from api.connections.tokens.persistence import ReceivedTokens
from api.errors import NotFound, Unauthorized
from api.kit.clock import rfc3339
from api.kit.crypto.data_keys import NoDataKey
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.store import Change
from api.servers.service import Connection, Server, get_server, with_connection
from integrations import Account, AuthorizationServer, GrantRefused, Tokens, account_of, exchange_code


class ServerChanged(Exception):
    """It is gone, or points elsewhere. What was granted for it is revoked."""


class NotAllowed(Exception):
    """Who began was shown out while the tokens were on their way. What was granted is revoked."""


class CodeExchange:
    def __init__(self, works: ConnectionDeps, sealer: TokenSealer, endings: GrantEnd) -> None:
        self._works = works
        self._sealer = sealer
        self._endings = endings

    async def exchange(
        self,
        ctx: WorkspaceContext,
        server: Server,
        pending: AuthorizationState,
        provider: AuthorizationServer,
        code: str,
        verifier: str | None,
    ) -> None:
        """Or there is none: `GrantRefused`, `GrantUnavailable`, `ClientUnavailable`, `ServerChanged`, `NotAllowed`."""
        works = self._works
        client = await works.oauth_clients.load(ctx, server, pending.client, provider.identity)
        line, way_back = works.auth_http.for_server(ctx, server), pending.redirect_uri
        try:
            tokens = await exchange_code(line, provider, client, code=code, redirect_uri=way_back, verifier=verifier)
        except GrantRefused as error:
            if error.error == "invalid_client" and pending.client.kind == "registered":
                await works.oauth_clients.forget(ctx, provider.identity, client.id)
            raise
        account = await self._account(ctx, server, tokens)
        new = Grant(secrets.token_hex(12), server.id, pending.provider, pending.client, pending.scopes)
        try:
            await retry_on_conflict(lambda: self._store(ctx, server, new, tokens, account))
        except (ServerChanged, NotAllowed):
            await self._endings.discard_tokens(ctx, server, new, tokens, client)
            raise

    async def _account(self, ctx: WorkspaceContext, server: Server, tokens: Tokens) -> Account:
        """Only a service can be asked in a way that we know."""
        vendor = self._works.services.get(server.service_type)
        if vendor is None:
            return Account()
        return await account_of(
            vendor.service, self._works.auth_http.for_server(ctx, server), vendor.api_base_url, tokens
        )

    async def _store(self, ctx: WorkspaceContext, begun: Server, new: Grant, tokens: Tokens, account: Account) -> None:
        store, came = self._works.store, ReceivedTokens(tokens, self._works.clock.now())
        server = await self._still(ctx, begun, new)
        sealed, check = await self._sealed(ctx, server, came)
        grant = replace(new, sealed=sealed, renewed_at=came.at, expires_at=came.expires_at)
        changes = with_connection(store, ctx, server, _connection(grant, tokens, account, server.connection))
        changes += await self._endings.replacement_changes(ctx, server, account.id)
        event = AuditEvent("server.connected", server.id, server.name)
        try:
            await self._works.journal.commit(ctx, [*changes, GrantRepository(store, ctx).put(grant), check], event)
        except (Unauthorized, NotFound) as error:
            raise NotAllowed from error
        self._endings.after_commit()

    async def _still(self, ctx: WorkspaceContext, begun: Server, new: Grant) -> Server:
        """As it is now, if the grant is still for it: much may have changed while the tokens were on their way."""
        if await self._works.authenticator.reauthorize(ctx.workspace_id, ctx.principal.id, ctx.request_id) is None:
            raise NotAllowed
        server = await get_server(self._works.store, ctx, begun.id)
        if server is None or server.url != begun.url or self._sealer.place(server) != self._sealer.place(begun):
            raise ServerChanged
        has_another_client = new.client.kind == "given" and server.sealed != begun.sealed
        if has_another_client or server.oauth_grant != begun.oauth_grant:
            raise ServerChanged
        return server

    async def _sealed(
        self, ctx: WorkspaceContext, server: Server, came: ReceivedTokens
    ) -> tuple[dict[str, str], Change]:
        try:
            return await self._sealer.seal_tokens(ctx, server, came.by_name)
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
