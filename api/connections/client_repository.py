"""Stored registrations of OAuth clients, and the issuers that configured client secrets belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, Self

from api.access.context import WorkspaceContext
from api.kit.storage.records import NOT_STORED, Record
from api.kit.storage.store import (
    Always,
    Change,
    Check,
    Conflict,
    Delete,
    IfAbsent,
    IfPresent,
    IfVersion,
    Item,
    Key,
    Put,
    Store,
)
from integrations import ClientAuth

CLIENT_PREFIX, USE_PREFIX = "CLIENT#", "CLIENTUSE#"


@dataclass(frozen=True, slots=True)
class ClientRegistration(Record):
    """An OAuth client that an authorization server registered for this workspace (RFC 7591)."""

    PARSERS: ClassVar = {"scopes": tuple}

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
        return cls.decode(item.data)

    @property
    def key(self) -> str:
        return registration_key(self.issuer, self.id)


@dataclass(frozen=True, slots=True)
class ClientSecretUse(Record):
    """The first authorization server that a server's configured client secret was sent to."""

    server_id: str
    issuer: str
    sealed: Mapping[str, str]
    """A fingerprint of the secret."""

    version: int = field(default=0, metadata=NOT_STORED)

    @classmethod
    def of(cls, item: Item) -> Self:
        return cls.decode(item.data, version=item.version)

    @property
    def key(self) -> str:
        return client_secret_use_key(self.server_id)


def client_secret_use_key(server_id: str) -> str:
    """Attached to the server, and deleted with it."""
    return f"FIRSTUSE#{server_id}"


def registration_key(issuer: str, client_id: str) -> str:
    """The key contains the issuer, so that a client is never used at another. An issuer may have several clients."""
    return f"{_issuer_prefix(issuer)}{_digest(client_id)}"


def _issuer_prefix(issuer: str) -> str:
    return f"{CLIENT_PREFIX}{_digest(issuer)}#"


def _use_key(registration: str) -> str:
    return f"{USE_PREFIX}{registration.removeprefix(CLIENT_PREFIX)}"


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

    async def page(self, limit: int, after: str | None) -> list[Item]:
        return await self._store.query(self._partition, CLIENT_PREFIX, limit=limit, after=after)

    async def save(self, registration: ClientRegistration, in_use_until: int, *guards: Change) -> None:
        put = Put(Key(self._partition, registration.key), registration.encode(), Always())
        await self._store.write(put, self._use(registration.key, in_use_until), *guards)

    async def mark_in_use(self, registration: ClientRegistration, until: int) -> bool:
        """Extend the use of a registration; False if it has just been deleted."""
        try:
            present = Check(Key(self._partition, registration.key), IfPresent())
            await self._store.write(self._use(registration.key, until), present)
        except Conflict:
            return False
        return True

    async def delete_if_unused(self, item: Item) -> bool:
        """Delete a registration; False if it was used within the last day, or changed in the meantime."""
        try:
            unused = Check(Key(self._partition, _use_key(item.key.sk)), IfAbsent())
            await self._store.write(Delete(item.key, IfVersion(item.version)), unused)
        except Conflict:
            return False
        return True

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
        condition = IfVersion(use.version) if use.version else IfAbsent()
        await self._store.write(Put(Key(self._partition, use.key), use.encode(), condition), *guards)

    def _key(self, issuer: str, client_id: str) -> Key:
        return Key(self._partition, registration_key(issuer, client_id))

    def _use(self, registration: str, until: int) -> Put:
        """An item that expires. While it exists, the registration is not deleted."""
        return Put(Key(self._partition, _use_key(registration)), {}, Always(), expires_at=until)
