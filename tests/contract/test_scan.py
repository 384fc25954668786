"""The reading of a whole store, which only commands do."""

import pytest

from api.kit.storage.dynamodb.scan import ScannableDynamoStore
from api.kit.storage.postgres.store import PostgresStore
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import IfAbsent, Item, Key, Put, Store
from tests.fakes.still_clock import StillClock

A = Key("WS#1", "SERVER#a")
B = Key("WS#1", "SERVER#b")


async def scanned(store: Store, page: int) -> list[Item]:
    """All items, in pages."""
    assert isinstance(store, SqliteStore | PostgresStore | ScannableDynamoStore)
    items = await store.scan(page)
    more = items
    while len(more) == page:
        more = await store.scan(page, more[-1].key)
        items = [*items, *more]
    return items


@pytest.mark.parametrize("page", [1, 2, 7, 100])
async def test_a_scan_returns_every_item_once(store: Store, page: int) -> None:
    keys = [Key(f"WS#{number % 3}", f"SERVER#{number}") for number in range(14)]
    await store.write(*(Put(key, {"sk": key.sk}, IfAbsent()) for key in keys))

    items = await scanned(store, page)

    assert sorted(item.key for item in items) == sorted(keys)
    assert {item.key: item for item in items} == await store.get_many(keys)


async def test_a_scan_leaves_out_expired_items(store: Store, clock: StillClock) -> None:
    now = int(clock.now())
    await store.write(Put(A, {}, IfAbsent(), now + 60), Put(B, {}, IfAbsent(), now - 60))

    assert [item.key for item in await scanned(store, 1)] == [A]


async def test_a_copied_item_keeps_its_version(store: Store) -> None:
    item = Item(A, {"a": [1, 2.5, None]}, version=41, expires_at=4_000_000_000)

    await store.write(Put.copy_of(item))

    assert await store.get(A) == item
