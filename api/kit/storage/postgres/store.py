"""The store for several machines: one PostgreSQL table, reads from the primary server, writes in transactions.

asyncpg's errors never leave this folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from api.kit.clock import Clock, SystemClock
from api.kit.storage.postgres.address import PostgresAddress
from api.kit.storage.postgres.connections import PostgresPool, PostgresSession, connect
from api.kit.storage.postgres.retries import READ_PATIENCE_SECONDS, WRITE_PATIENCE_SECONDS, retry
from api.kit.storage.postgres.statements import Statements, item_of
from api.kit.storage.postgres.table import prepare_table
from api.kit.storage.postgres.transaction import WriteTransaction
from api.kit.storage.store import Change, Conflict, Item, Key, StoreUnavailable, check_changes
from api.kit.tasks import BackgroundTasks

CONNECTIONS = 10
READ_SECONDS = 2.5
MIGRATION_SECONDS = 60.0
SWEEP_EVERY_SECONDS = 60.0
SWEEP_AT_MOST = 500
SWEEP_AGAIN_SECONDS = 1.0
"""Where a sweep has left expired items."""

Result = TypeVar("Result")


class PostgresStore:
    def __init__(
        self, address: PostgresAddress, table: str, clock: Clock | None = None, connections: int = CONNECTIONS
    ) -> None:
        self._table = table
        self._clock = clock or SystemClock()
        self._sql = Statements(table)
        self.pool = PostgresPool(partial(connect, address), connections)
        self._operations = BackgroundTasks()
        self._sweep_at = self._clock.monotonic() + SWEEP_EVERY_SECONDS

    async def prepare(self) -> bool:
        """Creates or migrates the table, if needed. Returns whether it is new."""
        prepare = partial(prepare_table, name=self._table)
        return await self._complete(self._run(prepare, MIGRATION_SECONDS, WRITE_PATIENCE_SECONDS))

    async def get(self, key: Key) -> Item | None:
        row = await self._read(lambda session: session.fetch_row(self._sql.get, *key, self._now()))
        return item_of(row) if row else None

    async def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        if not keys:
            return {}
        pks, sks = map(list, zip(*keys, strict=True))
        rows = await self._read(lambda session: session.fetch(self._sql.get_many, pks, sks, self._now()))
        items = {item.key: item for item in map(item_of, rows)}
        return {key: items[key] for key in dict.fromkeys(keys) if key in items}

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
        statement, values = self._sql.query((pk, prefix), limit, after, self._now(), newest_first=newest_first)
        if max_bytes is not None:
            statement, values = self._sql.within(statement, values, max_bytes, newest_first=newest_first)
        rows = await self._read(lambda session: session.fetch(statement, *values))
        return [item_of(row) for row in rows]

    async def scan(self, limit: int, after: Key | None = None) -> list[Item]:
        start = after or Key("", "")
        rows = await self._read(lambda session: session.fetch(self._sql.scan, *start, self._now(), limit))
        return [item_of(row) for row in rows]

    async def write(self, *changes: Change) -> None:
        check_changes(changes)
        transaction = WriteTransaction(self._sql, changes, self._now())
        failed = await self._complete(retry(partial(transaction.attempt, self.pool), WRITE_PATIENCE_SECONDS))
        if failed:
            raise Conflict(failed)
        self._sweep_if_due()

    async def close(self) -> None:
        """Waits for the operations in progress. May be called twice."""
        await self._operations.finish()
        await self.pool.close()

    async def _read(self, work: Callable[[PostgresSession], Coroutine[Any, Any, Result]]) -> Result:
        return await self._complete(self._run(work, READ_SECONDS, READ_PATIENCE_SECONDS))

    async def _complete(self, operation: Coroutine[Any, Any, Result]) -> Result:
        """A cancelled caller does not cancel the operation, which would leave its connection in the middle of one."""
        return await asyncio.shield(self._operations.start(operation))

    async def _run(
        self, work: Callable[[PostgresSession], Coroutine[Any, Any, Result]], seconds: float, patience: float
    ) -> Result:
        return await retry(partial(self.pool.run, work, seconds), patience)

    def _now(self) -> int:
        return int(self._clock.now())

    def _sweep_if_due(self) -> None:
        if self._clock.monotonic() >= self._sweep_at:
            self._sweep_at = self._clock.monotonic() + SWEEP_EVERY_SECONDS
            self._operations.start(self._sweep())

    async def _sweep(self) -> None:
        """Deletes some expired items, which reads ignore anyway."""
        with suppress(StoreUnavailable):
            values = self._now(), SWEEP_AT_MOST
            swept = await self._run(lambda session: session.fetch(self._sql.sweep, *values), READ_SECONDS, 0)
            if len(swept) == SWEEP_AT_MOST:
                self._sweep_at = self._clock.monotonic() + SWEEP_AGAIN_SECONDS
