import asyncio
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.kit.clock import SystemClock
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.reencryption import SealedUnder, count, rewrap
from api.kit.crypto.root_keys import LocalRootKeys, create_key_file
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Sealed, SecretLocation, Vault
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Always, Change, Conflict, Delete, IfAbsent, IfPresent, IfVersion, Key, Put

PROJECT = Path(__file__).parents[3]
W = "WS#w"
OLD, NEW = Secret(secrets.token_bytes(32)), Secret(secrets.token_bytes(32))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "test.db")
    yield store
    await store.close()


@pytest.fixture
async def ring(store: SqliteStore) -> KeyRing:
    ring = KeyRing(store, LocalRootKeys({"old": OLD}), SystemClock())
    await store.write(*await ring.first_key_changes(W))
    return ring


async def put(store: SqliteStore, ring: KeyRing, sk: str, **secret_fields: str) -> None:
    sealing = await Vault(ring).sealer(W)
    sealed = {
        field: sealing.seal(SecretLocation(sk, field), Secret(text)).text for field, text in secret_fields.items()
    }
    await store.write(Put(Key(W, sk), {"name": sk, "sealed": sealed}, Always(), 4_000_000_000), sealing.guard)


async def opened(store: SqliteStore, ring: KeyRing, sk: str, field: str) -> str:
    item = await store.get(Key(W, sk))
    return (
        await Vault(ring).unseal(W, SecretLocation(sk, field), Sealed.parse(item.data["sealed"][field]))
    ).reveal_text()


async def stored_secrets(store: SqliteStore) -> dict[str, int]:
    return {item.key.sk: item.version for item in await store.query(W, "SERVER#", limit=1000)}


@pytest.mark.requirement("ENC-10")
async def test_the_status_counts_values_exactly_by_root_key_and_version(store: SqliteStore, ring: KeyRing) -> None:
    for number in range(250):
        await put(store, ring, f"SERVER#{number:04d}", token="a")
    await ring.rotate(W)
    for number in range(250, 257):
        await put(store, ring, f"SERVER#{number:04d}", token="a", refresh="b")
    await store.write(Put(Key(W, "META"), {"name": "no secrets here"}, IfAbsent()))

    tally = await count(store, ring, W)

    assert tally.values == {SealedUnder("old", 1): 250, SealedUnder("old", 2): 14}
    assert (tally.old, tally.newest) == (250, SealedUnder("old", 2))
    assert (tally.data_keys, tally.old_data_keys) == ({"old": 2}, 0)


@pytest.mark.requirement("ENC-08", "ENC-10")
async def test_a_rewrap_brings_everything_under_the_active_key_and_ends_the_old_ones(
    store: SqliteStore, ring: KeyRing
) -> None:
    for number in range(130):
        await put(store, ring, f"SERVER#{number:04d}", token=f"secret {number}", refresh="r")
    await ring.rotate(W)
    await ring.rotate(W)
    backup = await store.get(Key(W, "SERVER#0000"))

    outcome = await rewrap(store, ring, W)

    assert (outcome.rewrapped_keys, outcome.resealed_values, outcome.retired_keys) == (0, 260, 2)
    assert outcome.left.values == {SealedUnder("old", 3): 260}
    assert (await ring.head(W)).minimum == 3
    for number in range(130):
        assert await opened(store, ring, f"SERVER#{number:04d}", "token") == f"secret {number}"
    with pytest.raises(CannotOpen):
        await Vault(ring).unseal(
            W, SecretLocation("SERVER#0000", "token"), Sealed.parse(backup.data["sealed"]["token"])
        )


async def test_a_rewrap_changes_nothing_but_the_sealed_values(store: SqliteStore, ring: KeyRing) -> None:
    await put(store, ring, "SERVER#s", token="t")
    before = await store.get(Key(W, "SERVER#s"))
    await ring.rotate(W)

    await rewrap(store, ring, W)

    after = await store.get(Key(W, "SERVER#s"))
    assert after.data["name"] == "SERVER#s"
    assert (after.expires_at, after.version) == (before.expires_at, before.version + 1)
    assert after.data["sealed"]["token"] != before.data["sealed"]["token"]


