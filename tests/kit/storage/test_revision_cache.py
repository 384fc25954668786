import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from api.kit.cache.heap_size import heap_size
from api.kit.cache.memory import ENTRY_BYTES, CacheMemory
from api.kit.storage.revision_cache import REVISION, RevisionCache
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Always, Change, Delete, Item, Key, Put, Store

WS = "WS#a"


class CountingStore:
    """A store that counts how often each key is read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.reads: Counter[str] = Counter()

    async def get(self, key: Key) -> Item | None:
        self.reads[key.sk] += 1
        return await self._store.get(key)

    async def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        return {key: item for key in keys if (item := await self.get(key))}

    async def query(self, pk: str, prefix: str = "", **options: Any) -> list[Item]:
        return await self._store.query(pk, prefix, **options)

    async def write(self, *changes: Change) -> None:
        await self._store.write(*changes)

    async def close(self) -> None:
        await self._store.close()


@pytest.fixture
async def open_store(tmp_path: Path) -> AsyncIterator[Callable[[], Store]]:
    """Each call is another process's view of the same file."""
    opened: list[Store] = []

    def opens() -> Store:
        opened.append(SqliteStore(tmp_path / "plugboard.db"))
        return opened[-1]

    yield opens
    for store in opened:
        await store.close()


@pytest.fixture
def store(open_store: Callable[[], Store]) -> CountingStore:
    return CountingStore(open_store())


async def put(store: Store, sk: str, value: object, partition: str = WS, expires_at: int | None = None) -> None:
    """As every change of configuration is written: with a new revision."""
    await store.write(
        Put(Key(partition, sk), {"value": value}, Always(), expires_at), Put(Key(partition, REVISION), {}, Always())
    )


async def read(memory: RevisionCache, *sks: str, partition: str = WS) -> list[object]:
    """What one request does."""
    snapshot = await memory.open(partition)
    assert snapshot is not None
    items = [await snapshot.get(sk) for sk in sks]
    return [item.data["value"] if item else None for item in items]


async def test_a_partition_without_a_revision_does_not_exist(store: CountingStore) -> None:
    assert await RevisionCache(store).open(WS) is None


async def test_a_warm_request_reads_the_revision_and_nothing_else(store: CountingStore) -> None:
    memory = RevisionCache(store)
    await put(store, "KEY#k", 1)
    await put(store, "AGENT#a", 2)

    assert await read(memory, "KEY#k", "AGENT#a") == [1, 2]
    store.reads.clear()
    for _ in range(10):
        assert await read(memory, "KEY#k", "AGENT#a") == [1, 2]

    assert store.reads == {REVISION: 10}


async def test_a_change_is_seen_by_the_next_request(store: CountingStore) -> None:
    memory = RevisionCache(store)
    await put(store, "KEY#k", 1)

    for value in range(2, 12):
        await put(store, "KEY#k", value)
        assert await read(memory, "KEY#k") == [value]


async def test_a_change_by_another_process_is_seen_by_the_next_request(
    store: CountingStore, open_store: Callable[[], Store]
) -> None:
    memory, elsewhere = RevisionCache(store), open_store()
    await put(elsewhere, "KEY#k", 1)
    assert await read(memory, "KEY#k") == [1]

    for value in range(2, 12):
        await put(elsewhere, "KEY#k", value)
        assert await read(memory, "KEY#k") == [value]
        assert await read(memory, "KEY#k") == [value]


async def test_an_item_deleted_by_another_process_is_gone_for_the_next_request(
    store: CountingStore, open_store: Callable[[], Store]
) -> None:
    memory, elsewhere = RevisionCache(store), open_store()
    await put(elsewhere, "KEY#k", 1)
    await put(elsewhere, "KEY#other", 2)
    assert await read(memory, "KEY#k", "KEY#other") == [1, 2]

    await elsewhere.write(Delete(Key(WS, "KEY#k"), Always()), Put(Key(WS, REVISION), {}, Always()))
    assert await read(memory, "KEY#k", "KEY#other") == [None, 2]

    await elsewhere.write(Delete(Key(WS, REVISION), Always()), Delete(Key(WS, "KEY#other"), Always()))
    assert await memory.open(WS) is None


