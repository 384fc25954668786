"""Stored API keys: the record in its owner's partition, and a lookup of that partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from api.access.principal import Principal, Scope
from api.kit.crypto.envelope import bind
from api.kit.storage.creation_order import position_of, read_all
from api.kit.storage.records import NOT_STORED, Record
from api.kit.storage.revision_cache import REVISION, Snapshot
from api.kit.storage.store import Always, Change, Check, Delete, IfAbsent, IfPresent, IfVersion, Item, Key, Put, Store

OPERATORS = "OPERATOR"
META = "META"
KEY = "KEY#"


@dataclass(frozen=True, slots=True)
class ApiKeyRecord(Record):
    PARSERS: ClassVar = {"scope": Scope, "agent_ids": tuple}

    id: str
    name: str
    scope: Scope
    hash: str
    pepper: int
    created_at: str
    created_by: str
    agent_ids: tuple[str, ...] | None = None
    expires_at: str | None = None
    version: int = field(default=1, metadata=NOT_STORED)

    @classmethod
    def of(cls, item: Item) -> ApiKeyRecord:
        return cls.decode(item.data, version=item.version)

    def rights(self, partition: str) -> bytes:
        """The key's partition and rights, in the form that its hash covers."""
        agents = ("all",) if self.agent_ids is None else ("these", *self.agent_ids)
        return bind(partition, self.id, self.scope, self.expires_at or "", *agents)


class ApiKeyRepository:
    """The API keys of all owners. Only `access` and `api_keys` use it; `api_keys` passes its own partition only."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(self, snapshot: Snapshot, key_id: str) -> ApiKeyRecord | None:
        item = await snapshot.get(key_record(snapshot.partition, key_id).sk)
        return ApiKeyRecord.of(item) if item else None

    async def owner(self, key_id: str) -> str | None:
        """The partition that the key belongs to."""
        item = await self._store.get(_lookup(key_id))
        return str(item.data["partition"]) if item else None

    async def get(self, partition: str, key_id: str) -> ApiKeyRecord | None:
        item = await self._store.get(key_record(partition, key_id))
        return ApiKeyRecord.of(item) if item else None

    def of(self, partition: str) -> OwnedKeys:
        return OwnedKeys(self._store, partition)


class OwnedKeys:
    """The API keys of one partition."""

    def __init__(self, store: Store, partition: str) -> None:
        self._store = store
        self._partition = partition

    async def positions(self) -> list[str]:
        items = await read_all(self._store, self._partition, KEY)
        return [position_of(str(item.data["created_at"]), item.key.sk.removeprefix(KEY)) for item in items]

    async def load(self, ids: Sequence[str]) -> list[ApiKeyRecord]:
        keys = [key_record(self._partition, key_id) for key_id in ids]
        items = await self._store.get_many(keys)
        return [ApiKeyRecord.of(items[key]) for key in keys if key in items]

    async def page_by_id(self, limit: int, after: str | None) -> list[ApiKeyRecord]:
        items = await self._store.query(self._partition, KEY, limit=limit, after=after and f"{KEY}{after}")
        return [ApiKeyRecord.of(item) for item in items]


def add_key(partition: str, record: ApiKeyRecord) -> list[Change]:
    return [
        Put(key_record(partition, record.id), record.encode(), IfAbsent()),
        Put(_lookup(record.id), {"partition": partition}, IfAbsent()),
    ]


def remove_key(partition: str, record: ApiKeyRecord) -> list[Change]:
    return [
        Delete(key_record(partition, record.id), IfVersion(record.version)),
        Delete(_use(partition, record.id), Always()),
        remove_lookup(record.id),
    ]


def existence_checks(principal: Principal) -> list[Check]:
    """Refuses a write whose principal was revoked after its request was authenticated."""
    return [Check(record, IfPresent()) for record in principal.records]


def remove_lookup(key_id: str) -> Change:
    return Delete(_lookup(key_id), IfPresent())


def add_use(partition: str, key_id: str, at: str, expires_at: int | None) -> list[Change]:
    return [
        Check(key_record(partition, key_id), IfPresent()),
        Put(_use(partition, key_id), {"at": at}, Always(), expires_at),
    ]


async def last_uses(store: Store, partition: str, key_ids: Sequence[str]) -> dict[str, str]:
    items = await store.get_many([_use(partition, key_id) for key_id in key_ids])
    return {key.sk.removeprefix("USED#"): str(item.data["at"]) for key, item in items.items()}


def owned_keys(items: Sequence[Item]) -> list[str]:
    """The ids of the API keys among the items of a partition."""
    return [item.key.sk.removeprefix(KEY) for item in items if item.key.sk.startswith(KEY)]


async def beginning_of(snapshot: Snapshot) -> str | None:
    """When the workspace was created."""
    item = await snapshot.get(META)
    return str(item.data["created_at"]) if item else None


async def name_of(snapshot: Snapshot) -> str:
    """The workspace's display name."""
    item = await snapshot.get(META)
    return str(item.data["name"]) if item else ""


def revision_key(partition: str) -> Key:
    return Key(partition, REVISION)


def key_record(partition: str, key_id: str) -> Key:
    return Key(partition, f"{KEY}{key_id}")


def _use(partition: str, key_id: str) -> Key:
    return Key(partition, f"USED#{key_id}")


def _lookup(key_id: str) -> Key:
    return Key(f"APIKEY#{key_id}", "OWNER")
