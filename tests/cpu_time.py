"""The CPU time of work, and of its longest piece between two turns of the event loop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from time import thread_time
from typing import Any, Generic, TypeVar

T = TypeVar("T")
TRIES = 3


def cpu_seconds(work: Callable[[], object]) -> float:
    """The least of three tries, since other processes make each of them slower."""
    return min(_once(work) for _ in range(TRIES))


def _once(work: Callable[[], object]) -> float:
    with untraced():
        begun = thread_time()
        work()
        return thread_time() - begun


@contextmanager
def untraced() -> Iterator[None]:
    """Without the measurement of coverage in this thread, which takes time and memory for each line.

    Not to be used many times a second: Python refuses to start a thread just when another thread changes its tracing.
    """
    trace = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(trace)


def tracing_factor() -> int:
    """For limits of work in other threads, which is traced while coverage is measured."""
    return 1 if sys.gettrace() is None else 8


async def longest_turn(work: Awaitable[object]) -> float:
    """The CPU time of the longest turn of the event loop while the work is done, tasks that it starts included."""
    task = asyncio.ensure_future(work)
    with untraced():
        longest, last = 0.0, thread_time()
        while not task.done():
            await asyncio.sleep(0)
            longest, last = max(longest, thread_time() - last), thread_time()
    task.result()
    return longest


class Measured(Generic[T]):
    """A coroutine to be awaited; `longest` is the CPU time of the longest piece in which it held the loop."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self.longest = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        with untraced():
            return (yield from self._steps())

    def _steps(self) -> Generator[Any, Any, T]:
        sent = None
        while True:
            begun = thread_time()
            try:
                waited_for = self._coroutine.send(sent)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self.longest = max(self.longest, thread_time() - begun)
            sent = yield waited_for