@pytest.mark.requirement("ENC-08")
async def test_a_second_rewrap_finds_nothing_to_do(store: SqliteStore, ring: KeyRing) -> None:
    await put(store, ring, "SERVER#s", token="t")
    await ring.rotate(W)
    await rewrap(store, ring, W)
    before = await store.query(W)

    outcome = await rewrap(store, ring, W)

    assert (outcome.rewrapped_keys, outcome.resealed_values, outcome.retired_keys) == (0, 0, 0)
    assert await store.query(W) == before


@pytest.mark.requirement("ENC-09")
async def test_a_new_root_key_rewrites_data_keys_and_not_one_credential(store: SqliteStore, ring: KeyRing) -> None:
    for number in range(20):
        await put(store, ring, f"SERVER#{number:04d}", token="t")
    before = await stored_secrets(store)
    both = KeyRing(store, LocalRootKeys({"new": NEW, "old": OLD}), SystemClock())
    assert (await count(store, both, W)).old == 20

    outcome = await rewrap(store, both, W)

    assert (outcome.rewrapped_keys, outcome.resealed_values) == (1, 0)
    assert (outcome.left.values, outcome.left.old, outcome.left.old_data_keys) == ({SealedUnder("new", 1): 20}, 0, 0)
    assert await stored_secrets(store) == before
    only_new = KeyRing(store, LocalRootKeys({"new": NEW}), SystemClock())
    assert await opened(store, only_new, "SERVER#0000", "token") == "t"


@pytest.mark.requirement("ENC-09")
async def test_while_a_root_key_is_replaced_both_are_readable(store: SqliteStore, ring: KeyRing) -> None:
    await put(store, ring, "SERVER#a", token="under the old root")
    both = KeyRing(store, LocalRootKeys({"new": NEW, "old": OLD}), SystemClock())
    await both.rotate(W)
    await put(store, both, "SERVER#b", token="under the new root")

    tally = await count(store, both, W)

    assert tally.values == {SealedUnder("old", 1): 1, SealedUnder("new", 2): 1}
    assert await opened(store, both, "SERVER#a", "token") == "under the old root"
    assert await opened(store, both, "SERVER#b", "token") == "under the new root"


async def test_a_value_that_cannot_be_opened_stays_is_counted_and_keeps_the_old_keys(
    store: SqliteStore, ring: KeyRing
) -> None:
    await put(store, ring, "SERVER#a", token="a", refresh="b")
    await put(store, ring, "SERVER#b", token="b")
    await put(store, ring, "SERVER#c", token="c")
    a, b = await store.get(Key(W, "SERVER#a")), await store.get(Key(W, "SERVER#b"))
    moved = {**a.data["sealed"], "token": b.data["sealed"]["token"]}
    await store.write(Put(a.key, {**a.data, "sealed": moved}, IfPresent()))
    await store.write(Put(b.key, {**b.data, "sealed": {"token": "never was sealed"}}, IfPresent()))
    await ring.rotate(W)

    outcome = await rewrap(store, ring, W)

    assert outcome.resealed_values == 2
    assert outcome.left.values == {SealedUnder("old", 1): 1, SealedUnder(None, None): 1, SealedUnder("old", 2): 2}
    assert (outcome.left.old, outcome.retired_keys) == (2, 0)
    assert (await store.get(a.key)).data["sealed"]["token"] == moved["token"]
    assert await opened(store, ring, "SERVER#a", "refresh") == "b"


async def test_a_value_whose_data_key_is_gone_is_counted_under_no_root(store: SqliteStore, ring: KeyRing) -> None:
    await put(store, ring, "SERVER#a", token="a")
    await ring.rotate(W)
    stale = await store.get(Key(W, "SERVER#a"))
    await rewrap(store, ring, W)

    await store.write(Put(stale.key, stale.data, IfPresent()))

    assert (await count(store, ring, W)).values == {SealedUnder(None, 1): 1}


async def test_keys_of_the_installation_are_resealed_with_but_never_destroyed(store: SqliteStore) -> None:
    ring = KeyRing(store, LocalRootKeys({"old": OLD}), SystemClock())
    await ring.ensure_permanent("SYSTEM")
    pepper = await Vault(ring).derived_key("SYSTEM", "pepper")
    await ring.rotate("SYSTEM")

    outcome = await rewrap(store, ring, "SYSTEM")

    assert (outcome.retired_keys, (await ring.head("SYSTEM")).minimum) == (0, 1)
    assert await Vault(ring).derived_key("SYSTEM", "pepper", pepper.version) == pepper


