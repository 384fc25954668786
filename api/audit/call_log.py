"""The buffer that collects records of tool calls before they are written to the audit trail in batches."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from api.audit.events import ToolCallRecord
from api.audit.repository import USUAL_DAYS, BatchWrite, batch_calls, write_calls
from api.kit.backoff import Backoff
from api.kit.storage.store import Store, StoreUnavailable

EVERY_SECONDS = 0.5
MAX_WAITING = 50_000
MAX_TAKEN = 10_000
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0

log = logging.getLogger(__name__)


class CallLog:
    """A buffer that is written within a second. While the store is unavailable, a bounded number of records waits."""

    def __init__(
        self,
        store: Store,
        *,
        every_seconds: float = EVERY_SECONDS,
        first_pause: float = FIRST_PAUSE,
        most_waiting: int = MAX_WAITING,
        kept_days: int = USUAL_DAYS,
    ) -> None:
        self._store = store
        self._kept_days = kept_days
        self._every_seconds = every_seconds
        self._backoff = Backoff(first_pause, LONGEST_PAUSE)
        self._most_waiting = most_waiting
        self._buffer: deque[ToolCallRecord] = deque(maxlen=most_waiting)
        self._in_hand = 0
        self._dropped = self._logged_drops = 0
        self._flusher: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    @property
    def waiting(self) -> int:
        return len(self._buffer) + self._in_hand

    @property
    def dropped(self) -> int:
        """The number of records that were dropped before being stored."""
        return self._dropped

    def add(self, call: ToolCallRecord) -> None:
        if len(self._buffer) == self._most_waiting:
            self._dropped += 1  # the oldest makes room
        self._buffer.append(call)
        if self._flusher is None:
            self._flusher = asyncio.create_task(self._flush())

    async def finish(self) -> None:
        """Writes the remaining records. Drops them if the store is unavailable."""
        self._ending.set()
        while self._flusher:
            await self._flusher

    async def _flush(self) -> None:
        try:
            while self._buffer:
                await self._wait(self._every_seconds)
                await self._write(self._take())
        except StoreUnavailable:
            self._give_up()
        finally:
            self._flusher = None

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()

    def _take(self) -> list[ToolCallRecord]:
        self._in_hand = min(len(self._buffer), MAX_TAKEN)
        return [self._buffer.popleft() for _ in range(self._in_hand)]

    async def _write(self, calls: Sequence[ToolCallRecord]) -> None:
        for batch in batch_calls(calls, self._kept_days):
            await self._until_written(batch)
            self._in_hand -= batch.number
        self._log_dropped()

    async def _until_written(self, batch: BatchWrite) -> None:
        """Retries with the same items, so that an attempt whose response was lost is not repeated."""
        for failures in count():
            try:
                await write_calls(self._store, batch)
            except StoreUnavailable:
                if self._ending.is_set():
                    raise
                log.warning(
                    "records of tool calls are waiting for the store", extra={"detail": f"{self.waiting} calls"}
                )
            else:
                return
            self._log_dropped()
            await self._wait(self._backoff.pause(failures))

    def _give_up(self) -> None:
        self._dropped += self.waiting
        self._buffer.clear()
        self._in_hand = 0
        self._log_dropped()

    def _log_dropped(self) -> None:
        if self._dropped > self._logged_drops:
            log.error(
                "records of tool calls were dropped", extra={"detail": f"{self._dropped - self._logged_drops} calls"}
            )
            self._logged_drops = self._dropped
