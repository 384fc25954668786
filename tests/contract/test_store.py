"""The promises of the store port, which every engine must keep."""

import asyncio
from collections.abc import Callable

import pytest

from api.kit.storage.store import (
    MAX_CHANGES,
    Always,
    Change,
    Check,
    Condition,
    Conflict,
    Delete,
    IfAbsent,
    IfPresent,
    IfVersion,
    ItemTooLarge,
    Key,
    Put,
    Store,
)
from tests.contract.items import fill, sks
from tests.fakes.still_clock import StillClock

pytestmark = pytest.mark.requirement("DB-01")

A = Key("WS#1", "SERVER#a")
B = Key("WS#1", "SERVER#b")
C = Key("WS#1", "SERVER#c")

CONDITIONS: dict[str, tuple[Condition, set[str]]] = {
    "absent": (IfAbsent(), {"missing", "expired"}),
    "present": (IfPresent(), {"live"}),
    "always": (Always(), {"missing", "live", "expired"}),
    "unchanged": (IfVersion(1), {"live"}),
    "unchanged since another version": (IfVersion(2), set()),
}
STATES = ("missing", "live", "expired")


async def stored(store: Store, key: Key, state: str, clock: StillClock) -> None:
    if state != "missing":
        expires_at = int(clock.now()) + (60 if state == "live" else -60)
        await store.write(Put(key, {"was": state}, IfAbsent(), expires_at))


async def holds(store: Store, change: Change) -> bool:
    try:
        await store.write(change)
    except Conflict as conflict:
        return change.key not in conflict.failed
    return True


@pytest.mark.parametrize("kind", ["put", "delete", "check"])
@pytest.mark.parametrize("named", CONDITIONS)
async def test_every_condition_means_the_same_in_every_change(
    store: Store, clock: StillClock, kind: str, named: str
) -> None:
    condition, held_by = CONDITIONS[named]
    for state in STATES:
        key = Key("WS#1", state)
        await stored(store, key, state, clock)
        before = await store.get(key)
        change = {
            "put": Put(key, {"is": "new"}, condition),
            "delete": Delete(key, condition),
            "check": Check(key, condition),
        }[kind]

        held = await holds(store, change)

        assert held == (state in held_by), state
        after = await store.get(key)
        if not held or kind == "check":
            assert after == before
        elif kind == "delete":
            assert after is None
        else:
            assert after is not None
            assert (after.data, after.expires_at) == ({"is": "new"}, None)


async def test_written_data_is_read_back_unchanged(store: Store) -> None:
    put = Put(A, {"name": "Notion", "tags": ["x", None, True, 1.5]}, IfAbsent(), expires_at=2_000_000_000)
    await store.write(put)

    item = await store.get(A)

    assert item is not None
    assert (item.key, item.data, item.version, item.expires_at) == (A, put.data, put.version, 2_000_000_000)


async def test_deep_json_and_any_unicode_is_read_back_unchanged(store: Store) -> None:
    deep: object = "bottom"
    for level in range(100):
        deep = [deep] if level % 2 else {"in": deep}
    data = {
        "deep": deep,
        "text": 'é 漢字 🔌 \u0000 \u2028 "quoted" \\ \r\n',
        "ключ": {"": []},
        "number": [0, -1, 2**53, 1e-9, 0.1],
    }
    await store.write(Put(Key("WS#ü", "🔌"), data, IfAbsent()))

    item = await store.get(Key("WS#ü", "🔌"))

    assert item is not None
    assert item.data == data


async def test_reading_a_missing_item_gives_nothing(store: Store) -> None:
    await fill(store, "SERVER#a")

    assert await store.get(B) is None
    assert await store.get(Key("WS#2", "SERVER#a")) is None
    assert await store.get_many([]) == {}
    assert await store.query("WS#2") == []


async def test_a_batch_read_returns_only_existing_items(store: Store) -> None:
    await fill(store, *(f"{number:03}" for number in range(130)))
    wanted = [Key("WS#1", f"{number:03}") for number in (*range(120), 500, 7, 7)]

    items = await store.get_many(wanted)

    assert list(items) == wanted[:120]
    assert all(item.data == {"sk": key.sk} for key, item in items.items())


async def test_a_write_is_atomic(store: Store) -> None:
    await fill(store, "SERVER#a", "SERVER#b")
    before = await store.query("WS#1")

    with pytest.raises(Conflict) as caught:
        await store.write(Put(C, {}, IfAbsent()), Delete(A, IfVersion(1)), Check(B, IfVersion(9)))

    assert caught.value.failed == {B}
    assert await store.query("WS#1") == before

    await store.write(Put(C, {}, IfAbsent()), Delete(A, IfVersion(1)), Check(B, IfVersion(1)))
    assert await sks(store) == ["SERVER#b", "SERVER#c"]


async def test_a_conflict_names_every_condition_that_failed(store: Store) -> None:
    await fill(store, "SERVER#b")

    with pytest.raises(Conflict) as caught:
        await store.write(
            Check(Key("WS#1", "other"), Always()),
            Delete(A, IfPresent()),
            Put(B, {}, IfAbsent()),
            Put(C, {}, IfAbsent()),
        )

    assert caught.value.failed == {A, B}


async def test_a_check_that_always_holds_may_stand_alone(store: Store) -> None:
    await store.write(Check(A, Always()))

    assert await store.get(A) is None


