"""A cache of items that is valid while the revision of their partition is unchanged.

Every change of a partition's configuration writes its REVISION item in the same write. So one read of that item shows
whether everything that was read under the same revision is still valid: one read per request, and never a stale value.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from api.kit.cache.heap_size import heap_size
from api.kit.cache.lru import LruCache
from api.kit.cache.memory import CacheMemory, OwnedCache
from api.kit.storage.store import Item, Key, Store, SyncReads
from api.kit.tasks import BackgroundTasks

REVISION = "REVISION"
REMEMBERED_PARTITIONS = 20_000
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A partition at one revision; items that are first read later may be newer."""

    partition: str
    revision: int
    _cache: RevisionCache

    async def get(self, sk: str) -> Item | None:
        return await self.get_rendered(sk, _itself, _itself)

    async def get_rendered(self, sk: str, read: Callable[[Item], S], show: Callable[[S], T]) -> T | None:
        """The item, parsed and rendered. The result is cached for the revision, and must be immutable."""
        return await self._cache.get_rendered(Key(self.partition, sk), self.revision, (read, show))

    async def get_many_rendered(self, sks: Sequence[str], read: Callable[[Item], S]) -> dict[str, S]:
        """The items that exist. Those that are not cached are read in one batch."""
        rendered = await self._cache.get_many_rendered(
            [Key(self.partition, sk) for sk in sks], self.revision, (read, _itself)
        )
        return {key.sk: value for key, value in rendered.items()}


class _Rendered(NamedTuple):
    revision: int
    value: Any


class RevisionCache:
    """What is held of a partition counts as the partition's, with the size of the item as it is decoded."""

    def __init__(self, store: Store, memory: CacheMemory | None = None) -> None:
        self._store = store
        self._rendered: OwnedCache[tuple[Key, object], _Rendered] = OwnedCache(memory or CacheMemory(), "records")
        self._snapshots: LruCache[str, Snapshot] = LruCache(REMEMBERED_PARTITIONS)
        self._this_turn = TurnReads(store) if isinstance(store, SyncReads) else None
        self._read_revision = CoalescedReads(self._revision)

    async def open(self, partition: str) -> Snapshot | None:
        """The partition at its current revision; None if it does not exist."""
        revision = await self._read_revision(partition) if self._this_turn is None else self._this_turn(partition)
        if revision is None:
            return None
        snapshot = self._snapshots.get(partition)
        if snapshot is None or snapshot.revision != revision:
            snapshot = Snapshot(partition, revision, self)
            self._snapshots.put(partition, snapshot)
        return snapshot

    async def get_rendered(
        self, key: Key, revision: int, how: tuple[Callable[[Item], S], Callable[[S], T]]
    ) -> T | None:
        cached = self._rendered.get((key, how))
        if cached is not None and cached.revision == revision:
            value: T = cached.value
            return value
        return self._render(key, await self._store.get(key), revision, how)

    async def get_many_rendered(
        self, keys: Sequence[Key], revision: int, how: tuple[Callable[[Item], S], Callable[[S], T]]
    ) -> dict[Key, T]:
        cached = {key: self._rendered.get((key, how)) for key in keys}
        stale = [key for key, rendered in cached.items() if rendered is None or rendered.revision != revision]
        items = await self._store.get_many(stale) if stale else {}
        loaded = {key: self._render(key, items.get(key), revision, how) for key in stale}
        values = {key: loaded.get(key, cached_value and cached_value.value) for key, cached_value in cached.items()}
        return {key: value for key, value in values.items() if value is not None}

    def _render(
        self, key: Key, item: Item | None, revision: int, how: tuple[Callable[[Item], S], Callable[[S], T]]
    ) -> T | None:
        if item is None:
            self._rendered.pop((key, how))
            return None
        read, show = how
        value = show(read(item))
        if item.expires_at is None:  # no revision announces that an item expires
            self._rendered.put(key.pk, (key, how), _Rendered(revision, value), heap_size(item.data))
        return value

    async def _revision(self, partition: str) -> int | None:
        item = await self._store.get(Key(partition, REVISION))
        return item.version if item else None


class TurnReads:
    """Shares a read among the requests that run in the same turn of the event loop.

    All of them arrived before the read. A later turn forgets the result before it serves any request.
    """

    def __init__(self, store: SyncReads) -> None:
        self._store = store
        self._read: dict[str, int | None] = {}

    def __call__(self, partition: str) -> int | None:
        if partition not in self._read:
            if not self._read:
                asyncio.get_running_loop().call_soon(self._read.clear)
            self._read[partition] = self._store.version_now(Key(partition, REVISION))
        return self._read[partition]


def _itself(item: T) -> T:
    return item


class CoalescedReads:
    """Callers that wait for the same key share the next read that starts.

    They never share the read in progress, which may have begun before a write that the caller already knows of.
    """

    def __init__(self, read: Callable[[str], Coroutine[Any, Any, int | None]]) -> None:
        self._read = read
        self._waiting: dict[str, list[asyncio.Future[int | None]]] = {}  # by what is being read
        self._reads = BackgroundTasks()

    async def __call__(self, key: str) -> int | None:
        waiting = self._waiting.get(key)
        if waiting is not None:
            turn: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
            waiting.append(turn)
            return await turn  # its own future: a cancelled caller cancels no other
        self._waiting[key] = []
        try:
            return await self._read(key)
        finally:
            self._next_soon(key)

    def _next_soon(self, key: str) -> None:
        """Start the next read after a turn of the event loop, so that callers that arrive in it share the read."""
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._next, key)

    def _next(self, key: str) -> None:
        waiting = self._waiting.pop(key)
        if not waiting:
            return
        self._waiting[key] = []
        task = self._reads.start(self._read(key))
        task.add_done_callback(partial(self._hand_out, key, waiting))

    def _hand_out(
        self, key: str, waiting: Sequence[asyncio.Future[int | None]], task: asyncio.Task[int | None]
    ) -> None:
        error = None if task.cancelled() else task.exception()
        for turn in waiting:
            if turn.done():
                continue
            if task.cancelled():
                turn.cancel()
            elif error is not None:
                turn.set_exception(error)
            else:
                turn.set_result(task.result())
        self._next_soon(key)
