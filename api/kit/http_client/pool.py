"""Per-origin, per-credential pools of keep-alive connections."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from contextlib import suppress

from api.kit.deadline import Deadline, Ticker
from api.kit.egress.policy import CheckedUrl
from api.kit.http_client.connection import HttpConnection
from api.kit.http_client.dialer import CONNECT_SECONDS, Dialer
from api.kit.http_client.request_head import origin_lines
from api.kit.transport_errors import ConnectionFailed
from api.kit.turns import turns_of_loop

MAX_CONNECTIONS = 64
"""The most connections of one pool."""
IDLE_SECONDS = 4.0
"""Less than Node's five: a request on a connection that the upstream closes meanwhile is lost, and not repeated."""
SWEEP_SECONDS = 1.0
CONNECT_SHARE = 0.8
"""Of the time that is left for a request: a connection that takes longer leaves none for the response."""


class ConnectionPool:
    """Connections to one origin with one credential."""

    __slots__ = (
        "_dialling",
        "_free",
        "_is_closed",
        "_leased",
        "_loop",
        "_open",
        "_owner",
        "_ticker",
        "_waiting",
        "fixed",
    )

    def __init__(self, ticker: Ticker, dialling: Dialer, target: CheckedUrl, name: str = "") -> None:
        self.fixed = origin_lines(target)
        self._ticker = ticker
        self._loop = ticker.loop
        self._dialling = dialling
        self._owner = name.partition(" ")[0]  # a workspace, as a rule
        self._leased = 0
        self._free: list[HttpConnection] = []
        self._open: set[HttpConnection] = set()
        self._waiting: deque[asyncio.Future[HttpConnection | None]] = deque()
        self._is_closed = False

    @property
    def busy(self) -> bool:
        return self._leased > 0

    @property
    def is_empty(self) -> bool:
        return not (self._leased or self._free)

    @property
    def usage(self) -> tuple[int, int, int]:
        """Connections in use and idle ones, and requests that wait for one."""
        return self._leased, len(self._free), len(self._waiting)

    def take_idle(self) -> HttpConnection | None:
        """The most recently used one, so that the others can expire."""
        oldest = self._loop.time() - IDLE_SECONDS
        while self._free:
            connection = self._free.pop()
            if connection.is_usable and connection.idle_since > oldest:
                self._leased += 1
                return connection
            connection.abort()
        return None

    async def connect(self, target: CheckedUrl, deadline: Deadline) -> HttpConnection:
        """Waits for a connection or a free place. The caller releases either exactly once."""
        connection = await self._acquire()
        if connection is not None and connection.is_usable:
            return connection
        connection = None
        seconds = min(CONNECT_SECONDS, CONNECT_SHARE * deadline.remaining())
        try:
            connection = await self._dialling.connect(
                target, lambda: HttpConnection(self._ticker, self._lost), self._owner, seconds
            )
        finally:
            if connection is None:
                self.release(None)
        if self._is_closed:
            connection.abort()
            raise _closed()
        if not connection.gone.done():
            self._open.add(connection)
        return connection

    def release(self, connection: HttpConnection | None) -> None:
        """To the longest waiting request. None: a place in which a connection can be opened."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        self._leased -= 1
        if connection is not None:
            if self._is_closed:
                connection.abort()
            connection.idle_since = self._loop.time()
            self._free.append(connection)

    def drop_idle(self) -> None:
        oldest = self._loop.time() - IDLE_SECONDS
        for connection in list(self._free):
            if connection.idle_since <= oldest:
                connection.abort()

    def close(self) -> list[asyncio.Future[None]]:
        """What to wait for until all connections are closed. Waiting requests fail."""
        self._is_closed = True
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(_closed())
        connections = list(self._open)
        for connection in connections:
            connection.abort()
        return [connection.gone for connection in connections]

    async def _acquire(self) -> HttpConnection | None:
        if self._is_closed:
            raise _closed()
        if self._leased < MAX_CONNECTIONS:
            self._leased += 1
            return None
        waiter: asyncio.Future[HttpConnection | None] = self._loop.create_future()
        self._waiting.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                with suppress(ValueError):  # it was already passed over when a place was released
                    self._waiting.remove(waiter)
            else:
                self.release(waiter.result())
            raise

    def _lost(self, connection: HttpConnection) -> None:
        self._open.discard(connection)
        if connection in self._free:
            self._free.remove(connection)


def _closed() -> ConnectionFailed:
    return ConnectionFailed("the process is about to end", sent=False)


class ConnectionPools(OrderedDict[tuple[str, str, int, str], ConnectionPool]):
    """By origin and credential, the most recently used at the end. At most `most` of them are idle."""

    def __init__(self, dialling: Dialer, most: int) -> None:
        super().__init__()
        self._dialling = dialling
        self._most = most
        self._loop = asyncio.get_running_loop()
        self.ticker = Ticker(self._loop)
        self.turns = turns_of_loop()
        self._sweeping: asyncio.TimerHandle | None = None
        self._is_closed = False

    def for_origin(self, target: CheckedUrl, credential: str) -> ConnectionPool:
        key = (target.scheme, target.host, target.port, credential)
        pool = self.get(key)
        if pool is None:
            pool = self[key] = ConnectionPool(self.ticker, self._dialling, target, credential)
            if self._is_closed:
                pool.close()
            elif self._sweeping is None:
                self._sweeping = self._loop.call_later(SWEEP_SECONDS, self._sweep)
        self.move_to_end(key)
        return pool

    def usage(self) -> dict[str, float]:
        """The sums over all pools. May be called on another thread."""
        of_pools = [pool.usage for pool in list(self.values())]
        return dict(zip(("busy", "idle", "waiting"), map(sum, zip((0, 0, 0), *of_pools, strict=True)), strict=True))

    def trim(self) -> None:
        if len(self) > self._most:
            idle = [key for key, pool in self.items() if not pool.busy]
            for key in idle[: len(self) - self._most]:
                self.pop(key).close()

    async def close(self) -> None:
        self._is_closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        gone = [future for pool in self.values() for future in pool.close()]
        self.clear()
        await asyncio.gather(*gone)

    def _sweep(self) -> None:
        for key, pool in list(self.items()):
            pool.drop_idle()
            if pool.is_empty:
                del self[key]
        self._sweeping = self._loop.call_later(SWEEP_SECONDS, self._sweep) if self else None