@pytest.mark.requirement("DB-06")
async def test_an_item_is_gone_at_the_second_it_expires(store: Store, clock: StillClock) -> None:
    await store.write(Put(A, {}, IfAbsent(), int(clock.now()) + 10), Put(B, {}, IfAbsent()))

    clock.advance(9)
    assert await store.get(A) is not None
    assert list(await store.get_many([A, B])) == [A, B]
    assert await sks(store) == ["SERVER#a", "SERVER#b"]

    clock.advance(1)
    assert await store.get(A) is None
    assert list(await store.get_many([A, B])) == [B]
    assert await sks(store) == ["SERVER#b"]
    await store.write(Put(A, {"is": "new"}, IfAbsent()))
    assert await sks(store) == ["SERVER#a", "SERVER#b"]


async def test_a_write_accepts_a_hundred_changes(store: Store) -> None:
    changes = [Put(Key("WS#1", f"{number:03}"), {"n": number}, IfAbsent()) for number in range(MAX_CHANGES)]
    await store.write(*changes)

    assert len(await store.query("WS#1", limit=1000)) == MAX_CHANGES


async def test_a_write_that_no_engine_can_apply_is_refused(store: Store) -> None:
    too_many = [Put(Key("WS#1", f"{number:03}"), {}, IfAbsent()) for number in range(MAX_CHANGES + 1)]

    for changes in (too_many, [], [Put(A, {}, IfAbsent()), Check(A, IfAbsent())]):
        with pytest.raises(ValueError, match="a write"):
            await store.write(*changes)

    assert await store.query("WS#1") == []


@pytest.mark.requirement("DB-03")
async def test_an_item_up_to_the_limit_is_stored(store: Store) -> None:
    await store.write(Put(A, {"text": "x" * 349_000}, IfAbsent()), Put(B, {"text": "é" * 174_900}, IfAbsent()))

    items = await store.get_many([A, B])

    assert [len(items[key].data["text"]) for key in (A, B)] == [349_000, 174_900]


@pytest.mark.requirement("DB-03")
@pytest.mark.parametrize("text", ["x" * 350_000, "é" * 175_000], ids=["ascii", "two bytes each"])
async def test_an_item_over_the_limit_is_refused_and_nothing_is_written(store: Store, text: str) -> None:
    with pytest.raises(ItemTooLarge):
        await store.write(Put(A, {}, IfAbsent()), Put(B, {"text": text}, IfAbsent()))

    assert await store.query("WS#1") == []


async def test_every_write_of_an_item_is_a_version_of_its_own(store: Store) -> None:
    await store.write(Put(A, {"n": 1}, IfAbsent()))
    first = await store.get(A)
    await store.write(Put(A, {"n": 2}, Always()))
    second = await store.get(A)

    assert first is not None
    assert second is not None
    assert first.version != second.version
    with pytest.raises(Conflict):
        await store.write(Put(A, {"n": 3}, IfVersion(first.version)))
    await store.write(Put(A, {"n": 3}, IfVersion(second.version)))


async def test_a_deleted_item_can_be_created_again(store: Store) -> None:
    await store.write(Put(A, {"life": 1}, IfAbsent()))
    await store.write(Delete(A, IfPresent()))
    with pytest.raises(Conflict):
        await store.write(Delete(A, IfPresent()))

    await store.write(Put(A, {"life": 2}, IfAbsent()))

    item = await store.get(A)
    assert item is not None
    assert item.data == {"life": 2}


async def test_another_store_sees_an_acknowledged_write_at_once(open_store: Callable[[], Store]) -> None:
    here, there = open_store(), open_store()

    for number in range(10):
        await here.write(Put(A, {"n": number}, Always()))
        item = await there.get(A)
        assert item is not None
        assert item.data == {"n": number}


async def test_no_update_is_lost_among_many_writers(store: Store, engine: str) -> None:
    # moto answers one request at a time and slowly; its rollback is not safe among threads, so it shows less here.
    # PostgreSQL takes a round trip for each statement: tests/kit/storage/test_postgres_restarts.py shows more.
    writers, rounds = {"moto": (8, 5), "postgres": (32, 5)}.get(engine, (32, 20))
    at_once = asyncio.Semaphore(8)  # with no pause between tries, only one of those at once gets through
    await store.write(Put(A, {"n": 0}, IfAbsent()))

    async def add_one() -> None:
        while True:
            item = await store.get(A)
            assert item is not None
            try:
                return await store.write(Put(A, {"n": item.data["n"] + 1}, IfVersion(item.version)))
            except Conflict:
                pass

    async def writer() -> None:
        for _ in range(rounds):
            async with at_once:
                await add_one()

    await asyncio.gather(*(writer() for _ in range(writers)))

    item = await store.get(A)
    assert item is not None
    assert item.data == {"n": writers * rounds}
    assert item.version == writers * rounds + 1


async def test_exactly_one_of_many_claims_to_a_name_wins(store: Store) -> None:
    async def claim(number: int) -> bool:
        mine = Key("WS#1", f"SERVER#{number:02}")
        try:
            await store.write(Put(Key("WS#1", "SLUG#x"), {"by": number}, IfAbsent()), Put(mine, {}, IfAbsent()))
        except Conflict:
            return False
        return True

    won = await asyncio.gather(*(claim(number) for number in range(32)))

    winner = won.index(True)
    assert won.count(True) == 1
    assert await sks(store, "SERVER#") == [f"SERVER#{winner:02}"]
    slug = await store.get(Key("WS#1", "SLUG#x"))
    assert slug is not None
    assert slug.data == {"by": winner}


async def test_a_store_may_be_closed_twice(open_store: Callable[[], Store]) -> None:
    store = open_store()
    await store.write(Put(A, {}, IfAbsent()))

    await store.close()
    await store.close()

    assert await open_store().get(A) is not None
