"""Retries of writes that lost a race, on what is stored by then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from api.kit.backoff import Backoff
from api.kit.storage.store import Conflict, StoreUnavailable

TRIES = 40
PAUSES = Backoff(first=0.002, longest=0.1, jitter=(0, 1))

T = TypeVar("T")


async def retry_on_conflict(work: Callable[[], Awaitable[T]]) -> T:
    """`work` reads, decides and writes; it runs again from the start when its write meets a Conflict."""
    for attempt in range(TRIES):
        try:
            return await work()
        except Conflict:
            await asyncio.sleep(PAUSES.pause(attempt))
    raise StoreUnavailable("too many concurrent changes of the same items")
