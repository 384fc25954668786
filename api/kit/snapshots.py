"""What a process remembers of the store, and when that may be used: while the partition's revision stands.

Every change of a partition's configuration writes its REVISION item in the same write. So one read of that item tells
whether all that was read under the same revision still holds: one read a request, and no stale moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from api.kit.store import Item, Key, Store

REVISION = "REVISION"
REMEMBERED_ITEMS = 20_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A partition as of one revision, or later where an item was first read later."""

    partition: str
    revision: int
    _memory: Memory

    async def get(self, sk: str) -> Item | None:
        return await self._memory.item(Key(self.partition, sk), self.revision)


class Memory:
    def __init__(self, store: Store, at_most: int = REMEMBERED_ITEMS) -> None:
        self._store = store
        self._at_most = at_most
        self._items: dict[Key, tuple[int, Item]] = {}
        self._read_revision = SharedReads(self._revision)

    async def open(self, partition: str) -> Snapshot | None:
        """The partition as it is now; none if it has no revision, which is to say: it does not exist."""
        revision = await self._read_revision(partition)
        return None if revision is None else Snapshot(partition, revision, self)

    async def item(self, key: Key, revision: int) -> Item | None:
        known = self._items.get(key)
        if known is not None and known[0] == revision:
            return known[1]
        item = await self._store.get(key)
        if item is None:
            self._items.pop(key, None)
        elif item.expires_at is None:  # what time takes away, no revision announces
            self._remember(key, revision, item)
        return item

    def _remember(self, key: Key, revision: int, item: Item) -> None:
        self._items.pop(key, None)
        if len(self._items) >= self._at_most:
            del self._items[next(iter(self._items))]
        self._items[key] = (revision, item)

    async def _revision(self, partition: str) -> int | None:
        item = await self._store.get(Key(partition, REVISION))
        return item.version if item else None


@dataclass(slots=True)
class _Turn:
    done: asyncio.Event = field(default_factory=asyncio.Event)
    next: asyncio.Task[int | None] | None = None


class SharedReads:
    """Those who wait for the same thing share the next read that starts.

    Never the one under way: it may have begun before a write that the caller already knows of.
    """

    def __init__(self, read: Callable[[str], Awaitable[int | None]]) -> None:
        self._read = read
        self._turns: dict[str, _Turn] = {}

    async def __call__(self, key: str) -> int | None:
        turn = self._turns.get(key)
        if turn is None:
            return await self._lead(key)
        if turn.next is None:
            turn.next = asyncio.create_task(self._follow(key, turn))
        return await asyncio.shield(turn.next)

    async def _lead(self, key: str) -> int | None:
        turn = self._turns[key] = _Turn()
        try:
            return await self._read(key)
        finally:
            turn.done.set()
            if turn.next is None:
                del self._turns[key]

    async def _follow(self, key: str, turn: _Turn) -> int | None:
        await turn.done.wait()
        return await self._lead(key)
