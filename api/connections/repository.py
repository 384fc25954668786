"""Where grants are kept, one for each connected server, and the clients that they were given to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Self

from api.access.context import WorkspaceContext
from api.kit.storage.store import Always, Change, Check, Conflict, Delete, IfAbsent, IfVersion, Item, Key, Put, Store
from api.servers.service import Server, client_secret_use_key
from api.servers.service import server_key as server_record_of
from integrations import ClientAuth

PREFIX = "GRANT#"
ACCESS, REFRESH = "access", "refresh"


@dataclass(frozen=True, slots=True)
class OAuthClientRef:
    """Who we are to the authorization server: which kind of client, without its secret."""

    kind: Literal["service", "given", "registered", "document"]
    """`service`, set by the operator · `given`, with the server · `registered`, by us · `document`, published by us."""

    id: str
    auth: ClientAuth


@dataclass(frozen=True, slots=True)
class RefreshLease:
    """Who asks the authorization server for new tokens right now, and until when nobody else may."""

    owner: str = ""
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Grant:
    id: str
    server_id: str
    provider: Mapping[str, Any]
    """Pinned when it was given: later requests go there and nowhere else."""

    client: OAuthClientRef
    scopes: tuple[str, ...]
    sealed: Mapping[str, str] = field(default_factory=dict)
    generation: int = 0
    """One more with each renewal of the tokens."""

    renewed_at: float = 0.0
    expires_at: float | None = None
    lease: RefreshLease = RefreshLease()
    retry_at: float = 0.0
    """The authorization server was in no state to answer: nobody asks it before then."""

    failures: int = 0
    problem: str = ""
    """Why there were no new tokens the last time, where it is something that somebody can put right."""

    ended: str | None = None
    by_client: bool = False
    """Nobody has consented: the client asks for tokens in its own name, whenever it needs some."""

    version: int = 0
    """0 as long as it is not stored."""

    @classmethod
    def of(cls, item: Item) -> Self:
        data = dict(item.data)
        client, lease, scopes = (
            OAuthClientRef(**data.pop("client")),
            RefreshLease(**data.pop("lease")),
            data.pop("scopes"),
        )
        return cls(**data, client=client, lease=lease, scopes=tuple(scopes), version=item.version)

    def data(self) -> dict[str, Any]:
        data = asdict(self)
        del data["version"]
        return data

    @property
    def can_be_renewed(self) -> bool:
        return self.by_client or REFRESH in self.sealed

    def is_leased(self, now: float, longest: float) -> bool:
        """One that lasts longer than any was taken by a clock that is wrong: nobody could wait for its end."""
        return now < self.lease.until <= now + longest

    def is_put_off(self, now: float, longest: float) -> bool:
        return now < self.retry_at <= now + longest

    def is_still(self, other: Grant) -> bool:
        """Nobody has renewed it since, or begun to."""
        return (self.id, self.generation, self.lease.owner) == (other.id, other.generation, other.lease.owner)

    def leased(self, owner: str, until: float) -> Grant:
        return replace(self, lease=RefreshLease(owner, until))

    def released(self) -> Grant:
        return replace(self, lease=RefreshLease())


def record_of(server_id: str) -> str:
    return f"{PREFIX}{server_id}"


class GrantRepository:
    """The grants of one workspace."""

    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._store = store
        self._partition = ctx.partition

    async def now(self, server_id: str) -> Grant | None:
        item = await self._store.get(self._key(server_id))
        return Grant.of(item) if item else None

    async def page(self, limit: int, after: str | None) -> list[Grant]:
        items = await self._store.query(self._partition, PREFIX, limit=limit, after=after and record_of(after))
        return [Grant.of(item) for item in items]

    async def keep(self, grant: Grant, *guards: Change) -> Grant:
        """In place of the one that was read; `Conflict` where it is another by now. No configuration: no revision."""
        put = self.replace(grant)
        await self._store.write(put, *guards)
        return replace(grant, version=put.version)

    async def begin(self, grant: Grant, server: Server) -> Grant:
        """Only while the server is what it was begun for: afterwards nobody would begin it again."""
        return await self.keep(
            grant, Check(Key(self._partition, server_record_of(server.id)), IfVersion(server.version))
        )

    def put(self, grant: Grant) -> Put:
        """Whatever is there."""
        return Put(self._key(grant.server_id), grant.data(), Always())

    def replace(self, grant: Grant) -> Put:
        when = IfVersion(grant.version) if grant.version else IfAbsent()
        return Put(self._key(grant.server_id), grant.data(), when)

    def remove(self, grant: Grant) -> Change:
        """The one that was read. A renewal under way meanwhile finds nothing to store its tokens in."""
        return Delete(self._key(grant.server_id), IfVersion(grant.version))

    def _key(self, server_id: str) -> Key:
        return Key(self._partition, record_of(server_id))


@dataclass(frozen=True, slots=True)
class ClientRegistration:
    """What one authorization server knows us as."""

    issuer: str
    id: str
    auth: ClientAuth
    redirect_uri: str
    scopes: tuple[str, ...]
    expires_at: float | None = None
    sealed: Mapping[str, str] = field(default_factory=dict)
    is_doubted: bool = False
    """Somebody was sent there as this client, and has not come back: it may be that it is not known there any more."""

    @classmethod
    def of(cls, item: Item) -> Self:
        data = dict(item.data)
        return cls(**{**data, "scopes": tuple(data["scopes"])})

    @property
    def record(self) -> str:
        return registration_of(self.issuer, self.id)


@dataclass(frozen=True, slots=True)
class ClientSecretUse:
    """Which authorization server a secret was first shown to that came with a server."""

    server_id: str
    issuer: str
    sealed: Mapping[str, str]
    """By what the secret is known again."""

    version: int = 0

    @classmethod
    def of(cls, item: Item) -> Self:
        return cls(**item.data, version=item.version)

    @property
    def record(self) -> str:
        return client_secret_use_key(self.server_id)


def registration_of(issuer: str, client_id: str) -> str:
    """What is registered with one issuer is never shown to another. It may be several: each has grants of its own."""
    return f"{_all_of(issuer)}{_digest(client_id)}"


def _all_of(issuer: str) -> str:
    return f"CLIENT#{_digest(issuer)}#"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class ClientRegistrationRepository:
    """The clients that a workspace has had registered, and whom it has shown those to that it was given."""

    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._store = store
        self._partition = ctx.partition

    async def now(self, issuer: str, client_id: str) -> ClientRegistration | None:
        item = await self._store.get(Key(self._partition, registration_of(issuer, client_id)))
        return ClientRegistration.of(item) if item else None

    async def all_with(self, issuer: str) -> list[ClientRegistration]:
        return [ClientRegistration.of(item) for item in await self._store.query(self._partition, _all_of(issuer))]

    async def keep(self, registration: ClientRegistration, *guards: Change) -> None:
        put = Put(Key(self._partition, registration.record), asdict(registration), Always())
        await self._store.write(put, *guards)

    async def doubt(self, issuer: str, client_id: str, *, is_doubted: bool) -> None:
        """Where it changes at that moment, whoever changes it knows better."""
        item = await self._store.get(Key(self._partition, registration_of(issuer, client_id)))
        if item and item.data.get("is_doubted") != is_doubted:
            with suppress(Conflict):
                changed = {**item.data, "is_doubted": is_doubted}
                await self._store.write(Put(item.key, changed, IfVersion(item.version)))

    async def forget(self, issuer: str, client_id: str) -> None:
        await self._store.write(Delete(Key(self._partition, registration_of(issuer, client_id)), Always()))

    async def first_use(self, server_id: str) -> ClientSecretUse | None:
        item = await self._store.get(Key(self._partition, client_secret_use_key(server_id)))
        return ClientSecretUse.of(item) if item else None

    async def note(self, use: ClientSecretUse, *guards: Change) -> None:
        """In place of the one whose version it has."""
        data = asdict(use)
        version = data.pop("version")
        when = IfVersion(version) if version else IfAbsent()
        await self._store.write(Put(Key(self._partition, use.record), data, when), *guards)
