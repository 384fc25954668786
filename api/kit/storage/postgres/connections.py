"""The connections of one process to PostgreSQL: how one is made, and the bounded pool of them.

The pool is our own: asyncpg's resets a connection after each use, with a request that takes longer than a read, and
its cancelled operations open further connections. Here an operation that fails or takes too long ends its connection.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import asyncpg

from api.kit.storage.postgres.address import PostgresAddress, PostgresHost
from api.kit.storage.store import StoreUnavailable

CONNECT_SECONDS = 2.0
CLOSE_SECONDS = 1.0
PLACE_SECONDS = 2.0
LONGEST_LIFE_SECONDS = 3600.0  # then another, so that new addresses and passwords are used
LONGEST_IDLE_SECONDS = 240.0  # load balancers and firewalls forget a silent connection after five minutes or so
SESSION: Mapping[str, str] = {
    "application_name": "plugboard",
    "statement_timeout": "4s",
    "idle_in_transaction_session_timeout": "5s",  # a process that hangs lets go of its locks
}
ACKNOWLEDGE_WHAT_IS_ON_DISK = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)
FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, EOFError)
"""What asyncpg raises; a timeout is an `OSError`, and so is an error of TLS."""

Result = TypeVar("Result")
Work = Callable[["PostgresSession"], Awaitable[Result]]


class PostgresSession:
    """One connection. It is used by one operation at a time."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._opened_at = asyncio.get_running_loop().time()
        self._writes = 0
        self.id = uuid.uuid4().hex
        self.idle_since = self._opened_at

    def next_write(self) -> int:
        """The number of a write among those of this connection."""
        self._writes += 1
        return self._writes

    def is_usable(self, now: float) -> bool:
        is_young = now - self._opened_at < LONGEST_LIFE_SECONDS
        return is_young and now - self.idle_since < LONGEST_IDLE_SECONDS and not self.is_closed

    async def execute(self, statement: str) -> None:
        await self._connection.execute(statement)

    async def fetch(self, statement: str, *values: object) -> list[Any]:
        rows: list[Any] = await self._connection.fetch(statement, *values)
        return rows

    async def fetch_row(self, statement: str, *values: object) -> Any:
        return await self._connection.fetchrow(statement, *values)

    @property
    def is_closed(self) -> bool:
        closed: bool = self._connection.is_closed()
        return closed

    def end(self) -> None:
        """Cuts the connection: an operation that waits on it fails."""
        self._connection.terminate()

    async def close(self) -> None:
        with suppress(*FAILURES):
            await self._connection.close(timeout=CLOSE_SECONDS)


async def connect(address: PostgresAddress) -> PostgresSession:
    """Connects to the first of the hosts that accepts writes. Raises the last host's failure."""
    failure: Exception | None = None
    for host in address.hosts:
        try:
            return await _session(await _connect(address, host))
        except FAILURES as error:
            failure = error
    assert failure is not None  # noqa: S101  an address has at least one host
    raise failure


async def _connect(address: PostgresAddress, host: PostgresHost) -> Any:
    return await asyncpg.connect(
        host=host.name,
        port=host.port,
        user=address.user,
        password=address.password.reveal_text(),
        database=address.database,
        ssl=address.ssl_context(host) or False,
        timeout=CONNECT_SECONDS,
        target_session_attrs="read-write",
        server_settings=dict(SESSION),
    )


async def _session(connection: Any) -> PostgresSession:
    session: PostgresSession | None = None
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await connection.fetch(ACKNOWLEDGE_WHAT_IS_ON_DISK)
        session = PostgresSession(connection)
        return session
    finally:
        if session is None:
            connection.terminate()


class PostgresPool:
    def __init__(self, open_session: Callable[[], Awaitable[PostgresSession]], size: int) -> None:
        self._open_session = open_session
        self._places = asyncio.Semaphore(size)
        self._idle: deque[PostgresSession] = deque()  # the one that was used last is taken first
        self.size = size
        self.in_use = 0

    async def run(self, work: Work[Result], seconds: float, wait_seconds: float = PLACE_SECONDS) -> Result:
        """Runs the work on a connection that is its own meanwhile, for at most so long."""
        await self._take_place(wait_seconds)
        self.in_use += 1
        try:
            session = self._idle_session() or await self._open_session()
            return await self._run(session, work, seconds)
        finally:
            self.in_use -= 1
            self._places.release()

    async def close(self) -> None:
        sessions, self._idle = tuple(self._idle), deque()
        await asyncio.gather(*(session.close() for session in sessions))

    async def _take_place(self, seconds: float) -> None:
        if not self._places.locked():
            await self._places.acquire()  # at once
            return
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError:
            raise StoreUnavailable(f"all {self.size} connections to PostgreSQL are in use") from None

    async def _run(
        self, session: PostgresSession, work: Callable[[PostgresSession], Awaitable[Result]], seconds: float
    ) -> Result:
        end, is_whole = asyncio.get_running_loop().call_later(seconds, session.end), False
        try:
            result = await work(session)
            is_whole = True
            return result
        finally:
            end.cancel()
            if is_whole:
                self._keep(session)
            else:
                self._drop(session)

    def _keep(self, session: PostgresSession) -> None:
        session.idle_since = asyncio.get_running_loop().time()
        self._idle.append(session)
        while self._idle and not self._idle[0].is_usable(session.idle_since):
            self._idle.popleft().end()

    def _drop(self, session: PostgresSession) -> None:
        was_cut = session.is_closed
        session.end()
        while was_cut and self._idle:  # what cut one has cut the others, or will
            self._idle.pop().end()

    def _idle_session(self) -> PostgresSession | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            session = self._idle.pop()
            if session.is_usable(now):
                return session
            session.end()
        return None
