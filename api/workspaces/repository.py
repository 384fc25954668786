"""Stored workspaces: their records, the list of all, and the list of deleted ones that still have items."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from api.access.context import WorkspaceContext, partition_of
from api.access.repository import META, owned_keys, remove_lookup, revision_key
from api.kit.storage.creation_order import READ_AT_ONCE, position_of, read_all
from api.kit.storage.records import NOT_STORED, Record
from api.kit.storage.store import Always, Change, Delete, IfAbsent, IfPresent, IfVersion, Item, Key, Put, Store

ALL = "WORKSPACES"
DELETED = "DELETED"
CREATED_AT = "created_at"
REMEMBERED_BEGINNINGS = 100_000
PURGED_AT_ONCE = 45  # each may be an API key, which has a lookup too


@dataclass(frozen=True, slots=True)
class Workspace(Record):
    id: str
    name: str
    created_at: str
    updated_at: str
    version: int = field(default=1, metadata=NOT_STORED)

    @classmethod
    def of(cls, item: Item) -> Workspace:
        return cls.decode(item.data, version=item.version)


class WorkspaceRecord:
    """The record of the context's workspace."""

    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._store = store
        self._ctx = ctx

    async def get_cached(self) -> Workspace | None:
        """The workspace, at least as current as the request; for reading."""
        item = await self._ctx.snapshot.get(META)
        return Workspace.of(item) if item else None

    async def get(self) -> Workspace | None:
        """The workspace as it is stored now, to be changed."""
        item = await self._store.get(_key(self._ctx.workspace_id))
        return Workspace.of(item) if item else None

    def replace(self, old: Workspace, new: Workspace) -> list[Change]:
        return [Put(_key(new.id), new.encode(), IfVersion(old.version))]

    def remove(self, workspace: Workspace) -> list[Change]:
        """The changes that delete a workspace: no key is accepted any more, and the job purges the remaining items."""
        return [
            Delete(_key(workspace.id), IfVersion(workspace.version)),
            Delete(revision_key(self._ctx.partition), IfPresent()),
            Delete(_list_key(workspace.id), Always()),
            Put(_deletion_key(workspace.id), {}, Always()),
        ]


class WorkspaceDirectory:
    """All workspaces, for operators, who see nothing in them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._beginnings: dict[str, str] = {}

    async def positions(self) -> list[str]:
        listed = {item.key.sk: item.data.get(CREATED_AT) for item in await read_all(self._store, ALL)}
        await self._learn_beginnings([workspace_id for workspace_id, at in listed.items() if at is None])
        return [position_of(at or self._beginnings.get(each, ""), each) for each, at in listed.items()]

    async def _learn_beginnings(self, ids: Sequence[str]) -> None:
        """Entries that an earlier version wrote do not have the time. It never changes, so it is read once."""
        unknown = [workspace_id for workspace_id in ids if workspace_id not in self._beginnings]
        if len(self._beginnings) + len(unknown) > REMEMBERED_BEGINNINGS:
            self._beginnings.clear()
        for start in range(0, len(unknown), READ_AT_ONCE):
            found = await self.load(unknown[start : start + READ_AT_ONCE])
            self._beginnings.update({workspace.id: workspace.created_at for workspace in found})
            await asyncio.sleep(0)

    async def load(self, ids: Sequence[str]) -> list[Workspace]:
        keys = [_key(workspace_id) for workspace_id in ids]
        items = await self._store.get_many(keys)
        return [Workspace.of(items[key]) for key in keys if key in items]

    async def page_by_id(self, limit: int, after: str | None) -> list[Workspace]:
        """Full if there are more workspaces, even if some are deleted between the two reads."""
        workspaces: list[Workspace] = []
        while len(workspaces) < limit and (
            listed := await self._store.query(ALL, limit=limit - len(workspaces), after=after)
        ):
            workspaces += await self.load([item.key.sk for item in listed])
            after = listed[-1].key.sk
        return workspaces

    async def ids(self, after: str | None = None) -> list[str]:
        return [item.key.sk for item in await self._store.query(ALL, limit=100, after=after)]

    def add(self, workspace: Workspace) -> list[Change]:
        return [
            Put(_key(workspace.id), workspace.encode(), IfAbsent()),
            Put(revision_key(partition_of(workspace.id)), {}, IfAbsent()),
            Put(_list_key(workspace.id), {CREATED_AT: workspace.created_at}, IfAbsent()),
        ]

    async def deleted(self) -> list[str]:
        """Deleted workspaces that may still have items."""
        return [item.key.sk for item in await self._store.query(DELETED, limit=100)]

    async def purge(self, workspace_id: str) -> None:
        while items := await self._store.query(partition_of(workspace_id), limit=PURGED_AT_ONCE):
            await self._store.write(*_deletions(items))
        await self._store.write(Delete(_deletion_key(workspace_id), Always()))


def _deletions(items: Sequence[Item]) -> list[Change]:
    lookups = [Delete(change.key, Always()) for change in map(remove_lookup, owned_keys(items))]
    return [*(Delete(item.key, Always()) for item in items), *lookups]


def _key(workspace_id: str) -> Key:
    return Key(partition_of(workspace_id), META)


def _list_key(workspace_id: str) -> Key:
    return Key(ALL, workspace_id)


def _deletion_key(workspace_id: str) -> Key:
    return Key(DELETED, workspace_id)
