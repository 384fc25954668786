"""Pending authorizations: a ticket for the page that starts the consent, and then the `state` of the redirect.

Both are single-use and expire after ten minutes. They are stored under a hash, so the table does not contain them.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from api.access.authenticator import Authenticator
from api.access.context import WorkspaceContext
from api.access.principal import Scope
from api.connections.consent.errors import ConnectFailed
from api.connections.encryption import TokenSealer
from api.connections.repository import OAuthClientRef
from api.kit.clock import Clock
from api.kit.storage.records import Record
from api.kit.storage.store import Change, Conflict, Delete, IfAbsent, IfPresent, Item, Key, Put, Store
from api.servers.server import Server

LIFE_SECONDS = 600
VERIFIER = "verifier"
_FORM = re.compile(r"[A-Za-z0-9_-]{43}")


class StateNotFound(Exception):
    """Used, expired or never issued: these cases are deliberately not distinguished."""


@dataclass(frozen=True, slots=True)
class AuthorizationState(Record):
    """Everything that the callback needs. None of it is read from a URL."""

    PARSERS: ClassVar = {"client": OAuthClientRef.decode, "scopes": tuple}

    workspace_id: str
    server_id: str
    server_name: str
    service_type: str
    url: str | None
    place: str
    """The server's credential binding at the start."""

    given: str
    """A digest of the server's configured client at the start. If it has changed, the callback connects nothing."""

    key_id: str
    provider: Mapping[str, Any]
    client: OAuthClientRef
    scopes: tuple[str, ...]
    redirect_uri: str
    return_to: str | None
    browser: str = ""
    """The hash of the browser's cookie."""

    sealed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, item: Item) -> Self:
        return cls.decode(item.data)


class StateStore:
    def __init__(self, store: Store, sealer: TokenSealer, clock: Clock) -> None:
        self._store = store
        self._sealer = sealer
        self._clock = clock

    async def issue_ticket(self, pending: AuthorizationState) -> str:
        ticket = new_secret()
        await self._store.write(self._put(_ticket_key(ticket), pending))
        return ticket

    async def get(self, ticket: str) -> AuthorizationState:
        item = await self._store.get(_ticket_key(ticket))
        if item is None:
            raise StateNotFound
        return AuthorizationState.of(item)

    async def begin(
        self, ctx: WorkspaceContext, ticket: str, pending: AuthorizationState, browser: str, verifier: str | None
    ) -> str:
        """Redeems the ticket. Returns the `state` of the authorization request."""
        state = new_secret()
        key = _state_key(state)
        sealed, guards = await self._sealer.seal(ctx, key.pk, {VERIFIER: verifier} if verifier else {})
        bound = replace(pending, browser=digest(browser), sealed=sealed)
        changes: list[Change] = [Delete(_ticket_key(ticket), IfPresent()), self._put(key, bound), *guards]
        try:
            await self._store.write(*changes)
        except Conflict as conflict:
            raise StateNotFound from conflict
        return state

    async def redeem(self, state: str) -> AuthorizationState:
        """The state is used up, whatever the outcome."""
        item = await self._store.get(_state_key(state))
        if item is None:
            raise StateNotFound
        try:
            await self._store.write(Delete(item.key, IfPresent()))
        except Conflict as conflict:
            raise StateNotFound from conflict
        return AuthorizationState.of(item)

    async def verifier(self, ctx: WorkspaceContext, state: str, pending: AuthorizationState) -> str | None:
        return await self._sealer.open(ctx, _state_key(state).pk, VERIFIER, pending.sealed)

    def _put(self, key: Key, pending: AuthorizationState) -> Put:
        return Put(key, pending.encode(), IfAbsent(), expires_at=int(self._clock.now()) + LIFE_SECONDS)


async def reauthorize_initiator(
    authenticator: Authenticator, pending: AuthorizationState, request_id: str
) -> WorkspaceContext:
    """The API key that began may have been revoked or restricted since."""
    ctx = await authenticator.reauthorize(pending.workspace_id, pending.key_id, request_id)
    if ctx is None or not ctx.principal.scope.includes(Scope.MANAGE):
        raise ConnectFailed("not_allowed")
    return ctx


def client_digest(server: Server, client: OAuthClientRef) -> str:
    """Of the configured client: its secret is sent only to the authorization server that the consent was given at."""
    sealed = json.dumps(sorted(server.sealed.items())) if client.kind == "given" else ""
    return hashlib.sha256(sealed.encode()).hexdigest()


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def digest(text: str) -> str:
    """What is stored instead of the secret. `StateNotFound` if the text cannot be one of our secrets."""
    if not _FORM.fullmatch(text):
        raise StateNotFound
    return hashlib.sha256(text.encode()).hexdigest()


def _ticket_key(ticket: str) -> Key:
    return Key(f"OAUTHTICKET#{digest(ticket)}", "PENDING")


def _state_key(state: str) -> Key:
    return Key(f"OAUTHSTATE#{digest(state)}", "PENDING")
