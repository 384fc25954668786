"""Stored grants, registrations of OAuth clients, and the issuers that configured client secrets belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Self

from api.access.context import WorkspaceContext
from api.kit.storage.store import Always, Change, Check, Conflict, Delete, IfAbsent, IfVersion, Item, Key, Put, Store
from api.servers.service import Server, client_secret_use_key, server_key
from integrations import ClientAuth, Tokens

PREFIX = "GRANT#"
ACCESS, REFRESH = "access", "refresh"


@dataclass(frozen=True, slots=True)
class OAuthClientRef:
    """The OAuth client that a grant was issued to, without its secret."""

    kind: Literal["service", "given", "registered", "document"]
    """`service`: the operator's app. `given`: from the server's `config`. `registered`: by dynamic client registration.
    `document`: our published client metadata."""

    id: str
    auth: ClientAuth


@dataclass(frozen=True, slots=True)
class RefreshLease:
    """The exclusive right of one process to send a token request for the grant, until a point in time."""

    owner: str = ""
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Grant:
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

    version: int = 0
    """0 until the grant is stored."""

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
        """Without a refresh token in the response, the stored one remains in use."""
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
        """`Conflict` if the stored grant has changed since it was read. A grant is no configuration: no revision."""
        put = self.replacement(grant)
        await self._store.write(put, *guards)
        return replace(grant, version=put.version)

    async def create(self, grant: Grant, server: Server) -> Grant:
        """`Conflict` if the server has changed since the grant was requested for it."""
        return await self.save(grant, Check(Key(self._partition, server_key(server.id)), IfVersion(server.version)))

    def overwrite(self, grant: Grant) -> Put:
        return Put(self._key(grant.server_id), grant.data(), Always())

    def replacement(self, grant: Grant) -> Put:
        condition = IfVersion(grant.version) if grant.version else IfAbsent()
        return Put(self._key(grant.server_id), grant.data(), condition)

    def deletion(self, grant: Grant) -> Change:
        """Only of the version that was read. A concurrent refresh then finds no grant to store its tokens in."""
        return Delete(self._key(grant.server_id), IfVersion(grant.version))

    def _key(self, server_id: str) -> Key:
        return Key(self._partition, grant_key(server_id))


@dataclass(frozen=True, slots=True)
class ClientRegistration:
    """An OAuth client that an authorization server registered for this workspace (RFC 7591)."""

    issuer: str
    id: str
    auth: ClientAuth
    redirect_uri: str
    scopes: tuple[str, ...]
    expires_at: float | None = None
    sealed: Mapping[str, str] = field(default_factory=dict)
    is_doubted: bool = False
    """A browser was sent to the authorization server as this client and has not returned: the authorization server may
    have deleted the registration."""

    @classmethod
    def of(cls, item: Item) -> Self:
        data = dict(item.data)
        return cls(**{**data, "scopes": tuple(data["scopes"])})

    @property
    def key(self) -> str:
        return registration_key(self.issuer, self.id)


@dataclass(frozen=True, slots=True)
class ClientSecretUse:
    """The first authorization server that a server's configured client secret was sent to."""

    server_id: str
    issuer: str
    sealed: Mapping[str, str]
    """A fingerprint of the secret."""

    version: int = 0

    @classmethod
    def of(cls, item: Item) -> Self:
        return cls(**item.data, version=item.version)

    @property
    def key(self) -> str:
        return client_secret_use_key(self.server_id)


def registration_key(issuer: str, client_id: str) -> str:
    """By issuer, so that a client of one authorization server is never used at another. An issuer may have several."""
    return f"{_issuer_prefix(issuer)}{_digest(client_id)}"


def _issuer_prefix(issuer: str) -> str:
    return f"CLIENT#{_digest(issuer)}#"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class ClientRegistrationRepository:
    """The registered clients of one workspace, and the issuers of its configured client secrets."""

    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._store = store
        self._partition = ctx.partition

    async def get(self, issuer: str, client_id: str) -> ClientRegistration | None:
        item = await self._store.get(self._key(issuer, client_id))
        return ClientRegistration.of(item) if item else None

    async def list_by_issuer(self, issuer: str) -> list[ClientRegistration]:
        items = await self._store.query(self._partition, _issuer_prefix(issuer))
        return [ClientRegistration.of(item) for item in items]

    async def save(self, registration: ClientRegistration, *guards: Change) -> None:
        put = Put(Key(self._partition, registration.key), asdict(registration), Always())
        await self._store.write(put, *guards)

    async def mark_doubted(self, issuer: str, client_id: str, *, is_doubted: bool) -> None:
        """A concurrent change has newer information, so a `Conflict` is ignored."""
        item = await self._store.get(self._key(issuer, client_id))
        if item and item.data.get("is_doubted") != is_doubted:
            with suppress(Conflict):
                changed = {**item.data, "is_doubted": is_doubted}
                await self._store.write(Put(item.key, changed, IfVersion(item.version)))

    async def delete(self, issuer: str, client_id: str) -> None:
        await self._store.write(Delete(self._key(issuer, client_id), Always()))

    async def secret_use(self, server_id: str) -> ClientSecretUse | None:
        item = await self._store.get(Key(self._partition, client_secret_use_key(server_id)))
        return ClientSecretUse.of(item) if item else None

    async def save_secret_use(self, use: ClientSecretUse, *guards: Change) -> None:
        """`Conflict` if it has changed since it was read."""
        data = asdict(use)
        version = data.pop("version")
        condition = IfVersion(version) if version else IfAbsent()
        await self._store.write(Put(Key(self._partition, use.key), data, condition), *guards)

    def _key(self, issuer: str, client_id: str) -> Key:
        return Key(self._partition, registration_key(issuer, client_id))
