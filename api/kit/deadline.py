"""How is something ended that takes too long: as `asyncio.timeout` does it, for a third of what that costs a call."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadline:
    """`with Deadline(seconds):` raises `TimeoutError` where its body is not done by then. Within a task, and once."""

    __slots__ = ("_cancelled_before", "_handle", "_passed", "_seconds", "_task")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._passed = False

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._task = task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a deadline is kept within a task only")
        self._cancelled_before = task.cancelling()
        self._handle = loop.call_later(self._seconds, self._pass)

    def _pass(self) -> None:
        self._passed = True
        if self._task is not None:
            self._task.cancel()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if not self._passed:
            self._handle.cancel()
            return
        # Somebody else may have cancelled the task too: then it stays cancelled.
        ended_by_us = self._task is not None and self._task.uncancel() <= self._cancelled_before
        if ended_by_us and kind is asyncio.CancelledError:
            raise TimeoutError from error
