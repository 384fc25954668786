"""The promises of the store port about queries, which every engine must keep."""

import pytest

from api.kit.storage.store import IfAbsent, Key, Put, Store
from tests.contract.items import fill, sks
from tests.fakes.still_clock import StillClock

pytestmark = pytest.mark.requirement("DB-01")


@pytest.mark.requirement("DB-06")
async def test_expired_items_do_not_use_up_the_limit_of_a_query(store: Store, clock: StillClock) -> None:
    soon = int(clock.now()) + 1
    await store.write(*(Put(Key("WS#1", f"{n:02}"), {}, IfAbsent(), None if n % 5 == 4 else soon) for n in range(20)))
    clock.advance(5)

    assert await sks(store, limit=3) == ["04", "09", "14"]
    assert await sks(store, limit=3, newest_first=True) == ["19", "14", "09"]
    assert await sks(store, limit=100) == ["04", "09", "14", "19"]


async def test_a_query_answers_in_the_order_of_code_points(store: Store) -> None:
    names = ["Z", "a", "a#1", "a#10", "a#2", "z", "é", "漢", "\uffee", "🔌"]
    await fill(store, *reversed(names))

    assert await sks(store) == names
    assert await sks(store, newest_first=True) == names[::-1]
    assert await sks(store, "a#") == ["a#1", "a#10", "a#2"]
    assert await sks(store, "🔌") == ["🔌"]


async def test_a_query_stays_in_its_partition_and_prefix(store: Store) -> None:
    await fill(store, "AGENT#1", "SERVER#1", "SERVER#2", "SLUG#1")
    await store.write(Put(Key("WS#10", "SERVER#9"), {}, IfAbsent()))

    assert await sks(store, "SERVER#") == ["SERVER#1", "SERVER#2"]
    assert await sks(store, "SERVER#1#") == []
    assert await sks(store, "SERVER#", limit=1) == ["SERVER#1"]
    assert await sks(store, "SERVER#", limit=1, newest_first=True) == ["SERVER#2"]


async def test_a_query_continues_after_any_position(store: Store) -> None:
    await fill(store, "a", "m#1", "m#3", "m#5", "z")

    assert await sks(store, "m#", after="m#1") == ["m#3", "m#5"]
    assert await sks(store, "m#", after="m#2") == ["m#3", "m#5"]
    assert await sks(store, "m#", after="m#5") == []
    assert await sks(store, "m#", after="m#3", newest_first=True) == ["m#1"]
    assert await sks(store, after="m#3") == ["m#5", "z"]
    assert await sks(store, after="m#3", newest_first=True) == ["m#1", "a"]


@pytest.mark.parametrize(("after", "upwards", "downwards"), [("", 2, 0), ("a", 2, 0), ("m", 2, 0), ("z", 0, 2)])
async def test_a_query_may_start_outside_its_prefix(store: Store, after: str, upwards: int, downwards: int) -> None:
    await fill(store, "a", "m#1", "m#2", "z")

    assert len(await store.query("WS#1", "m#", after=after)) == upwards
    assert len(await store.query("WS#1", "m#", after=after, newest_first=True)) == downwards
    assert len(await store.query("WS#1", after="")) == 4


@pytest.mark.parametrize("newest_first", [False, True])
async def test_paging_loses_nothing_and_repeats_nothing(store: Store, newest_first: bool) -> None:
    names = [f"SERVER#{number:03}" for number in range(250)]
    await fill(store, *names)

    seen, after = [], None
    while page := await sks(store, "SERVER#", limit=40, after=after, newest_first=newest_first):
        seen += page
        after = page[-1]

    assert seen == sorted(names, reverse=newest_first)
    assert len(await store.query("WS#1", limit=1000)) == 250


async def test_a_query_continues_beyond_a_megabyte(store: Store) -> None:
    await store.write(*(Put(Key("WS#1", f"{number}"), {"text": "x" * 300_000}, IfAbsent()) for number in range(8)))

    assert await sks(store) == list("01234567")
    assert await sks(store, limit=6, newest_first=True) == list("765432")


@pytest.mark.parametrize("newest_first", [False, True])
async def test_a_query_ends_after_the_item_that_exceeds_its_bytes(store: Store, newest_first: bool) -> None:
    await store.write(*(Put(Key("WS#1", f"{number}"), {"text": "x" * 1000}, IfAbsent()) for number in range(8)))
    order = sorted("01234567", reverse=newest_first)

    async def names(max_bytes: int, after: str | None = None) -> list[str]:
        found = await store.query("WS#1", newest_first=newest_first, after=after, max_bytes=max_bytes)
        return [item.key.sk for item in found]

    assert await names(0) == order[:1]
    assert await names(2500) == order[:3]
    assert await names(2500, order[2]) == order[3:6]
    assert await names(100_000) == order
