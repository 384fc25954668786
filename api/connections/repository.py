"""Stored grants: the tokens of connected servers, and the OAuth client that they were issued to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from api.access.context import WorkspaceContext
from api.kit.storage.records import NOT_STORED, Record
from api.kit.storage.store import (
    Always,
    Change,
    Delete,
    IfAbsent,
    IfVersion,
    Item,
    Key,
    Put,
    Store,
)
from integrations import ClientAuth, Tokens

PREFIX = "GRANT#"
ACCESS, REFRESH = "access", "refresh"


@dataclass(frozen=True, slots=True)
class OAuthClientRef(Record):
    """The OAuth client that a grant was issued to, without its secret."""

    kind: Literal["service", "given", "registered", "document"]
    """`service`: the operator's app. `given`: from the server's `config`. `registered`: by dynamic client registration.
    `document`: our published client metadata."""

    id: str
    auth: ClientAuth


@dataclass(frozen=True, slots=True)
class RefreshLease(Record):
    """The exclusive right of one process to send a token request for the grant, until a point in time."""

    owner: str = ""
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Grant(Record):
    PARSERS: ClassVar = {"client": OAuthClientRef.decode, "lease": RefreshLease.decode, "scopes": tuple}

    id: str
    server_id: str
    provider: Mapping[str, Any]
    """The authorization server, fixed when the grant was issued: all later requests go there."""

    client: OAuthClientRef
    scopes: tuple[str, ...]
    sealed: Mapping[str, str] = field(default_factory=dict)
    generation: int = 0
    """Incremented by each refresh of the tokens."""

    renewed_at: float = 0.0
    expires_at: float | None = None
    lease: RefreshLease = RefreshLease()
    retry_at: float = 0.0
    """No token request is sent before then, because the last one failed."""

    failures: int = 0
    problem: str = ""
    """Why the last token request failed, if a person can correct it."""

    ended: str | None = None
    by_client: bool = False
    """Issued by the client credentials grant, without the consent of a person (RFC 6749 section 4.4)."""

    version: int = field(default=0, metadata=NOT_STORED)
    """0 until the grant is stored."""

    @classmethod
    def of(cls, item: Item) -> Self:
        return cls.decode(item.data, version=item.version)

    @property
    def can_be_renewed(self) -> bool:
        return self.by_client or REFRESH in self.sealed

    def is_leased(self, now: float, longest: float) -> bool:
        """A lease longer than `longest` was written with a wrong clock and is ignored."""
        return now < self.lease.until <= now + longest

    def must_back_off(self, now: float, longest: float) -> bool:
        return now < self.retry_at <= now + longest

    def has_same_tokens(self, other: Grant) -> bool:
        """The grant was not refreshed or leased between the two reads."""
        return (self.id, self.generation, self.lease.owner) == (other.id, other.generation, other.lease.owner)

    def with_lease(self, owner: str, until: float) -> Grant:
        return replace(self, lease=RefreshLease(owner, until))

    def without_lease(self) -> Grant:
        return replace(self, lease=RefreshLease())


@dataclass(frozen=True, slots=True)
class ReceivedTokens:
    """Tokens and the time of the response: their lifetime counts from there, however long storing them takes."""

    tokens: Tokens
    at: float

    @property
    def by_name(self) -> dict[str, str]:
        """The tokens by name. Without a refresh token in the response, the stored one remains in use."""
        tokens = self.tokens
        return {ACCESS: tokens.access} | ({REFRESH: tokens.refresh} if tokens.refresh else {})

    @property
    def expires_at(self) -> float | None:
        lifetime = self.tokens.expires_in
        return None if lifetime is None else self.at + lifetime


def grant_key(server_id: str) -> str:
    return f"{PREFIX}{server_id}"


class GrantRepository:
    """The grants of one workspace, at most one for each server."""

    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._store = store
        self._partition = ctx.partition

    async def get(self, server_id: str) -> Grant | None:
        item = await self._store.get(self._key(server_id))
        return Grant.of(item) if item else None

    async def page(self, limit: int, after: str | None) -> list[Grant]:
        items = await self._store.query(self._partition, PREFIX, limit=limit, after=after and grant_key(after))
        return [Grant.of(item) for item in items]

    async def save(self, grant: Grant, *guards: Change) -> Grant:
        """`Conflict` if the stored grant has changed since it was read. The revision stays the same."""
        put = self.replacement(grant)
        await self._store.write(put, *guards)
        return replace(grant, version=put.version)

    def overwrite(self, grant: Grant) -> Put:
        return Put(self._key(grant.server_id), grant.encode(), Always())

    def replacement(self, grant: Grant) -> Put:
        condition = IfVersion(grant.version) if grant.version else IfAbsent()
        return Put(self._key(grant.server_id), grant.encode(), condition)

    def deletion(self, grant: Grant) -> Change:
        """Delete the version that was read. A concurrent refresh then finds no grant to store its tokens in."""
        return Delete(self._key(grant.server_id), IfVersion(grant.version))

    def _key(self, server_id: str) -> Key:
        return Key(self._partition, grant_key(server_id))
