"""The store in one file: SQLite in WAL mode, durable, with nothing to set up.

Reads run on the event loop, because one takes microseconds and a hop to a thread ten times that. Writes wait for the
disk and run in their own thread. Several processes may share the file.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from api.kit.clock import Clock, SystemClock
from api.kit.storage.store import (
    Always,
    Change,
    Condition,
    Conflict,
    Delete,
    IfAbsent,
    IfPresent,
    IfVersion,
    Item,
    Key,
    Put,
    StoreFull,
    StoreLost,
    StoreUnavailable,
    check_changes,
    check_sizes,
    prefix_end,
    within,
)

SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
    pk TEXT NOT NULL, sk TEXT NOT NULL, version INTEGER NOT NULL, expires INTEGER, data BLOB NOT NULL,
    PRIMARY KEY (pk, sk)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS expiring ON items (expires) WHERE expires IS NOT NULL;
"""
COLUMNS = "pk, sk, version, expires, data"
LIVE = "(expires IS NULL OR expires > ?)"
GET = f"SELECT {COLUMNS} FROM items WHERE pk = ? AND sk = ? AND {LIVE}"
VERSION = f"SELECT version FROM items WHERE pk = ? AND sk = ? AND {LIVE}"
SCAN = f"SELECT {COLUMNS} FROM items WHERE (pk, sk) > (?, ?) AND {LIVE} ORDER BY pk, sk LIMIT ?"
WRITE_PATIENCE_SECONDS = 10.0
READ_PATIENCE_SECONDS = 1.0
CLEANING_PATIENCE_MS = 100
SWEEP_EVERY_SECONDS = 60.0
SWEEP_AT_MOST = 500
SWEEP_AGAIN_SECONDS = 1.0
"""Where a sweep has left expired items."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


class SqliteStore:
    def __init__(self, path: Path, clock: Clock | None = None, max_pages: int | None = None) -> None:
        """`max_pages`: a quota for the database file, in pages of 4 kB."""
        self._clock = clock or SystemClock()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        try:
            path.touch(mode=0o600)  # SQLite gives its other files the same permissions
            self._writing = self._connect(path, WRITE_PATIENCE_SECONDS)
            self._writing.executescript(SCHEMA)
            if max_pages is not None:
                self._writing.execute(f"PRAGMA max_page_count = {max_pages}")
            self._reading = self._connect(path, READ_PATIENCE_SECONDS)
            self._place = _place(path)
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"cannot open the database {path}: {error}") from error
        self._path = path
        self._sweep_at = self._clock.monotonic() + SWEEP_EVERY_SECONDS

    @staticmethod
    def _connect(path: Path, patience: float) -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # an acknowledged write survives a power cut, not only a crash
        connection.execute("PRAGMA secure_delete = ON")  # a shredded data key leaves no bytes in a free page
        connection.execute("PRAGMA cache_size = -65536")
        return connection

    def version_now(self, key: Key) -> int | None:
        """The version alone, for the read that every request makes."""
        rows = self._read(VERSION, (*key, self._now()))
        return rows[0][0] if rows else None

    async def get(self, key: Key) -> Item | None:
        rows = self._read(GET, (*key, self._now()))
        return _item(rows[0]) if rows else None

    async def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        items = [await self.get(key) for key in dict.fromkeys(keys)]
        return {item.key: item for item in items if item}

    async def query(
        self,
        pk: str,
        prefix: str = "",
        *,
        limit: int = 100,
        after: str | None = None,
        newest_first: bool = False,
        max_bytes: int | None = None,
    ) -> list[Item]:
        where, values = ["pk = ?", LIVE], [pk, self._now()]
        if prefix:
            where += ["sk >= ?", "sk < ?"]
            values += [prefix, prefix_end(prefix)]
        if after is not None:
            where.append("sk < ?" if newest_first else "sk > ?")
            values.append(after)
        order = "DESC" if newest_first else "ASC"
        sql = f"SELECT {COLUMNS} FROM items WHERE {' AND '.join(where)} ORDER BY sk {order} LIMIT ?"
        return list(within(map(_item, self._rows(sql, (*values, limit))), max_bytes))

    async def scan(self, limit: int, after: Key | None = None) -> list[Item]:
        rows = self._read(SCAN, (*(after or ("", "")), self._now(), limit))
        return [_item(row) for row in rows]

    async def write(self, *changes: Change) -> None:
        check_changes(changes)
        encoded = [_encode(change.data) if isinstance(change, Put) else b"" for change in changes]
        check_sizes(encoded)
        await asyncio.get_running_loop().run_in_executor(self._writer, self._apply, changes, encoded)

    async def close(self) -> None:
        """Waits for the writes in progress. May be called twice."""
        await asyncio.get_running_loop().run_in_executor(None, self._writer.shutdown)
        self._reading.close()
        self._writing.close()

    def check_place(self) -> None:
        """SQLite goes on with a file that was removed or replaced; what it writes is gone when the process ends."""
        try:
            is_there = _place(self._path) == self._place
        except OSError:
            is_there = False
        if not is_there:
            raise StoreLost(f"{self._path} was removed or replaced while it was open: restore it, then restart")

    def _now(self) -> int:
        return int(self._clock.now())

    def _read(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._reading.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(str(error)) from error

    def _rows(self, sql: str, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        """One by one: rows that are not used are not read."""
        try:
            yield from self._reading.execute(sql, values)
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(str(error)) from error

    def _apply(self, changes: Sequence[Change], encoded: Sequence[bytes]) -> None:
        self.check_place()
        try:
            swept = self._transact(changes, encoded)
        except StoreFull:
            self._erase_deleted()  # which empties the log, so that it has room for one more write
            self._sweep_at = -math.inf
            swept = self._transact(changes, encoded)
        self.check_place()
        if swept or any(isinstance(change, Delete) for change in changes):
            self._erase_deleted()

    def _transact(self, changes: Sequence[Change], encoded: Sequence[bytes]) -> bool:
        """Whether expired items were deleted too."""
        try:
            self._writing.execute("BEGIN IMMEDIATE")
            try:
                swept = self._sweep()
                self._apply_all(changes, encoded)
                self._writing.execute("COMMIT")
            finally:
                if self._writing.in_transaction:
                    self._writing.execute("ROLLBACK")
        except sqlite3.DatabaseError as error:
            is_full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            raise (StoreFull if is_full else StoreUnavailable)(str(error)) from error
        return swept

    def _erase_deleted(self) -> None:
        """Checkpoints, because deleted and replaced data stays in the log, and in the file, until then.

        Where a reader of another process is in the way, the next write does it: other writers do not wait for it.
        """
        with suppress(sqlite3.OperationalError):
            self._writing.execute(f"PRAGMA busy_timeout = {CLEANING_PATIENCE_MS}")
            self._writing.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._writing.execute(f"PRAGMA busy_timeout = {WRITE_PATIENCE_SECONDS * 1000:.0f}")

    def _apply_all(self, changes: Sequence[Change], encoded: Sequence[bytes]) -> None:
        failed = [change.key for change in changes if not self._holds(change.key, change.condition)]
        if failed:
            raise Conflict(failed)
        for change in changes:  # first what makes room: in a full database, the audit record of a deletion needs it
            if isinstance(change, Delete):
                self._writing.execute("DELETE FROM items WHERE pk = ? AND sk = ?", change.key)
        for change, data in zip(changes, encoded, strict=True):
            if isinstance(change, Put):
                row = (*change.key, change.version, change.expires_at, data)
                self._writing.execute(f"INSERT OR REPLACE INTO items ({COLUMNS}) VALUES (?, ?, ?, ?, ?)", row)

    def _holds(self, key: Key, condition: Condition) -> bool:
        if isinstance(condition, Always):
            return True
        sql = f"SELECT version FROM items WHERE pk = ? AND sk = ? AND {LIVE}"
        row = self._writing.execute(sql, (*key, self._now())).fetchone()
        match condition:
            case IfAbsent():
                return row is None
            case IfPresent():
                return row is not None
            case IfVersion(version):
                return row is not None and row[0] == version

    def _sweep(self) -> bool:
        """Deletes some expired items, which reads ignore anyway. Returns whether it was due."""
        if self._clock.monotonic() < self._sweep_at:
            return False
        swept = self._writing.execute(
            "DELETE FROM items WHERE (pk, sk) IN (SELECT pk, sk FROM items WHERE expires <= ? LIMIT ?)",
            (self._now(), SWEEP_AT_MOST),
        )
        pause = SWEEP_EVERY_SECONDS if swept.rowcount < SWEEP_AT_MOST else SWEEP_AGAIN_SECONDS
        self._sweep_at = self._clock.monotonic() + pause
        return True


def _place(path: Path) -> list[tuple[int, int]]:
    """Which files the database and its log are."""
    found = (path.stat(), path.with_name(f"{path.name}-wal").stat())
    return [(file.st_dev, file.st_ino) for file in found]


def _item(row: tuple[Any, ...]) -> Item:
    pk, sk, version, expires, data = row
    return Item(Key(pk, sk), _decode(data), version, expires, len(data))
