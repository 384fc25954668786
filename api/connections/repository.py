"""Where grants are kept, one for each connected server, and the clients that they were given to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from api.access.context import WorkspaceContext
from api.kit.store import Absent, Always, Change, Delete, Item, Key, Present, Put, Store, Unchanged

PREFIX = "GRANT#"
ACCESS, REFRESH = "access", "refresh"


@dataclass(frozen=True, slots=True)
class ClientRef:
    """Who we are to the authorization server: which kind of client, without its secret."""

    kind: str
    """`service`, set by the operator · `given`, with the server · `registered`, by us · `document`, published by us."""

    id: str
    auth: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Who asks the authorization server for new tokens right now, and until when nobody else may."""

    owner: str = ""
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Grant:
    id: str
    server_id: str
    provider: Mapping[str, Any]
    """Pinned when it was given: later requests go there and nowhere else."""

    client: ClientRef
    scopes: tuple[str, ...]
    sealed: Mapping[str, str] = field(default_factory=dict)
    generation: int = 0
    """One more with each renewal of the tokens."""

    renewed_at: float = 0.0
    expires_at: float | None = None
    lease: Lease = Lease()
    retry_at: float = 0.0
    """The authorization server was in no state to answer: nobody asks it before then."""

    failures: int = 0
    ended: str | None = None
    by_client: bool = False
    """Nobody has consented: the client asks for tokens in its own name, whenever it needs some."""

    version: int = 0
    """0 as long as it is not stored."""

    @classmethod
    def of(cls, item: Item) -> Self:
        data = dict(item.data)
        client, lease, scopes = ClientRef(**data.pop("client")), Lease(**data.pop("lease")), data.pop("scopes")
        return cls(**data, client=client, lease=lease, scopes=tuple(scopes), version=item.version)

    def data(self) -> dict[str, Any]:
        data = asdict(self)
        del data["version"]
        return data

    @property
    def can_be_renewed(self) -> bool:
        return self.by_client or REFRESH in self.sealed

    def is_leased(self, now: float) -> bool:
        return self.lease.until > now

    def leased(self, owner: str, until: float) -> Grant:
        return replace(self, lease=Lease(owner, until))

    def released(self) -> Grant:
        return replace(self, lease=Lease())


def record_of(server_id: str) -> str:
    return f"{PREFIX}{server_id}"


class Grants:
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

    def put(self, grant: Grant) -> Put:
        """Whatever is there."""
        return Put(self._key(grant.server_id), grant.data(), Always())

    def replace(self, grant: Grant) -> Put:
        when = Unchanged(grant.version) if grant.version else Absent()
        return Put(self._key(grant.server_id), grant.data(), when)

    def remove(self, grant: Grant) -> Change:
        """A renewal under way meanwhile finds nothing to store its tokens in."""
        return Delete(self._key(grant.server_id), Present())

    def _key(self, server_id: str) -> Key:
        return Key(self._partition, record_of(server_id))


@dataclass(frozen=True, slots=True)
class Registration:
    """What one authorization server knows us as."""

    issuer: str
    id: str
    auth: str
    redirect_uri: str
    scopes: tuple[str, ...]
    expires_at: float | None = None
    sealed: Mapping[str, str] = field(default_factory=dict)

    @property
    def record(self) -> str:
        return registration_of(self.issuer)


def registration_of(issuer: str) -> str:
    """What is registered with one issuer is never shown to another."""
    return f"CLIENT#{hashlib.sha256(issuer.encode()).hexdigest()}"


class Registrations:
    """The clients that a workspace has had registered."""

    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._store = store
        self._partition = ctx.partition

    async def now(self, issuer: str) -> Registration | None:
        item = await self._store.get(Key(self._partition, registration_of(issuer)))
        return Registration(**{**item.data, "scopes": tuple(item.data["scopes"])}) if item else None

    async def keep(self, registration: Registration, *guards: Change) -> None:
        await self._store.write(Put(self._key(registration), asdict(registration), Always()), *guards)

    def _key(self, registration: Registration) -> Key:
        return Key(self._partition, registration.record)
