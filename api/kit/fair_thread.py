"""A thread for work that takes too long for the event loop."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _Job(NamedTuple):
    work: Callable[[], Any]
    result: asyncio.Future[Any]


class FairThread:
    """Runs one piece of work at a time, of each owner in turn: an owner with much work delays the others by one piece.

    A single thread, since the event loop has to wait for its turn among all threads that compute.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "long-work")
        self._waiting: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._is_busy = False

    async def run(self, owner: str, work: Callable[[], T]) -> T:
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(_Job(work, result))
        if not self._is_busy:
            self._start_next()
        return await result

    def _start_next(self) -> None:
        self._is_busy = (job := self._next()) is not None
        if job is not None:
            running = asyncio.get_running_loop().run_in_executor(self._thread, job.work)
            running.add_done_callback(lambda done: self._finish(job, done))

    def _next(self) -> _Job | None:
        """The next work of the owner whose last turn is longest ago. Work that is no longer needed is dropped."""
        while self._waiting:
            owner, jobs = self._waiting.popitem(last=False)
            job = jobs.popleft()
            if jobs:
                self._waiting[owner] = jobs
            if not job.result.done():
                return job
        return None

    def _finish(self, job: _Job, done: asyncio.Future[Any]) -> None:
        self._start_next()
        error = done.exception()
        if job.result.done():  # its task was cancelled
            return
        if error is None:
            job.result.set_result(done.result())
        else:
            job.result.set_exception(error)
