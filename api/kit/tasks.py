"""Background tasks, which are kept referenced, and single-flight tasks, which callers of the same key share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class BackgroundTasks:
    """Tasks that no caller awaits. The event loop holds tasks weakly, so they are referenced here until they end."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self, grace_seconds: float | None = None) -> None:
        """Waits until all tasks have ended, also those that start meanwhile. Cancels what outlasts the grace."""
        try:
            async with asyncio.timeout(grace_seconds):
                while self._tasks:
                    await asyncio.wait(self._tasks)
        except TimeoutError:
            await self.cancel()

    async def cancel(self) -> None:
        """Cancels all tasks and waits until they have ended."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class SingleFlight(Generic[K, T]):
    """One task for each key: callers that want the same result while it is being made share the task.

    A cancelled caller does not cancel the task. A failure goes to the callers that wait and is not kept.
    """

    def __init__(self, keep: Callable[[K, T], None] | None = None) -> None:
        """`keep` receives each result, unless its key was forgotten while the task ran."""
        self._keep = keep
        self._tasks: dict[K, asyncio.Task[T]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    async def get(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await asyncio.shield(self.start(key, work))

    def start(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        """The task for this key, without waiting for it."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(work())
            task.add_done_callback(partial(self._on_end, key))
        return task

    def forget(self, matches: Callable[[K], bool]) -> None:
        """Later callers start a new task; those that already wait get the result of the old one."""
        for key in [key for key in self._tasks if matches(key)]:
            del self._tasks[key]

    async def finish(self) -> None:
        """Waits until all tasks have ended, also those that start meanwhile."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def cancel(self) -> None:
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_end(self, key: K, task: asyncio.Task[T]) -> None:
        is_current = self._tasks.get(key) is task
        if is_current:
            del self._tasks[key]
        if task.cancelled() or task.exception() is not None or not is_current:
            return
        if self._keep is not None:
            self._keep(key, task.result())
