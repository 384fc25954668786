"""Long work on the event loop, in pieces between which everything else runs."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from weakref import WeakKeyDictionary

PIECE_SECONDS = 0.004
_OF_LOOPS: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


class Turns:
    """Hands out turns: however much work waits for one, a turn of the loop has a single piece of it.

    Work that gave way by `asyncio.sleep(0)` would have its piece in the same turn as all other work of the kind.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False

    async def next(self) -> None:
        """To be awaited before each piece. The pieces are short: a few milliseconds at most."""
        await self.take()

    def take(self) -> asyncio.Future[None]:
        """The same for callbacks: done when it is the turn of the piece."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._wake)
        return turn

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # its task may have been cancelled
                turn.set_result(None)
                break
        self._is_scheduled = bool(self._waiting)
        if self._is_scheduled:
            asyncio.get_running_loop().call_soon(self._wake)


class Pieces:
    """The pieces of one task's work. The work of all such tasks shares the turns of its loop."""

    def __init__(self) -> None:
        self._turns = turns_of_loop()
        self._began = time.monotonic()

    async def pause(self) -> None:
        """To be awaited often: it gives way if this piece has taken long enough."""
        if time.monotonic() - self._began > PIECE_SECONDS:
            await self._turns.next()
            self._began = time.monotonic()


def turns_of_loop() -> Turns:
    """Those that all work on this loop shares."""
    return _OF_LOOPS.setdefault(asyncio.get_running_loop(), Turns())
