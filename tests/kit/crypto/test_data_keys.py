import asyncio
import base64
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.kit.crypto.data_keys import KeyRing, NoDataKey, TooManyDataKeys
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import LocalRootKeys
from api.kit.crypto.secret import Secret
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Conflict, Delete, IfAbsent, IfPresent, IfVersion, Key, Put, Store
from tests.fakes.root_keys import ObservableRootKeys, W, new_root_keys, ring_with_key
from tests.fakes.still_clock import StillClock


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "test.db")
    yield store
    await store.close()


async def test_a_new_owner_gets_its_first_key_in_the_write_that_creates_it(store: Store) -> None:
    ring = KeyRing(store, new_root_keys(), StillClock())

    await store.write(Put(Key(W, "META"), {}, IfAbsent()), *await ring.first_key_changes(W))

    active = await ring.active(W)
    assert active.version == 1
    assert len(active.secret) == 32
    assert await ring.key(W, 1) == active.secret


async def test_no_key_is_stored_in_the_clear(store: Store) -> None:
    ring = await ring_with_key(store)
    key = (await ring.active(W)).secret.reveal()

    stored = repr(await store.query(W))
    for written in (base64.b64encode(key), base64.urlsafe_b64encode(key), key.hex().encode()):
        assert written.decode().rstrip("=") not in stored


async def test_each_owner_has_a_key_of_its_own(store: Store) -> None:
    ring = await ring_with_key(store)
    await store.write(*await ring.first_key_changes("WS#other"))

    assert await ring.key(W, 1) != await ring.key("WS#other", 1)


@pytest.mark.requirement("ENC-01")
async def test_a_wrapped_key_that_is_moved_to_another_owner_does_not_open(store: Store) -> None:
    ring = await ring_with_key(store)
    await store.write(*await ring.first_key_changes("WS#other"))
    stolen, place = await store.get(Key(W, "DATAKEY#000001")), Key("WS#other", "DATAKEY#000001")
    await store.write(Put(place, stolen.data, IfPresent()))

    with pytest.raises(CannotOpen):
        await ring.key("WS#other", 1)


@pytest.mark.requirement("ENC-01")
async def test_a_wrapped_key_that_is_moved_to_another_version_does_not_open(store: Store) -> None:
    ring = await ring_with_key(store)
    await ring.rotate(W)
    first, place = await store.get(Key(W, "DATAKEY#000001")), Key(W, "DATAKEY#000002")
    await store.write(Put(place, first.data, IfPresent()))

    with pytest.raises(CannotOpen):
        await ring.key(W, 2)


async def test_a_wrapped_key_that_was_altered_does_not_open(store: Store) -> None:
    ring = await ring_with_key(store)
    place = Key(W, "DATAKEY#000001")
    stored = (await store.get(place)).data

    for text in ("", "x", stored["wrapped"][:-2], stored["wrapped"] + "A", stored["wrapped"].swapcase()):
        await store.write(Put(place, {**stored, "wrapped": text}, IfPresent()))
        with pytest.raises(CannotOpen):
            await ring.key(W, 1)


async def test_an_owner_without_keys_cannot_seal_or_open(store: Store) -> None:
    ring = KeyRing(store, new_root_keys(), StillClock())

    with pytest.raises(NoDataKey):
        await ring.active(W)
    with pytest.raises(CannotOpen):
        await ring.key(W, 1)
    with pytest.raises(NoDataKey):
        await ring.rotate(W)


async def test_processes_that_start_at_once_agree_on_one_key(store: Store) -> None:
    roots = new_root_keys()
    rings = [KeyRing(store, roots, StillClock()) for _ in range(8)]

    await asyncio.gather(*(ring.ensure_permanent("SYSTEM") for ring in rings))
    await rings[0].ensure_permanent("SYSTEM")

    keys = [(await ring.active("SYSTEM")).secret.reveal() for ring in rings]
    assert len({*keys}) == 1
    assert len(await rings[0].keys("SYSTEM")) == 1


@pytest.mark.requirement("ENC-08")
async def test_after_a_rotation_every_process_seals_with_the_new_version_at_once(store: Store) -> None:
    roots = new_root_keys()
    here, there = await ring_with_key(store, roots), KeyRing(store, roots, StillClock())
    first = await there.active(W)

    assert await here.rotate(W) == 2

    second = await there.active(W)
    assert (first.version, second.version) == (1, 2)
    assert first.secret != second.secret
    assert await there.key(W, 1) == first.secret
    with pytest.raises(Conflict):
        await store.write(first.check, Put(Key(W, "SERVER#s"), {}, IfAbsent()))


async def test_rotations_at_the_same_time_make_versions_of_their_own(store: Store) -> None:
    roots = new_root_keys()
    await ring_with_key(store, roots)
    rings = [KeyRing(store, roots, StillClock()) for _ in range(5)]

    assert sorted(await asyncio.gather(*(ring.rotate(W) for ring in rings))) == [2, 3, 4, 5, 6]
    assert len({(await rings[0].key(W, version)).reveal() for version in range(1, 7)}) == 6


