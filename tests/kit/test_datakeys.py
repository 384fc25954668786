import asyncio
import base64
import secrets
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from api.kit.datakeys import KeyRing, NoDataKey, TooManyDataKeys
from api.kit.envelope import CannotOpen
from api.kit.roots import LocalRoots, RootKeys, RootUnavailable, WrappedKey
from api.kit.secret import Secret
from api.kit.sqlite import SqliteStore
from api.kit.store import Absent, Conflict, Delete, Key, Present, Put, Store, Unchanged

W = "WS#w"


class Hands:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


class Watched:
    """Root keys that count what they are asked, can be down, and wait while their gate is closed."""

    def __init__(self, roots: RootKeys) -> None:
        self._roots = roots
        self.id, self.ids = roots.id, roots.ids
        self.unwrapped = 0
        self.down = False
        self.asked = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    def close_gate(self) -> None:
        self.gate.clear()
        self.asked.clear()

    async def new_data_key(self, context: Mapping[str, str]) -> tuple[Secret, WrappedKey]:
        self.asked.set()
        await self.gate.wait()
        return await self._roots.new_data_key(context)

    async def wrap(self, secret: Secret, context: Mapping[str, str]) -> WrappedKey:
        return await self._roots.wrap(secret, context)

    async def unwrap(self, wrapped: WrappedKey, context: Mapping[str, str]) -> Secret:
        self.unwrapped += 1
        self.asked.set()
        await self.gate.wait()
        if self.down:
            raise RootUnavailable
        return await self._roots.unwrap(wrapped, context)


def new_roots(*ids: str) -> LocalRoots:
    return LocalRoots({root_id: Secret(secrets.token_bytes(32)) for root_id in ids or ("k1",)})


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "test.db")
    yield store
    await store.close()


async def ring_with_key(store: Store, roots: RootKeys | None = None, clock: Hands | None = None) -> KeyRing:
    ring = KeyRing(store, roots or new_roots(), clock or Hands())
    await store.write(*await ring.first_key_changes(W))
    return ring


async def test_a_new_owner_gets_its_first_key_in_the_write_that_creates_it(store: Store) -> None:
    ring = KeyRing(store, new_roots(), Hands())

    await store.write(Put(Key(W, "META"), {}, Absent()), *await ring.first_key_changes(W))

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
    await store.write(Put(place, stolen.data, Present()))

    with pytest.raises(CannotOpen):
        await ring.key("WS#other", 1)


@pytest.mark.requirement("ENC-01")
async def test_a_wrapped_key_that_is_moved_to_another_version_does_not_open(store: Store) -> None:
    ring = await ring_with_key(store)
    await ring.rotate(W)
    first, place = await store.get(Key(W, "DATAKEY#000001")), Key(W, "DATAKEY#000002")
    await store.write(Put(place, first.data, Present()))

    with pytest.raises(CannotOpen):
        await ring.key(W, 2)


async def test_a_wrapped_key_that_was_altered_does_not_open(store: Store) -> None:
    ring = await ring_with_key(store)
    place = Key(W, "DATAKEY#000001")
    stored = (await store.get(place)).data

    for text in ("", "x", stored["wrapped"][:-2], stored["wrapped"] + "A", stored["wrapped"].swapcase()):
        await store.write(Put(place, {**stored, "wrapped": text}, Present()))
        with pytest.raises(CannotOpen):
            await ring.key(W, 1)


async def test_an_owner_without_keys_cannot_seal_or_open(store: Store) -> None:
    ring = KeyRing(store, new_roots(), Hands())

    with pytest.raises(NoDataKey):
        await ring.active(W)
    with pytest.raises(CannotOpen):
        await ring.key(W, 1)
    with pytest.raises(NoDataKey):
        await ring.rotate(W)


async def test_processes_that_start_at_once_agree_on_one_key(store: Store) -> None:
    roots = new_roots()
    rings = [KeyRing(store, roots, Hands()) for _ in range(8)]

    await asyncio.gather(*(ring.ensure("SYSTEM") for ring in rings))
    await rings[0].ensure("SYSTEM")

    keys = [(await ring.active("SYSTEM")).secret.reveal() for ring in rings]
    assert len({*keys}) == 1
    assert len(await rings[0].keys("SYSTEM")) == 1


