"""What SQLite leaves on the disk, and its errors when the disk fails."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from api.kit.storage.sqlite import SWEEP_AT_MOST, SWEEP_EVERY_SECONDS, WRITE_PATIENCE_SECONDS, SqliteStore
from api.kit.storage.store import Always, Delete, IfAbsent, IfVersion, Key, Put, StoreFull, StoreLost, StoreUnavailable
from tests.fakes.still_clock import StillClock

KEY, OTHER = Key("WS#w", "DATAKEY#000001"), Key("WS#w", "OTHER")


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def modes_in(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def test_all_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "plugboard.db")
    await store.write(Put(KEY, {}, IfAbsent()))

    modes = modes_in(tmp_path)
    await store.close()

    assert modes == dict.fromkeys(["plugboard.db", "plugboard.db-wal", "plugboard.db-shm"], 0o600)


@pytest.mark.requirement("ENC-11")
async def test_deleted_data_is_no_longer_on_the_disk(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "plugboard.db")
    await store.write(Put(KEY, {"wrapped": "canary-key"}, IfAbsent()), Put(OTHER, {}, IfAbsent()))
    assert b"canary-key" in on_disk(tmp_path)

    await store.write(Delete(KEY, Always()))

    assert b"canary-key" not in on_disk(tmp_path)
    await store.close()


@pytest.mark.requirement("ENC-11")
async def test_replaced_data_is_no_longer_on_the_disk_after_a_while(tmp_path: Path) -> None:
    clock = StillClock()
    store = SqliteStore(tmp_path / "plugboard.db", clock)
    await store.write(Put(KEY, {"sealed": "canary-old"}, IfAbsent()))
    await store.write(Put(KEY, {"sealed": "new"}, IfVersion(1)))

    clock.advance(SWEEP_EVERY_SECONDS)
    await store.write(Put(OTHER, {}, IfAbsent()))

    assert b"canary-old" not in on_disk(tmp_path)
    await store.close()


async def test_many_expired_items_are_removed_soon(tmp_path: Path) -> None:
    """More than one sweep removes: each write of the next seconds removes as many again."""
    clock = StillClock()
    store = SqliteStore(tmp_path / "plugboard.db", clock)
    soon = int(clock.now()) + 1
    for first in range(0, 3 * SWEEP_AT_MOST, 100):
        await store.write(*(Put(Key("WS#1", f"OLD#{first + n}"), {}, IfAbsent(), soon) for n in range(100)))

    left = []
    for seconds in (SWEEP_EVERY_SECONDS, 1, 1, 1):
        clock.advance(seconds)
        await store.write(Put(OTHER, {}, Always()))
        left.append(store._reading.execute("SELECT COUNT(*) FROM items WHERE sk LIKE 'OLD%'").fetchone()[0])

    assert left == [2 * SWEEP_AT_MOST, SWEEP_AT_MOST, 0, 0]
    await store.close()


async def test_a_concurrent_reader_delays_only_the_cleaning(tmp_path: Path) -> None:
    store, other = (SqliteStore(tmp_path / "plugboard.db") for _ in range(2))
    await store.write(Put(KEY, {"wrapped": "canary-key"}, IfAbsent()))
    other._reading.execute("BEGIN")
    assert await other.get(KEY)

    begun = time.monotonic()
    await store.write(Delete(KEY, Always()))
    assert time.monotonic() - begun < WRITE_PATIENCE_SECONDS / 2
    other._reading.execute("COMMIT")
    await store.write(Put(OTHER, {}, IfAbsent()), Delete(KEY, Always()))

    assert b"canary-key" not in on_disk(tmp_path)
    await store.close()
    await other.close()


async def test_a_damaged_file_makes_the_store_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "plugboard.db"
    store = SqliteStore(path)
    await store.write(*(Put(Key("p", f"{number:03d}"), {"x": "y" * 1000}, IfAbsent()) for number in range(90)))
    await store.close()
    damaged = path.read_bytes()
    path.write_bytes(damaged[:8192] + b"\xff" * (len(damaged) - 8192))

    hurt = SqliteStore(path)
    with pytest.raises(StoreUnavailable):
        await hurt.query("p")
    await hurt.close()


@pytest.mark.parametrize("suffix", ["", "-wal"], ids=["database", "log"])
@pytest.mark.parametrize("is_replaced", [False, True], ids=["removed", "replaced"])
async def test_nothing_is_written_to_a_file_that_was_taken_away(
    tmp_path: Path, suffix: str, *, is_replaced: bool
) -> None:
    path = tmp_path / "plugboard.db"
    store = SqliteStore(path)
    await store.write(Put(KEY, {}, IfAbsent()))
    store.check_place()

    path.with_name(path.name + suffix).rename(tmp_path / "elsewhere")
    if is_replaced:
        path.with_name(path.name + suffix).touch()

    with pytest.raises(StoreLost, match="removed or replaced"):
        store.check_place()
    with pytest.raises(StoreLost):
        await store.write(Put(OTHER, {}, IfAbsent()))
    assert (await store.get(KEY), await store.get(OTHER)) != (None, None)
    assert await store.get(OTHER) is None
    await store.close()


async def fill(store: SqliteStore) -> int:
    """Writes until there is no room. Returns how many items there are."""
    for number in range(1000):
        try:
            await store.write(Put(Key("WS#w", f"ITEM#{number:03}"), {"text": "x" * 8000}, IfAbsent()))
        except StoreFull:
            return number
    raise AssertionError("there is always room")


async def test_a_full_database_still_deletes_and_has_room_afterwards(tmp_path: Path) -> None:
    """As a deletion is written: with an audit record, which needs room itself."""
    store = SqliteStore(tmp_path / "plugboard.db", max_pages=60)
    count = await fill(store)
    assert count > 5
    await store.write(*(Put(Key("AUDIT", f"{number:03}"), {}, Always()) for number in range(50)))
    with pytest.raises(StoreFull):
        await store.write(Put(Key("WS#w", "LARGE"), {"text": "x" * 8000}, IfAbsent()))

    await store.write(
        Put(Key("AUDIT", "deleted"), {"text": "y" * 4000}, IfAbsent()), Delete(Key("WS#w", "ITEM#000"), IfVersion(1))
    )

    assert await store.get(Key("WS#w", "ITEM#000")) is None
    await store.write(Delete(Key("WS#w", "ITEM#001"), IfVersion(1)), Delete(Key("WS#w", "ITEM#002"), IfVersion(1)))
    await store.write(Put(Key("WS#w", "NEW"), {"text": "x" * 8000}, IfAbsent()))
    await store.close()


async def test_a_full_database_makes_room_of_expired_items(tmp_path: Path) -> None:
    clock = StillClock()
    store = SqliteStore(tmp_path / "plugboard.db", clock, max_pages=60)
    for number in range(4):
        expires = int(clock.now()) + 10
        await store.write(Put(Key("WS#w", f"OLD#{number}"), {"text": "x" * 8000}, IfAbsent(), expires))
    await fill(store)

    clock.advance(20)

    await store.write(Put(Key("WS#w", "NEW"), {"text": "x" * 8000}, IfAbsent()))
    await store.close()
