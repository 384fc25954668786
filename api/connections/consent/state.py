"""What has begun and is not finished: a page that asks somebody to go on, and a consent that is to come back.

Each can be used once, and for ten minutes. What is stored is found by a hash: who reads the table can go on with none.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from api.access.context import WorkspaceContext
from api.connections.encryption import TokenSealer
from api.connections.repository import OAuthClientRef
from api.kit.clock import Clock
from api.kit.storage.store import Change, Conflict, Delete, IfAbsent, IfPresent, Item, Key, Put, Store
from api.servers.service import Server

LIFE_SECONDS = 600
VERIFIER = "verifier"
_FORM = re.compile(r"[A-Za-z0-9_-]{43}")


class StateNotFound(Exception):
    """Used before, too late, or never begun: the three are told apart nowhere."""


@dataclass(frozen=True, slots=True)
class AuthorizationState:
    """All that the way back needs. Nothing of it comes from a URL."""

    workspace_id: str
    server_id: str
    server_name: str
    service_type: str
    url: str | None
    place: str
    given: str
    """What the server was when it began, and which secrets it had; one that has become another is not connected."""

    key_id: str
    provider: Mapping[str, Any]
    client: OAuthClientRef
    scopes: tuple[str, ...]
    redirect_uri: str
    return_to: str | None
    browser: str = ""
    """The hash of what only the browser knows that went on."""

    sealed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, item: Item) -> Self:
        data = dict(item.data)
        client, scopes = OAuthClientRef(**data.pop("client")), tuple(data.pop("scopes"))
        return cls(**data, client=client, scopes=scopes)


class StateStore:
    def __init__(self, store: Store, sealer: TokenSealer, clock: Clock) -> None:
        self._store = store
        self._sealer = sealer
        self._clock = clock

    async def open_ticket(self, pending: AuthorizationState) -> str:
        """The ticket for the page."""
        ticket = new_secret()
        await self._store.write(self._put(_ticket(ticket), pending))
        return ticket

    async def get(self, ticket: str) -> AuthorizationState:
        item = await self._store.get(_ticket(ticket))
        if item is None:
            raise StateNotFound
        return AuthorizationState.of(item)

    async def begin(
        self, ctx: WorkspaceContext, ticket: str, pending: AuthorizationState, browser: str, verifier: str | None
    ) -> str:
        """The state to send along. From here on the ticket is used."""
        state = new_secret()
        key = _state(state)
        sealed, guards = await self._sealer.seal(ctx, key.pk, {VERIFIER: verifier} if verifier else {})
        bound = replace(pending, browser=digest(browser), sealed=sealed)
        changes: list[Change] = [Delete(_ticket(ticket), IfPresent()), self._put(key, bound), *guards]
        try:
            await self._store.write(*changes)
        except Conflict as conflict:
            raise StateNotFound from conflict
        return state

    async def redeem(self, state: str) -> AuthorizationState:
        """Whatever comes of it, it is used."""
        item = await self._store.get(_state(state))
        if item is None:
            raise StateNotFound
        try:
            await self._store.write(Delete(item.key, IfPresent()))
        except Conflict as conflict:
            raise StateNotFound from conflict
        return AuthorizationState.of(item)

    async def verifier(self, ctx: WorkspaceContext, state: str, pending: AuthorizationState) -> str | None:
        return await self._sealer.open(ctx, _state(state).pk, VERIFIER, pending.sealed)

    def _put(self, key: Key, pending: AuthorizationState) -> Put:
        return Put(key, asdict(pending), IfAbsent(), expires_at=int(self._clock.now()) + LIFE_SECONDS)


def given_of(server: Server, client: OAuthClientRef) -> str:
    """A secret that came with the server is shown to nobody but whom somebody was sent to with it."""
    told = json.dumps(sorted(server.sealed.items())) if client.kind == "given" else ""
    return hashlib.sha256(told.encode()).hexdigest()


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def digest(text: str) -> str:
    """What is stored in place of it. What cannot be one of ours is found nowhere."""
    if not _FORM.fullmatch(text):
        raise StateNotFound
    return hashlib.sha256(text.encode()).hexdigest()


def _ticket(text: str) -> Key:
    return Key(f"OAUTHTICKET#{digest(text)}", "PENDING")


def _state(text: str) -> Key:
    return Key(f"OAUTHSTATE#{digest(text)}", "PENDING")