@pytest.mark.requirement("ENC-08")
async def test_after_a_rotation_every_process_seals_with_the_new_version_at_once(store: Store) -> None:
    roots = new_roots()
    here, there = await ring_with_key(store, roots), KeyRing(store, roots, Hands())
    first = await there.active(W)

    assert await here.rotate(W) == 2

    second = await there.active(W)
    assert (first.version, second.version) == (1, 2)
    assert first.secret != second.secret
    assert await there.key(W, 1) == first.secret
    with pytest.raises(Conflict):
        await store.write(first.check, Put(Key(W, "SERVER#s"), {}, Absent()))


async def test_rotations_at_the_same_time_make_versions_of_their_own(store: Store) -> None:
    roots = new_roots()
    await ring_with_key(store, roots)
    rings = [KeyRing(store, roots, Hands()) for _ in range(5)]

    assert sorted(await asyncio.gather(*(ring.rotate(W) for ring in rings))) == [2, 3, 4, 5, 6]
    assert len({(await rings[0].key(W, version)).reveal() for version in range(1, 7)}) == 6


async def test_there_are_at_most_fifty_versions_so_that_one_write_can_destroy_them(store: Store) -> None:
    ring = await ring_with_key(store)
    for _ in range(49):
        await ring.rotate(W)

    with pytest.raises(TooManyDataKeys, match="rewrap"):
        await ring.rotate(W)
    await store.write(*await ring.destroy_changes(W))

    assert await store.query(W) == []


@pytest.mark.requirement("ENC-09")
async def test_a_version_below_the_minimum_does_not_open_though_its_key_is_stored(store: Store) -> None:
    clock = Hands()
    ring = await ring_with_key(store, clock=clock)
    await ring.rotate(W)
    await ring.key(W, 1)
    head = await store.get(Key(W, "DATAKEY"))
    await store.write(Put(head.key, {**head.data, "minimum": 2}, Unchanged(head.version)))

    clock.time += 300
    with pytest.raises(CannotOpen):
        await ring.key(W, 1)
    assert await ring.key(W, 2)


async def test_a_key_is_remembered_for_five_minutes(store: Store) -> None:
    clock, roots = Hands(), Watched(new_roots())
    ring = await ring_with_key(store, roots, clock)
    for seconds in (0, 100, 199.9):
        clock.time += seconds
        await ring.key(W, 1)
    assert roots.unwrapped == 1

    clock.time += 0.1
    await ring.key(W, 1)
    assert roots.unwrapped == 2


@pytest.mark.requirement("ENC-12")
async def test_while_the_root_key_is_down_remembered_keys_serve_until_they_expire(store: Store) -> None:
    clock, roots = Hands(), Watched(new_roots())
    ring = await ring_with_key(store, roots, clock)
    key = await ring.key(W, 1)

    roots.down = True
    clock.time += 299
    assert (await ring.active(W)).secret == key
    clock.time += 1
    for _ in range(2):
        with pytest.raises(RootUnavailable):
            await ring.key(W, 1)

    roots.down = False
    assert await ring.key(W, 1) == key


@pytest.mark.requirement("ENC-12")
async def test_all_who_wait_for_a_key_share_one_question_to_the_root_key(store: Store) -> None:
    roots = Watched(new_roots())
    ring = await ring_with_key(store, roots)
    roots.close_gate()
    waiting = [asyncio.ensure_future(ring.key(W, 1)) for _ in range(50)]
    await roots.asked.wait()

    waiting[0].cancel()  # one who gives up takes nobody along
    roots.gate.set()
    keys = await asyncio.gather(*waiting[1:])

    assert roots.unwrapped == 1
    assert len({key.reveal() for key in keys}) == 1


async def test_a_failure_nobody_waits_for_is_no_noise_and_is_not_remembered(store: Store) -> None:
    roots = Watched(new_roots())
    ring = await ring_with_key(store, roots)
    roots.close_gate()
    roots.down = True
    waiting = asyncio.ensure_future(ring.key(W, 1))
    await roots.asked.wait()
    waiting.cancel()
    roots.gate.set()
    await asyncio.wait([waiting, *ring._loading.values()])

    roots.down = False
    assert await ring.key(W, 1)
    assert roots.unwrapped == 2


async def test_what_was_forgotten_while_it_was_loaded_is_not_remembered(store: Store) -> None:
    roots = Watched(new_roots())
    ring = await ring_with_key(store, roots)
    roots.close_gate()
    waiting = asyncio.ensure_future(ring.key(W, 1))
    await roots.asked.wait()
    ring.forget(W)
    await store.write(*await ring.destroy_changes(W))
    roots.gate.set()
    await waiting

    with pytest.raises(CannotOpen):
        await ring.key(W, 1)


