"""A store that counts and times the operations of another one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from time import perf_counter
from typing import TypeVar

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from api.kit.metrics import Timings
from api.kit.storage.store import Change, Conflict, Item, Key, Losable, Store, SyncReads

SECONDS = (0.0005, 0.002, 0.01, 0.05, 0.25, 1.0, 5.0)
T = TypeVar("T")


class StoreTimes(Collector):
    def __init__(self) -> None:
        self._times = Timings(SECONDS)

    def record(self, operation: str, outcome: str, seconds: float) -> None:
        self._times.add((operation, outcome), seconds)

    def collect(self) -> Iterator[Metric]:
        yield self._times.histogram(
            "plugboard_store_seconds", "How long operations of the store took.", ["operation", "outcome"]
        )


class TimedStore:
    """Has synchronous reads, and a place to check, if the other store has them.

    Synchronous reads are not timed: on a warm call they cost microseconds.
    """

    version_now: Callable[[Key], int | None]
    check_place: Callable[[], None]

    def __init__(self, store: Store) -> None:
        self.times = StoreTimes()
        self._store = store
        if isinstance(store, SyncReads):
            self.version_now = store.version_now
        if isinstance(store, Losable):
            self.check_place = store.check_place

    async def get(self, key: Key) -> Item | None:
        return await self._timed("get", self._store.get(key))

    async def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        return await self._timed("get_many", self._store.get_many(keys))

    async def query(
        self,
        pk: str,
        prefix: str = "",
        *,
        limit: int = 100,
        after: str | None = None,
        newest_first: bool = False,
        max_bytes: int | None = None,
    ) -> list[Item]:
        work = self._store.query(pk, prefix, limit=limit, after=after, newest_first=newest_first, max_bytes=max_bytes)
        return await self._timed("query", work)

    async def write(self, *changes: Change) -> None:
        await self._timed("write", self._store.write(*changes))

    async def close(self) -> None:
        await self._store.close()

    async def _timed(self, operation: str, work: Awaitable[T]) -> T:
        started, outcome = perf_counter(), "failed"
        try:
            result = await work
            outcome = "ok"
        except Conflict:
            outcome = "conflict"
            raise
        finally:
            self.times.record(operation, outcome, perf_counter() - started)
        return result
