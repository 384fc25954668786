"""The exchange of an authorization code for tokens (RFC 6749 section 4.1.3), and the storing of the connection."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace

from api.access.authenticator import Authenticator
from api.access.context import WorkspaceContext
from api.audit.events import Action, AuditEvent
from api.audit.journal import Journal
from api.connections.consent.errors import NotAllowed, ServerChanged
from api.connections.consent.state import AuthorizationState
from api.connections.dependencies import AuthServerHttpFactory, ConfiguredService
from api.connections.encryption import TokenSealer
from api.connections.grant_secrets import present
from api.connections.oauth_clients import OAuthClients
from api.connections.repository import Grant, GrantRepository, ReceivedTokens
from api.connections.revocation.grant_end import GrantEnd
from api.errors import NotFound, Unauthorized
from api.kit.clock import Clock, rfc3339
from api.kit.crypto.data_keys import NoDataKey
from api.kit.redaction import Redactor
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.store import Change, Store
from api.servers.records import ServerRecords
from api.servers.server import Connection, Server
from integrations import Account, AuthorizationServer, GrantRefused, OAuthClient, Tokens, account_of, exchange_code


class ConnectionWriter:
    """Stores a grant together with the server's connection, if the server and the initiator still allow it."""

    def __init__(
        self,
        store: Store,
        sealer: TokenSealer,
        *,
        journal: Journal,
        clock: Clock,
        authenticator: Authenticator,
        grant_end: GrantEnd,
    ) -> None:
        self._store = store
        self._sealer = sealer
        self._journal = journal
        self._clock = clock
        self._authenticator = authenticator
        self._grant_end = grant_end

    async def save(
        self,
        ctx: WorkspaceContext,
        server: Server,
        grant: Grant,
        tokens: Tokens,
        account: Account,
        client: OAuthClient,
    ) -> None:
        """Store a grant, or revoke its tokens and raise `ServerChanged` or `NotAllowed`."""
        received = ReceivedTokens(tokens, self._clock.now())
        try:
            await retry_on_conflict(lambda: self._save(ctx, server, grant, received, account))
        except (ServerChanged, NotAllowed):
            await self._grant_end.discard_tokens(ctx, server, grant, tokens, client)
            raise
        self._grant_end.after_commit()

    async def _save(
        self, ctx: WorkspaceContext, old_server: Server, new: Grant, received: ReceivedTokens, account: Account
    ) -> None:
        server = await self._unchanged_server(ctx, old_server, new)
        sealed, check = await self._seal(ctx, server, received)
        grant = replace(new, sealed=sealed, renewed_at=received.at, expires_at=received.expires_at)
        connection = _connection(grant, received.tokens, account, server.connection)
        changes: list[Change] = [
            *ServerRecords(self._store, ctx).connection_changes(server, connection),
            *await self._grant_end.replacement_changes(ctx, server, account.id),
            GrantRepository(self._store, ctx).overwrite(grant),
            check,
        ]
        try:
            await self._journal.commit(ctx, changes, AuditEvent(Action.SERVER_CONNECTED, server.id, server.name))
        except (Unauthorized, NotFound) as error:
            raise NotAllowed from error

    async def _unchanged_server(self, ctx: WorkspaceContext, old: Server, new: Grant) -> Server:
        """The server as it is stored now, if the grant is still valid for it."""
        if await self._authenticator.reauthorize(ctx.workspace_id, ctx.principal.id, ctx.request_id) is None:
            raise NotAllowed
        server = await ServerRecords(self._store, ctx).get(old.id)
        if server is None or server.url != old.url or self._sealer.binding(server) != self._sealer.binding(old):
            raise ServerChanged
        has_another_client = new.client.kind == "given" and server.sealed != old.sealed
        if has_another_client or server.oauth_grant != old.oauth_grant:
            raise ServerChanged
        return server

    async def _seal(
        self, ctx: WorkspaceContext, server: Server, received: ReceivedTokens
    ) -> tuple[dict[str, str], Change]:
        try:
            return await self._sealer.seal_tokens(ctx, server, received.by_name)
        except NoDataKey as error:  # the workspace is being deleted, and its keys are deleted first
            raise NotAllowed from error


class CodeExchange:
    def __init__(
        self,
        *,
        oauth_clients: OAuthClients,
        auth_http: AuthServerHttpFactory,
        services: Mapping[str, ConfiguredService],
        writer: ConnectionWriter,
    ) -> None:
        self._oauth_clients = oauth_clients
        self._auth_http = auth_http
        self._services = services
        self._writer = writer

    async def exchange(
        self,
        ctx: WorkspaceContext,
        server: Server,
        pending: AuthorizationState,
        provider: AuthorizationServer,
        code: str,
        verifier: str | None,
    ) -> None:
        """Raises `GrantRefused`, `GrantUnavailable`, `ClientUnavailable`, `ServerChanged` or `NotAllowed`."""
        client = await self._oauth_clients.load(ctx, server, pending.client, provider.identity)
        http, redirect_uri = self._auth_http.for_server(ctx, server), pending.redirect_uri
        try:
            tokens = await exchange_code(
                http, provider, client, code=code, redirect_uri=redirect_uri, verifier=verifier
            )
        except GrantRefused as error:
            if error.error == "invalid_client" and pending.client.kind == "registered":
                await self._oauth_clients.forget(ctx, provider.identity, client.id)
            raise
        redact = await Redactor.of(present(tokens.access, tokens.refresh, client.secret, code, verifier))
        tokens = replace(tokens, scopes=redact.without_secrets(tokens.scopes or ()) or None)
        account = _redacted(await self._account(ctx, server, tokens), redact)
        grant = Grant(secrets.token_hex(12), server.id, pending.provider, pending.client, pending.scopes)
        await self._writer.save(ctx, server, grant, tokens, account, client)

    async def _account(self, ctx: WorkspaceContext, server: Server, tokens: Tokens) -> Account:
        """The account of the grant, which only services have an API for."""
        configured = self._services.get(server.service_type)
        if configured is None:
            return Account()
        http = self._auth_http.for_server(ctx, server)
        return await account_of(configured.service, http, configured.api_base_url, tokens)


def _redacted(account: Account, redact: Redactor) -> Account:
    return Account(**{name: redact(value) if value else value for name, value in asdict(account).items()})


def _connection(grant: Grant, tokens: Tokens, account: Account, old: Connection | None) -> Connection:
    """The new connection, which keeps the scopes that tools have turned out to need."""
    return Connection(
        grant.id,
        rfc3339(grant.renewed_at),
        asked=grant.scopes,
        granted=grant.scopes if tokens.scopes is None else tokens.scopes,
        wanted=old.wanted if old else (),
        account={name: value for name, value in asdict(account).items() if value},
    )