async def test_there_are_at_most_fifty_versions_so_that_one_write_can_destroy_them(store: Store) -> None:
    ring = await ring_with_key(store)
    for _ in range(49):
        await ring.rotate(W)

    with pytest.raises(TooManyDataKeys, match="rewrap"):
        await ring.rotate(W)
    await store.write(*await ring.deletion_writes(W))

    assert await store.query(W) == []


@pytest.mark.requirement("ENC-09")
async def test_a_version_below_the_minimum_does_not_open_though_its_key_is_stored(store: Store) -> None:
    clock = StillClock()
    ring = await ring_with_key(store, clock=clock)
    await ring.rotate(W)
    await ring.key(W, 1)
    head = await store.get(Key(W, "DATAKEY"))
    await store.write(Put(head.key, {**head.data, "minimum": 2}, IfVersion(head.version)))

    clock.seconds += 300
    with pytest.raises(CannotOpen):
        await ring.key(W, 1)
    assert await ring.key(W, 2)


@pytest.mark.requirement("ENC-11")
async def test_a_rotation_while_an_owner_is_deleted_leaves_no_key_behind(store: Store) -> None:
    ring = await ring_with_key(store)
    changes = await ring.deletion_writes(W)
    await ring.rotate(W)

    with pytest.raises(Conflict):
        await store.write(*changes)
    await store.write(*await ring.deletion_writes(W))

    assert await store.query(W) == []
    assert await ring.deletion_writes(W) == []


async def test_keys_that_are_part_of_the_installation_are_never_retired(store: Store) -> None:
    ring = KeyRing(store, new_root_keys(), StillClock())
    await ring.ensure_permanent("SYSTEM")
    await ring.rotate("SYSTEM")

    assert await ring.retire("SYSTEM", await ring.head("SYSTEM")) == 0
    assert len(await ring.keys("SYSTEM")) == 2


async def test_old_keys_are_not_destroyed_when_the_head_has_moved_on(store: Store) -> None:
    ring = await ring_with_key(store)
    await ring.rotate(W)
    seen = await ring.head(W)
    await ring.rotate(W)

    with pytest.raises(Conflict):
        await ring.retire(W, seen)
    assert len(await ring.keys(W)) == 3


@pytest.mark.requirement("ENC-09")
async def test_a_rotation_does_not_restore_versions_that_were_retired_meanwhile(store: Store) -> None:
    roots = ObservableRootKeys(new_root_keys())
    ring = await ring_with_key(store, roots)
    await ring.rotate(W)
    roots.close_gate()
    rotating = asyncio.ensure_future(ring.rotate(W))
    await roots.requested.wait()

    await ring.retire(W, await ring.head(W))
    roots.gate.set()

    assert await rotating == 3
    head = await ring.head(W)
    assert (head.active, head.minimum) == (3, 2)


@pytest.mark.requirement("ENC-09")
async def test_a_new_root_key_rewraps_data_keys_and_the_old_one_can_go(store: Store) -> None:
    old, new = Secret(secrets.token_bytes(32)), Secret(secrets.token_bytes(32))
    before = await ring_with_key(store, LocalRootKeys({"old": old}))
    await before.rotate(W)
    keys = [await before.key(W, version) for version in (1, 2)]

    assert await KeyRing(store, LocalRootKeys({"new": new, "old": old}), StillClock()).rewrap(W) == 2
    assert await KeyRing(store, LocalRootKeys({"new": new, "old": old}), StillClock()).rewrap(W) == 0

    after = KeyRing(store, LocalRootKeys({"new": new}), StillClock())
    assert [await after.key(W, version) for version in (1, 2)] == keys
    assert await after.rewrap(W) == 0


async def test_a_data_key_whose_root_key_is_not_configured_is_left_unchanged(store: Store) -> None:
    ring = await ring_with_key(store, new_root_keys("gone"))
    stored = await ring.keys(W)

    assert await KeyRing(store, new_root_keys("new"), StillClock()).rewrap(W) == 0
    assert await ring.keys(W) == stored


async def test_a_data_key_that_is_destroyed_while_it_is_rewrapped_stays_destroyed(store: Store) -> None:
    old = Secret(secrets.token_bytes(32))
    await ring_with_key(store, LocalRootKeys({"old": old}))
    roots = ObservableRootKeys(LocalRootKeys({"new": Secret(secrets.token_bytes(32)), "old": old}))
    ring = KeyRing(store, roots, StillClock())
    roots.close_gate()
    rewrapping = asyncio.ensure_future(ring.rewrap(W))
    await roots.requested.wait()

    await store.write(Delete(Key(W, "DATAKEY#000001"), IfPresent()))
    roots.gate.set()

    assert await rewrapping == 0
    assert await ring.keys(W) == []
