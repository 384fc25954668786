"""Do it again on what is there now: for writes that lost a race."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from api.kit.backoff import between
from api.kit.storage.store import Conflict, StoreUnavailable

TRIES = 40
LONGEST_PAUSE_SECONDS = 0.1

T = TypeVar("T")


async def retry_on_conflict(work: Callable[[], Awaitable[T]]) -> T:
    """`work` reads, decides and writes; when its write meets a Conflict it runs again from the start."""
    for attempt in range(TRIES):
        try:
            return await work()
        except Conflict:
            await asyncio.sleep(between(0, min(LONGEST_PAUSE_SECONDS, 0.002 * 2**attempt)))
    raise StoreUnavailable("too many others are changing the same thing")
