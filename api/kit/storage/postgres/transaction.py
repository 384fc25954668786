"""One write: a transaction whose outcome is known also where the answer to its commit is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from api.kit.storage.postgres.connections import FAILURES, HISTORY, PostgresPool, PostgresSession
from api.kit.storage.postgres.retries import WRITE_PATIENCE_SECONDS, Undecided, retry
from api.kit.storage.postgres.statements import COMMIT, ROLLBACK, Statements
from api.kit.storage.store import Change, Key, StoreUnavailable

WRITE_SECONDS = 5.0
STATUS_SECONDS = 2.5
STATUS = f"SELECT CASE WHEN {HISTORY} = $1 THEN pg_xact_status($2::text::xid8) END"
UNKNOWN = "the answer to a write was lost; it may have happened"


@dataclass(frozen=True, slots=True)
class SentCommit:
    """A transaction whose commit was sent: its number, and the history in which the number is used once."""

    number: str
    history: str | None

    async def was_applied(self, pool: PostgresPool) -> bool:
        """Asks the server, until it has decided. Raises `StoreUnavailable` if it does not know."""
        try:
            return await retry(lambda: pool.run(self._status, STATUS_SECONDS), WRITE_PATIENCE_SECONDS)
        except StoreUnavailable as error:
            raise StoreUnavailable(f"{UNKNOWN} ({error})") from None

    async def _status(self, session: PostgresSession) -> bool:
        (status,) = await session.fetch_row(STATUS, self.history, self.number)
        match status:
            case "committed":
                return True
            case "aborted":
                return False
            case "in progress":  # the server has not noticed yet that the connection is gone
                raise Undecided
            case _:
                raise StoreUnavailable("another server has taken over")


@dataclass(frozen=True, slots=True)
class WriteTransaction:
    statements: Statements
    changes: Sequence[Change]
    values: Sequence[Any]

    async def attempt(self, pool: PostgresPool) -> list[Key]:
        """Applies the changes. Returns the keys whose conditions did not hold; then nothing was written."""
        sent: list[SentCommit] = []
        try:
            return await pool.run(lambda session: self._apply(session, sent), WRITE_SECONDS)
        except FAILURES:
            if not sent or not await sent[0].was_applied(pool):
                raise
        return []

    async def _apply(self, session: PostgresSession, sent: list[SentCommit]) -> list[Key]:
        await session.execute(self.statements.begin(self.changes))
        pks, sks, number = await session.fetch_row(self.statements.write, *self.values)
        if pks:
            await session.execute(ROLLBACK)
            return [Key(*names) for names in zip(pks, sks, strict=True)]
        sent.append(SentCommit(number, session.history))
        await session.execute(COMMIT)
        return []
