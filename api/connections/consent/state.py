"""The `state` of a pending authorization: issued, bound to a browser, checked and redeemed once.

Before the redirect a ticket stands for it, in the URL of the page that starts the consent. Both are single-use, expire
after ten minutes, and are stored under a hash, so that the table does not contain them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping, Sequence
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
    """Used, expired or never issued; the cases are deliberately not distinguished."""


@dataclass(frozen=True, slots=True)
class AuthorizationState(Record):
    """Everything that the callback needs; nothing of it is read from a URL."""

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

    def is_bound_to(self, cookies: Sequence[str]) -> bool:
        """Protects against login CSRF: the consent of one person must not connect another person's workspace."""
        return any(hmac.compare_digest(value, self.browser) for value in map(_digest_or_empty, cookies))


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

    async def cancel(self, ticket: str) -> None:
        """Uses up the ticket."""
        try:
            await self._store.write(Delete(_ticket_key(ticket), IfPresent()))
        except Conflict as conflict:
            raise StateNotFound from conflict

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
        """Return the authorization of a state and delete it, so that a state is used once."""
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
    authenticator: Authenticator, pending: AuthorizationState, request_id: str, client_address: str | None = None
) -> WorkspaceContext:
    """The current rights of the API key that started, which may have been revoked or restricted."""
    ctx = await authenticator.reauthorize(pending.workspace_id, pending.key_id, request_id, client_address)
    if ctx is None or not ctx.principal.scope.includes(Scope.MANAGE):
        raise ConnectFailed("not_allowed")
    return ctx


def client_digest(server: Server, client: OAuthClientRef) -> str:
    """A digest of the configured client, whose secret is sent only to the authorization server of the consent."""
    sealed = json.dumps(sorted(server.sealed.items())) if client.kind == "given" else ""
    return hashlib.sha256(sealed.encode()).hexdigest()


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def digest(text: str) -> str:
    """The hash that is stored instead of a secret. `StateNotFound` if the text does not have the form of a secret."""
    if not _FORM.fullmatch(text):
        raise StateNotFound
    return hashlib.sha256(text.encode()).hexdigest()


def _digest_or_empty(text: str) -> str:
    try:
        return digest(text)
    except StateNotFound:  # not a cookie of Plugboard
        return ""


def _ticket_key(ticket: str) -> Key:
    return Key(f"OAUTHTICKET#{digest(ticket)}", "PENDING")


def _state_key(state: str) -> Key:
    return Key(f"OAUTHSTATE#{digest(state)}", "PENDING")
