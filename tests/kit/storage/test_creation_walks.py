"""A page in the order of creation: how it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.access.api_key import ApiKey
from api.access.principal import Scope
from api.access.repository import ApiKeyRecord, ApiKeyRepository, add_key
from api.kit.clock import rfc3339
from api.kit.storage.creation_order import READ_AT_ONCE, creation_order
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.timed_store import TimedStore

PARTITION = "WS#ordered"
pytestmark = pytest.mark.anyio


async def with_keys(path: Path, count: int) -> TimedStore:
    store = SqliteStore(path / "plugboard.db")
    for number in range(count):
        record = ApiKeyRecord(ApiKey.new().key_id, f"Key {number}", Scope.READ, "", 1, rfc3339(number), "setup")
        await store.write(*add_key(PARTITION, record))
    return TimedStore(store)


def reads(store: TimedStore) -> dict[str, float]:
    (metric,) = store.times.collect()
    counts = [sample for sample in metric.samples if sample.name.endswith("_count")]
    return {sample.labels["operation"]: sample.value for sample in counts}


async def test_a_page_takes_two_reads(tmp_path: Path) -> None:
    store = await with_keys(tmp_path, 30)
    walk = creation_order(ApiKeyRepository(store).of(PARTITION), None)

    page = await walk.page(10, None)

    assert [record.name for record in page] == [f"Key {number}" for number in range(10)]
    assert reads(store) == {"query": 1, "get_many": 1}
    await store.close()


async def test_a_request_reads_the_order_once(tmp_path: Path) -> None:
    store = await with_keys(tmp_path, 30)
    walk = creation_order(ApiKeyRepository(store).of(PARTITION), None)

    after, names = None, list[str]()
    while page := await walk.page(10, after):
        names += [record.name for record in page]
        after = walk.position(page[-1])

    assert names == [f"Key {number}" for number in range(30)]
    assert reads(store) == {"query": 1, "get_many": 3}
    await store.close()


async def test_a_large_collection_is_read_in_parts(tmp_path: Path) -> None:
    store = await with_keys(tmp_path, READ_AT_ONCE + 1)
    walk = creation_order(ApiKeyRepository(store).of(PARTITION), None)

    last = await walk.page(10, f"{rfc3339(READ_AT_ONCE - 2)} key_zzzzzzzzzzzzzzzzzzzz")

    assert [record.name for record in last] == [f"Key {READ_AT_ONCE - 1}", f"Key {READ_AT_ONCE}"]
    assert reads(store)["query"] == 2
    await store.close()
