"""One write: a transaction whose outcome is known also where the answer to its commit is lost.

Each connection has an item of its own, its mark, and each write stores its number there. The number shows whether the
last write of a connection that is gone was committed: after a crash and after a failover, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from api.kit.storage.postgres.connections import FAILURES, PostgresPool, PostgresSession
from api.kit.storage.postgres.retries import WRITE_PATIENCE_SECONDS, retry
from api.kit.storage.postgres.statements import COMMIT, ROLLBACK, Statements, write_values
from api.kit.storage.store import Change, Key, StoreUnavailable

WRITE_SECONDS = 5.0
MARK_SECONDS = 86_400
"""Longer than a connection lives. Then the mark is swept."""

UNKNOWN = "the answer to a write was lost; it may have happened"


def mark_key(session: PostgresSession) -> Key:
    """No item of a repository has an empty `pk`."""
    return Key("", f"CONNECTION#{session.id}")


@dataclass(frozen=True, slots=True)
class SentCommit:
    """A write whose commit was sent."""

    mark: Key
    number: int


class WriteTransaction:
    def __init__(self, statements: Statements, changes: Sequence[Change], now: int) -> None:
        self._statements = statements
        self._keys = [change.key for change in changes]
        self._values: Sequence[Any] = write_values(changes, now)
        self._marked_until = now + MARK_SECONDS

    async def attempt(self, pool: PostgresPool) -> list[Key]:
        """Applies the changes. Returns the keys whose conditions did not hold; then nothing was written."""
        sent: list[SentCommit] = []
        try:
            return await pool.run(lambda session: self._apply(session, sent), WRITE_SECONDS)
        except FAILURES:
            if not sent or not await self._was_applied(pool, sent[0]):
                raise
        return []

    async def _apply(self, session: PostgresSession, sent: list[SentCommit]) -> list[Key]:
        mark, number = mark_key(session), session.next_write()
        await session.execute(self._statements.begin(mark, *self._keys))
        values = *self._values, *mark, number, self._marked_until
        pks, sks = await session.fetch_row(self._statements.write, *values)
        if pks:
            await session.execute(ROLLBACK)
            return [Key(*names) for names in zip(pks, sks, strict=True)]
        sent.append(SentCommit(mark, number))
        await session.execute(COMMIT)
        return []

    async def _was_applied(self, pool: PostgresPool, sent: SentCommit) -> bool:
        try:
            return await retry(
                lambda: pool.run(lambda it: self._read_mark(it, sent), WRITE_SECONDS), WRITE_PATIENCE_SECONDS
            )
        except StoreUnavailable as error:
            raise StoreUnavailable(f"{UNKNOWN} ({error})") from None

    async def _read_mark(self, session: PostgresSession, sent: SentCommit) -> bool:
        """Waits for the transaction, which the server may still have open, since it holds its locks until it ends."""
        await session.execute(self._statements.begin(sent.mark))
        row = await session.fetch_row(self._statements.mark, *sent.mark)
        await session.execute(ROLLBACK)
        return row is not None and row[0] == sent.number
