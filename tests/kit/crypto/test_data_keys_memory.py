import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Store
from tests.fakes.root_keys import ObservableRootKeys, W, new_root_keys, ring_with_key
from tests.fakes.still_clock import StillClock


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "test.db")
    yield store
    await store.close()


async def test_a_key_is_remembered_for_five_minutes(store: Store) -> None:
    clock, roots = StillClock(), ObservableRootKeys(new_root_keys())
    ring = await ring_with_key(store, roots, clock)
    for seconds in (0, 100, 199.9):
        clock.seconds += seconds
        await ring.key(W, 1)
    assert roots.unwrapped == 1

    clock.seconds += 0.1
    await ring.key(W, 1)
    assert roots.unwrapped == 2


@pytest.mark.requirement("ENC-12")
async def test_while_the_root_key_is_down_remembered_keys_serve_until_they_expire(store: Store) -> None:
    clock, roots = StillClock(), ObservableRootKeys(new_root_keys())
    ring = await ring_with_key(store, roots, clock)
    key = await ring.key(W, 1)

    roots.down = True
    clock.seconds += 299
    assert (await ring.active(W)).secret == key
    clock.seconds += 1
    for _ in range(2):
        with pytest.raises(RootKeyUnavailable):
            await ring.key(W, 1)

    roots.down = False
    assert await ring.key(W, 1) == key


@pytest.mark.requirement("ENC-12")
async def test_callers_that_wait_for_a_key_share_one_use_of_the_root_key(store: Store) -> None:
    roots = ObservableRootKeys(new_root_keys())
    ring = await ring_with_key(store, roots)
    roots.close_gate()
    waiting = [asyncio.ensure_future(ring.key(W, 1)) for _ in range(50)]
    await roots.requested.wait()

    waiting[0].cancel()  # a cancelled caller cancels no other
    roots.gate.set()
    keys = await asyncio.gather(*waiting[1:])

    assert roots.unwrapped == 1
    assert len({key.reveal() for key in keys}) == 1


async def test_a_failure_without_a_caller_is_silent_and_not_cached(store: Store) -> None:
    roots = ObservableRootKeys(new_root_keys())
    ring = await ring_with_key(store, roots)
    roots.close_gate()
    roots.down = True
    waiting = asyncio.ensure_future(ring.key(W, 1))
    await roots.requested.wait()
    waiting.cancel()
    roots.gate.set()
    await asyncio.wait([waiting])
    await ring._loading.finish()

    roots.down = False
    assert await ring.key(W, 1)
    assert roots.unwrapped == 2


async def test_a_key_forgotten_while_it_is_loaded_is_not_cached(store: Store) -> None:
    roots = ObservableRootKeys(new_root_keys())
    ring = await ring_with_key(store, roots)
    roots.close_gate()
    waiting = asyncio.ensure_future(ring.key(W, 1))
    await roots.requested.wait()
    ring.forget(W)
    await store.write(*await ring.deletion_writes(W))
    roots.gate.set()
    await waiting

    with pytest.raises(CannotOpen):
        await ring.key(W, 1)


async def test_forgetting_one_owner_leaves_the_others(store: Store) -> None:
    roots = ObservableRootKeys(new_root_keys())
    ring = await ring_with_key(store, roots)
    await store.write(*await ring.first_key_changes("WS#other"))
    await ring.key(W, 1)
    await ring.key("WS#other", 1)

    ring.forget(W)
    await ring.key("WS#other", 1)
    assert roots.unwrapped == 2
    await ring.key(W, 1)
    assert roots.unwrapped == 3


async def test_cached_keys_are_bounded_in_time_and_number(store: Store) -> None:
    clock, roots = StillClock(), ObservableRootKeys(new_root_keys())
    ring = await ring_with_key(store, roots, clock)
    await store.write(*await ring.first_key_changes("WS#other"))
    await ring.key(W, 1)

    clock.seconds += 300
    await ring.key("WS#other", 1)

    assert [partition for partition, _ in ring._cached] == ["WS#other"]


async def test_without_a_cache_each_use_needs_the_root_key(store: Store) -> None:
    roots = ObservableRootKeys(new_root_keys())
    ring = KeyRing(store, roots, StillClock(), ttl=0)
    await store.write(*await ring.first_key_changes(W))

    await ring.key(W, 1)
    await ring.key(W, 1)

    assert roots.unwrapped == 2
