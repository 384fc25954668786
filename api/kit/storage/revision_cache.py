"""What a process remembers of the store, and when that may be used: while the partition's revision stands.

Every change of a partition's configuration writes its REVISION item in the same write. So one read of that item tells
whether all that was read under the same revision still holds: one read a request, and no stale moment.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from api.kit.storage.store import Item, Key, Store, SyncReads

REVISION = "REVISION"
REMEMBERED_ITEMS = 20_000
REMEMBERED_BYTES = 64_000_000  # as stored; what is made of an item takes some times as much
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A partition as of one revision, or later where an item was first read later."""

    partition: str
    revision: int
    _memory: RevisionCache

    async def get(self, sk: str) -> Item | None:
        return await self.get_rendered(sk, _itself, _itself)

    async def get_rendered(self, sk: str, read: Callable[[Item], S], show: Callable[[S], T]) -> T | None:
        """What is shown of an item: made once a revision, not once a request, of a kind that never changes."""
        return await self._memory.get_rendered(Key(self.partition, sk), self.revision, (read, show))

    async def get_many_rendered(self, sks: Sequence[str], read: Callable[[Item], S]) -> dict[str, S]:
        """Those that are there; what is not remembered is read at once."""
        found = await self._memory.get_many_rendered(
            [Key(self.partition, sk) for sk in sks], self.revision, (read, _itself)
        )
        return {key.sk: made for key, made in found.items()}


class RevisionCache:
    def __init__(self, store: Store, at_most: int = REMEMBERED_ITEMS, bytes_at_most: int = REMEMBERED_BYTES) -> None:
        self._store = store
        self._at_most = at_most
        self._bytes_at_most = bytes_at_most
        self._bytes = 0
        self._made: OrderedDict[tuple[Key, object], tuple[int, Any, int]] = OrderedDict()
        self._snapshots: dict[str, Snapshot] = {}
        self._this_turn = TurnReads(store) if isinstance(store, SyncReads) else None
        self._read_revision = CoalescedReads(self._revision)

    async def open(self, partition: str) -> Snapshot | None:
        """The partition as it is now; none if it has no revision, which is to say: it does not exist."""
        revision = await self._read_revision(partition) if self._this_turn is None else self._this_turn(partition)
        if revision is None:
            return None
        known = self._snapshots.get(partition)
        if known is None or known.revision != revision:
            known = self._snapshots[partition] = Snapshot(partition, revision, self)
            if len(self._snapshots) > self._at_most:
                del self._snapshots[next(iter(self._snapshots))]
        return known

    async def get_rendered(
        self, key: Key, revision: int, how: tuple[Callable[[Item], S], Callable[[S], T]]
    ) -> T | None:
        known = self._made.get((key, how))
        if known is not None and known[0] == revision:
            found: T = known[1]
            return found
        return self._render(key, await self._store.get(key), revision, how)

    async def get_many_rendered(
        self, keys: Sequence[Key], revision: int, how: tuple[Callable[[Item], S], Callable[[S], T]]
    ) -> dict[Key, T]:
        known = {key: self._made.get((key, how)) for key in keys}
        unknown = [key for key, found in known.items() if found is None or found[0] != revision]
        read = await self._store.get_many(unknown) if unknown else {}
        fresh = {key: self._render(key, read.get(key), revision, how) for key in unknown}
        made = {key: fresh[key] if key in fresh else found and found[1] for key, found in known.items()}
        return {key: each for key, each in made.items() if each is not None}

    def _render(
        self, key: Key, item: Item | None, revision: int, how: tuple[Callable[[Item], S], Callable[[S], T]]
    ) -> T | None:
        if item is None:
            self._forget((key, how))
            return None
        read, show = how
        made = show(read(item))
        if item.expires_at is None:  # what time takes away, no revision announces
            self._remember((key, how), revision, made, item.size)
        return made

    def _remember(self, what: tuple[Key, object], revision: int, made: object, size: int) -> None:
        self._forget(what)
        if size > self._bytes_at_most:
            return
        while len(self._made) >= self._at_most or self._bytes + size > self._bytes_at_most:
            self._forget(next(iter(self._made)))  # the oldest
        self._made[what] = (revision, made, size)
        self._bytes += size

    def _forget(self, what: tuple[Key, object]) -> None:
        _, _, size = self._made.pop(what, (0, None, 0))
        self._bytes -= size

    async def _revision(self, partition: str) -> int | None:
        item = await self._store.get(Key(partition, REVISION))
        return item.version if item else None


class TurnReads:
    """One read for all who are served in the same turn of the event loop.

    They had all come before it: what comes after it is taken in by a later turn, at the beginning of which all is
    forgotten.
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
    """Those who wait for the same thing share the next read that starts.

    Never the one under way: it may have begun before a write that the caller already knows of.
    """

    def __init__(self, read: Callable[[str], Coroutine[Any, Any, int | None]]) -> None:
        self._read = read
        self._waiting: dict[str, list[asyncio.Future[int | None]]] = {}  # by what is being read
        self._under_way: set[asyncio.Task[int | None]] = set()

    async def __call__(self, key: str) -> int | None:
        waiting = self._waiting.get(key)
        if waiting is not None:
            turn: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
            waiting.append(turn)
            return await turn  # a future of its own: who is cancelled takes nobody along
        self._waiting[key] = []
        try:
            return await self._read(key)
        finally:
            self._next(key)

    def _next(self, key: str) -> None:
        waiting = self._waiting.pop(key)
        if not waiting:
            return
        self._waiting[key] = []
        task = asyncio.ensure_future(self._read(key))
        self._under_way.add(task)
        task.add_done_callback(partial(self._hand_out, key, waiting))

    def _hand_out(
        self, key: str, waiting: Sequence[asyncio.Future[int | None]], task: asyncio.Task[int | None]
    ) -> None:
        self._under_way.discard(task)
        self._next(key)
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
