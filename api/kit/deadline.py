"""How is something ended that takes too long, without a timer for each of the many things that do not?

A timer costs a call as much as reading the store. So one for all looks at them twenty times a second, for as long as
there are any; what ends too late ends by that much later.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Protocol, Self

EVERY_SECONDS = 0.05


class Timed(Protocol):
    def on_tick(self, now: float) -> None:
        """Called from time to time; `now` is the loop's time."""
        ...


class Ticker:
    """One for each event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._watched: set[Timed] = set()
        self._is_running = False

    def add(self, watched: Timed) -> None:
        self._watched.add(watched)
        if not self._is_running:
            self._is_running = True
            self.loop.call_later(EVERY_SECONDS, self._tick)

    def remove(self, watched: Timed) -> None:
        self._watched.discard(watched)

    def _tick(self) -> None:
        now = self.loop.time()
        for each in tuple(self._watched):
            each.on_tick(now)
        self._is_running = bool(self._watched)
        if self._is_running:
            self.loop.call_later(EVERY_SECONDS, self._tick)


class Deadline:
    """`with Deadline(ticker, seconds):` raises `TimeoutError` where its body is not done by then. Within a task."""

    __slots__ = ("_cancelled_before", "_ends", "_passed", "_seconds", "_task", "_ticker")

    def __init__(self, ticker: Ticker, seconds: float) -> None:
        self._ticker = ticker
        self._seconds = seconds
        self._passed = False

    def __enter__(self) -> Self:
        loop = self._ticker.loop
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a deadline is kept within a task only")
        self._task = task
        self._cancelled_before = task.cancelling()
        self._ends = loop.time() + self._seconds
        self._ticker.add(self)
        return self

    def on_tick(self, now: float) -> None:
        if now >= self._ends and not self._passed:
            self._passed = True
            self._task.cancel()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ticker.remove(self)
        if not self._passed:
            return
        # Somebody else may have cancelled the task too: then it stays cancelled.
        ended_by_us = self._task.uncancel() <= self._cancelled_before
        if ended_by_us and kind is asyncio.CancelledError:
            raise TimeoutError from error