async def test_a_missing_item_is_not_cached_as_missing(store: CountingStore) -> None:
    memory = RevisionCache(store)
    await put(store, "KEY#k", 1)
    assert await read(memory, "KEY#new") == [None]

    await store.write(Put(Key(WS, "KEY#new"), {"value": 2}, Always()))  # without a revision, as a lease is

    assert await read(memory, "KEY#new") == [2]


async def test_an_expiring_item_is_not_cached(store: CountingStore) -> None:
    memory = RevisionCache(store)
    await put(store, "KEY#k", 1, expires_at=4_000_000_000)

    assert await read(memory, "KEY#k", "KEY#k") == [1, 1]
    assert store.reads["KEY#k"] == 2


async def test_an_open_snapshot_never_shows_less_than_its_beginning(store: CountingStore) -> None:
    memory = RevisionCache(store)
    await put(store, "KEY#k", 1)
    before = await memory.open(WS)
    assert before is not None
    await put(store, "KEY#k", 2)

    item = await before.get("KEY#k")

    assert item is not None
    assert item.data["value"] == 2  # or later: it was first read later
    assert await read(memory, "KEY#k") == [2]


async def test_a_slow_reader_leaves_no_stale_item_in_the_cache(store: CountingStore) -> None:
    """It read before a write and remembers what it read after the next request did."""
    await put(store, "KEY#k", 1)
    slow = SlowStore(store)
    memory = RevisionCache(slow)
    old = await memory.open(WS)
    assert old is not None
    slow.hold("KEY#k")
    reading = asyncio.create_task(old.get("KEY#k"))
    await slow.held.wait()

    await put(store, "KEY#k", 2)
    assert await read(memory, "KEY#k") == [2]
    slow.release.set()
    item = await reading

    assert item is not None
    assert item.data["value"] == 1
    assert await read(memory, "KEY#k") == [2]


async def test_partitions_are_kept_apart(store: CountingStore) -> None:
    memory = RevisionCache(store)
    await put(store, "KEY#k", "mine")
    await put(store, "KEY#k", "theirs", "WS#b")

    assert await read(memory, "KEY#k") == ["mine"]
    assert await read(memory, "KEY#k", partition="WS#b") == ["theirs"]
    store.reads.clear()
    await put(store, "KEY#k", "changed", "WS#b")
    assert await read(memory, "KEY#k") == ["mine"]
    assert store.reads["KEY#k"] == 0  # a change over there costs nothing here


async def test_the_cache_is_bounded_and_an_item_that_was_not_used_goes_first(store: CountingStore) -> None:
    item = heap_size({"value": 4})
    memory = RevisionCache(store, CacheMemory(owner_bytes=3 * (item + ENTRY_BYTES)))
    for number in range(5):
        await put(store, f"KEY#{number}", number)
    await read(memory, *(f"KEY#{number}" for number in range(5)))
    store.reads.clear()

    assert await read(memory, "KEY#3", "KEY#2") == [3, 2]
    assert store.reads == {REVISION: 1}
    assert await read(memory, "KEY#0") == [0]
    assert store.reads["KEY#0"] == 1
    assert await read(memory, "KEY#0", "KEY#3", "KEY#2") == [0, 3, 2]
    assert store.reads == {REVISION: 3, "KEY#0": 1}
    assert await read(memory, "KEY#4") == [4]
    assert store.reads["KEY#4"] == 1


class SlowStore(CountingStore):
    """Holds the answer to one read back, after it was read."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._holds = ""
        self.held, self.release = asyncio.Event(), asyncio.Event()

    def hold(self, sk: str) -> None:
        self._holds = sk

    async def get(self, key: Key) -> Item | None:
        item = await super().get(key)
        if key.sk == self._holds:
            self._holds = ""
            self.held.set()
            await self.release.wait()
        return item


async def test_the_cache_is_bounded_in_bytes(store: CountingStore) -> None:
    memory = RevisionCache(store, CacheMemory(owner_bytes=15_000))
    for sk, value in (("A", "a" * 6000), ("B", "b" * 6000), ("C", "c" * 6000), ("LARGE", "x" * 20_000)):
        await put(store, sk, value)
    await read(memory, "A", "B", "LARGE")
    await read(memory, "C")  # pushes A out

    store.reads.clear()
    await read(memory, "B", "C", "LARGE", "A")

    assert store.reads == {REVISION: 1, "LARGE": 1, "A": 1}