async def test_forgetting_one_owner_leaves_the_others(store: Store) -> None:
    roots = Watched(new_roots())
    ring = await ring_with_key(store, roots)
    await store.write(*await ring.first_key_changes("WS#other"))
    await ring.key(W, 1)
    await ring.key("WS#other", 1)

    ring.forget(W)
    await ring.key("WS#other", 1)
    assert roots.unwrapped == 2
    await ring.key(W, 1)
    assert roots.unwrapped == 3


async def test_keys_are_not_kept_beyond_their_time_nor_without_number(store: Store) -> None:
    clock, roots = Hands(), Watched(new_roots())
    ring = await ring_with_key(store, roots, clock)
    await store.write(*await ring.first_key_changes("WS#other"))
    await ring.key(W, 1)

    clock.time += 300
    await ring.key("WS#other", 1)

    assert [partition for partition, _ in ring._remembered] == ["WS#other"]


async def test_with_no_time_to_remember_each_use_asks_the_root_key(store: Store) -> None:
    roots = Watched(new_roots())
    ring = KeyRing(store, roots, Hands(), ttl=0)
    await store.write(*await ring.first_key_changes(W))

    await ring.key(W, 1)
    await ring.key(W, 1)

    assert roots.unwrapped == 2


@pytest.mark.requirement("ENC-11")
async def test_a_rotation_while_an_owner_is_deleted_leaves_no_key_behind(store: Store) -> None:
    ring = await ring_with_key(store)
    changes = await ring.destroy_changes(W)
    await ring.rotate(W)

    with pytest.raises(Conflict):
        await store.write(*changes)
    await store.write(*await ring.destroy_changes(W))

    assert await store.query(W) == []
    assert await ring.destroy_changes(W) == []


async def test_keys_that_are_part_of_the_installation_are_never_retired(store: Store) -> None:
    ring = KeyRing(store, new_roots(), Hands())
    await ring.ensure("SYSTEM")
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
async def test_a_rotation_does_not_bring_back_versions_that_are_retired_meanwhile(store: Store) -> None:
    roots = Watched(new_roots())
    ring = await ring_with_key(store, roots)
    await ring.rotate(W)
    roots.close_gate()
    rotating = asyncio.ensure_future(ring.rotate(W))
    await roots.asked.wait()

    await ring.retire(W, await ring.head(W))
    roots.gate.set()

    assert await rotating == 3
    head = await ring.head(W)
    assert (head.active, head.minimum) == (3, 2)


@pytest.mark.requirement("ENC-09")
async def test_a_new_root_key_rewraps_data_keys_and_the_old_one_can_go(store: Store) -> None:
    old, new = Secret(secrets.token_bytes(32)), Secret(secrets.token_bytes(32))
    before = await ring_with_key(store, LocalRoots({"old": old}))
    await before.rotate(W)
    keys = [await before.key(W, version) for version in (1, 2)]

    assert await KeyRing(store, LocalRoots({"new": new, "old": old}), Hands()).rewrap(W) == 2
    assert await KeyRing(store, LocalRoots({"new": new, "old": old}), Hands()).rewrap(W) == 0

    after = KeyRing(store, LocalRoots({"new": new}), Hands())
    assert [await after.key(W, version) for version in (1, 2)] == keys
    assert await after.rewrap(W) == 0


async def test_a_data_key_whose_root_key_is_not_configured_stays_as_it_is(store: Store) -> None:
    ring = await ring_with_key(store, new_roots("gone"))
    stored = await ring.keys(W)

    assert await KeyRing(store, new_roots("new"), Hands()).rewrap(W) == 0
    assert await ring.keys(W) == stored


async def test_a_data_key_that_is_destroyed_while_it_is_rewrapped_stays_destroyed(store: Store) -> None:
    old = Secret(secrets.token_bytes(32))
    await ring_with_key(store, LocalRoots({"old": old}))
    roots = Watched(LocalRoots({"new": Secret(secrets.token_bytes(32)), "old": old}))
    ring = KeyRing(store, roots, Hands())
    roots.close_gate()
    rewrapping = asyncio.ensure_future(ring.rewrap(W))
    await roots.asked.wait()

    await store.write(Delete(Key(W, "DATAKEY#000001"), Present()))
    roots.gate.set()

    assert await rewrapping == 0
    assert await ring.keys(W) == []