async def test_every_write_of_a_rewrap_has_a_new_revision(tmp_path: Path) -> None:
    store = RecordingStore(tmp_path / "test.db")
    ring = KeyRing(store, LocalRootKeys({"old": OLD}), SystemClock())
    await store.write(*await ring.first_key_changes(W))
    for sk in ("SERVER#a", "SERVER#b"):
        await put(store, ring, sk, token="t")

    store.written.clear()
    await rewrap(store, ring, W, announced)
    assert store.written == []

    await ring.rotate(W)
    store.written.clear()
    await rewrap(store, ring, W, announced)

    texts = [next(change for change in changes if change.key.sk == "REVISION") for changes in store.written]
    assert [{change.key.sk for change in changes} - {"DATAKEY", "REVISION"} for changes in store.written] == [
        {"SERVER#a"},
        {"SERVER#b"},
        {"DATAKEY#000001"},
    ]
    assert len({change.version for change in texts}) == 3
    assert (await store.get(Key(W, "REVISION"))).version == texts[-1].version
    await store.close()


def announced() -> list[Change]:
    return [Put(Key(W, "REVISION"), {}, Always())]


class RecordingStore(SqliteStore):
    """A store that remembers what was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.written: list[tuple[Change, ...]] = []

    async def write(self, *changes: Change) -> None:
        await super().write(*changes)
        self.written.append(changes)


class OvertakenStore(SqliteStore):
    """A store where a user is always a moment faster than the first write to a server."""

    overtake = None

    async def write(self, *changes: Change) -> None:
        first = next((change for change in changes if change.key.sk.startswith("SERVER#")), None)
        if first and self.overtake:
            user, self.overtake = self.overtake, None
            await user()
        await super().write(*changes)


@pytest.mark.requirement("ENC-08")
async def test_a_concurrent_write_of_a_user_wins(tmp_path: Path) -> None:
    store = OvertakenStore(tmp_path / "test.db")
    ring = KeyRing(store, LocalRootKeys({"old": OLD}), SystemClock())
    await store.write(*await ring.first_key_changes(W))
    await put(store, ring, "SERVER#s", token="before", refresh="r")
    await ring.rotate(W)

    async def user() -> None:
        item, sealing = await store.get(Key(W, "SERVER#s")), await Vault(ring).sealer(W)
        token = sealing.seal(SecretLocation("SERVER#s", "token"), Secret("the user's")).text
        data = {"name": "renamed", "sealed": {**item.data["sealed"], "token": token}}
        await store.write(Put(item.key, data, IfVersion(item.version)), sealing.guard)

    store.overtake = user
    outcome = await rewrap(store, ring, W)

    assert (await store.get(Key(W, "SERVER#s"))).data["name"] == "renamed"
    assert await opened(store, ring, "SERVER#s", "token") == "the user's"
    assert await opened(store, ring, "SERVER#s", "refresh") == "r"
    assert (outcome.resealed_values, outcome.left.old, outcome.retired_keys) == (1, 0, 1)
    await store.close()


@pytest.mark.requirement("ENC-08")
async def test_a_rotation_during_a_rewrap_is_detected(tmp_path: Path) -> None:
    store = OvertakenStore(tmp_path / "test.db")
    ring = KeyRing(store, LocalRootKeys({"old": OLD}), SystemClock())
    await store.write(*await ring.first_key_changes(W))
    await put(store, ring, "SERVER#s", token="t")
    await ring.rotate(W)
    store.overtake = lambda: ring.rotate(W)

    outcome = await rewrap(store, ring, W)

    assert (outcome.left.values, outcome.retired_keys) == ({SealedUnder("old", 3): 1}, 2)
    await store.close()


@pytest.mark.requirement("ENC-08")
async def test_a_server_deleted_during_a_rewrap_stays_deleted(tmp_path: Path) -> None:
    store = OvertakenStore(tmp_path / "test.db")
    ring = KeyRing(store, LocalRootKeys({"old": OLD}), SystemClock())
    await store.write(*await ring.first_key_changes(W))
    await put(store, ring, "SERVER#s", token="t")
    await ring.rotate(W)
    store.overtake = lambda: SqliteStore.write(store, Delete(Key(W, "SERVER#s"), IfPresent()))

    outcome = await rewrap(store, ring, W)

    assert await store.get(Key(W, "SERVER#s")) is None
    assert (outcome.resealed_values, outcome.left.old) == (0, 0)
    await store.close()


@pytest.mark.requirement("ENC-08")
async def test_no_update_is_lost_while_keys_are_rotated_and_rewrapped_in_several_processes(store: SqliteStore) -> None:
    roots = LocalRootKeys({"old": OLD})
    rings = [KeyRing(store, roots, SystemClock()) for _ in range(3)]
    await store.write(*await rings[0].first_key_changes(W))
    for number in range(6):
        await put(store, rings[0], f"SERVER#{number}", token="0", other="stays")
    writing = [asyncio.ensure_future(add(store, rings[number % 3], f"SERVER#{number}", 30)) for number in range(6)]

    rounds = 0
    while not all(writer.done() for writer in writing) or rounds < 3:
        rounds += 1
        await rings[0].rotate(W)
        await asyncio.gather(rewrap(store, rings[1], W), rewrap(store, rings[2], W))
    await asyncio.gather(*writing)
    last = await rewrap(store, rings[0], W)

    for number in range(6):
        assert await opened(store, rings[0], f"SERVER#{number}", "token") == "30"
        assert await opened(store, rings[0], f"SERVER#{number}", "other") == "stays"
    assert last.left.values == {SealedUnder("old", rounds + 1): 12}
    assert len(await rings[0].keys(W)) == 1


async def add(store: SqliteStore, ring: KeyRing, sk: str, times: int) -> None:
    """A user who reads a number, adds one and writes it, again and again, until each has been acknowledged."""
    done, place, vault = 0, SecretLocation(sk, "token"), Vault(ring)
    while done < times:
        item = await store.get(Key(W, sk))
        try:
            number = int((await vault.unseal(W, place, Sealed.parse(item.data["sealed"]["token"]))).reveal_text())
            sealing = await vault.sealer(W)
            sealed = {**item.data["sealed"], "token": sealing.seal(place, Secret(str(number + 1))).text}
            await store.write(Put(item.key, {**item.data, "sealed": sealed}, IfVersion(item.version)), sealing.guard)
        except (Conflict, CannotOpen):  # overtaken by a rewrap: what was read is old, its key perhaps already gone
            continue
        done += 1


KILLED_AT_A_WRITE = """
import asyncio, os, signal, sys
from pathlib import Path
from api.kit.clock import SystemClock
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.reencryption import rewrap
from api.kit.crypto.root_keys import LocalRootKeys
from api.kit.storage.sqlite import SqliteStore

