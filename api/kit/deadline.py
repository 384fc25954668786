"""Points in time by which work must be done, all of them enforced by one timer.

A timer for each call costs as much as reading the store. One timer for all looks at them twenty times a second while
there are any; work that is late is ended up to that much later.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Protocol

EVERY_SECONDS = 0.05


class Timed(Protocol):
    def on_tick(self, now: float) -> None:
        """Called at each tick; `now` is the loop's time."""
        ...


class Ticker:
    """The timer of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._watched: set[Timed] = set()
        self._is_running = False

    def add(self, timed: Timed) -> None:
        self._watched.add(timed)
        if not self._is_running:
            self._is_running = True
            self.loop.call_later(EVERY_SECONDS, self._tick)

    def remove(self, timed: Timed) -> None:
        self._watched.discard(timed)

    def _tick(self) -> None:
        now = self.loop.time()
        try:
            for watched in tuple(self._watched):
                watched.on_tick(now)
        finally:  # an error in one must not end the time limits of all
            self._is_running = bool(self._watched)
            if self._is_running:
                self.loop.call_later(EVERY_SECONDS, self._tick)


class Deadline:
    """The end of the time for one piece of work: made where the work begins and handed down to all its parts."""

    __slots__ = ("_ends_at", "_ticker")

    def __init__(self, ticker: Ticker, seconds: float) -> None:
        self._ticker = ticker
        self._ends_at = ticker.loop.time() + seconds

    def has_passed(self, now: float) -> bool:
        """`now`: the loop's time, as each tick has it."""
        return now >= self._ends_at

    def remaining(self) -> float:
        """Seconds; negative once it has passed."""
        return self._ends_at - self._ticker.loop.time()

    def earlier(self, seconds: float) -> Deadline:
        """For a part that needs to know first, so that it can say what its failure means."""
        return Deadline(self._ticker, self.remaining() - seconds)

    def enforce(self) -> TimeLimit:
        """`with deadline.enforce():` raises `TimeoutError` where its body is not done in time. Within a task only."""
        return TimeLimit(self._ticker, self._ends_at)


class TimeLimit:
    """One enforcement of a deadline; several tasks may share a deadline."""

    __slots__ = ("_cancelled_before", "_ends_at", "_has_passed", "_task", "_ticker")

    def __init__(self, ticker: Ticker, ends_at: float) -> None:
        self._ticker = ticker
        self._ends_at = ends_at
        self._has_passed = False

    def __enter__(self) -> None:
        task = asyncio.current_task(self._ticker.loop)
        if task is None:
            raise RuntimeError("a deadline can be enforced within a task only")
        self._task = task
        self._cancelled_before = task.cancelling()
        self._ticker.add(self)

    def on_tick(self, now: float) -> None:
        if now >= self._ends_at and not self._has_passed:
            self._has_passed = True
            self._task.cancel()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ticker.remove(self)
        if not self._has_passed:
            return
        # Other code may have cancelled the task too: then it stays cancelled.
        is_ours = self._task.uncancel() <= self._cancelled_before
        if is_ours and kind is asyncio.CancelledError:
            raise TimeoutError from error
