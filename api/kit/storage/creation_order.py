"""Lists in the order of creation, of objects whose ids are random: the store sorts by id."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol, TypeVar

from api.kit.storage.store import Item, Store

READ_AT_ONCE = 500


class Created(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def created_at(self) -> str: ...


R = TypeVar("R", bound=Created)
R_co = TypeVar("R_co", bound=Created, covariant=True)


class Collection(Protocol[R_co]):
    async def positions(self) -> Sequence[str]:
        """Of all objects."""
        ...

    async def load(self, ids: Sequence[str]) -> Sequence[R_co]:
        """The objects that still exist, in this order."""
        ...

    async def page_by_id(self, limit: int, after: str | None) -> Sequence[R_co]: ...


class CreationOrder(Protocol[R]):
    """A list as one request walks it, from the position with which its page begins."""

    def position(self, record: R) -> str: ...

    async def page(self, limit: int, after: str | None) -> Sequence[R]:
        """Full if there are more objects."""
        ...


def creation_order(collection: Collection[R], start: str | None) -> CreationOrder[R]:
    """A walk that began in the order of ids, in an earlier version, ends in that order: its position is an id."""
    return _ByTime(collection) if start is None or " " in start else _ById(collection)


def position_of(created_at: str, object_id: str) -> str:
    return f"{created_at} {object_id}"


async def read_all(store: Store, pk: str, prefix: str = "") -> list[Item]:
    items: list[Item] = []
    while page := await store.query(pk, prefix, limit=READ_AT_ONCE, after=items[-1].key.sk if items else None):
        items += page
        if len(page) < READ_AT_ONCE:
            break
        await asyncio.sleep(0)  # other requests go on between two reads
    return items


class _ByTime(CreationOrder[R]):
    """Reads the positions once: a filtered list asks for many pages."""

    def __init__(self, collection: Collection[R]) -> None:
        self._collection = collection
        self._positions: list[str] | None = None

    def position(self, record: R) -> str:
        return position_of(record.created_at, record.id)

    async def page(self, limit: int, after: str | None) -> Sequence[R]:
        if self._positions is None:
            self._positions = sorted(await self._collection.positions())
        at = bisect_right(self._positions, after) if after else 0
        records: list[R] = []
        while len(records) < limit and (chosen := self._positions[at : at + limit - len(records)]):
            records += await self._collection.load([position.partition(" ")[2] for position in chosen])
            at += len(chosen)
        return records


class _ById(CreationOrder[R]):
    def __init__(self, collection: Collection[R]) -> None:
        self._collection = collection

    def position(self, record: R) -> str:
        return record.id

    async def page(self, limit: int, after: str | None) -> Sequence[R]:
        return await self._collection.page_by_id(limit, after)