class Dying(SqliteStore):
    left = int(sys.argv[2])
    async def write(self, *changes):
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        await super().write(*changes)

folder = Path(sys.argv[1])
store = Dying(folder / "test.db")
ring = KeyRing(store, LocalRootKeys.from_file(folder / "root.key"), SystemClock())
asyncio.run(rewrap(store, ring, "WS#w"))
"""


@pytest.mark.requirement("ENC-08")
async def test_a_killed_rewrap_continues_where_it_stopped(store: SqliteStore, tmp_path: Path) -> None:
    create_key_file(tmp_path / "root.key")
    roots = LocalRootKeys.from_file(tmp_path / "root.key")
    ring = KeyRing(store, roots, SystemClock())
    await store.write(*await ring.first_key_changes(W))
    for number in range(12):
        await put(store, ring, f"SERVER#{number:02d}", token=f"secret {number}")
    await ring.rotate(W)

    for writes, left in ((0, 12), (5, 7), (7, 0)):
        killed = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", KILLED_AT_A_WRITE, tmp_path, str(writes)], cwd=PROJECT, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert (await count(store, ring, W)).old == left
        assert len(await ring.keys(W)) == 2

    outcome = await rewrap(store, ring, W)

    assert (outcome.resealed_values, outcome.retired_keys, outcome.left.old) == (0, 1, 0)
    for number in range(12):
        assert await opened(store, ring, f"SERVER#{number:02d}", "token") == f"secret {number}"
