"""When was a key last used? Kept to the minute, beside the request and never in its way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from api.access.repository import add_use, last_uses
from api.kit.clock import Clock, rfc3339
from api.kit.storage.store import Conflict, Store, StoreUnavailable

EVERY_SECONDS = 60.0
REMEMBERED_KEYS = 10_000

log = logging.getLogger(__name__)


class LastUsedRecorder:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._noted: dict[tuple[str, str], float] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    def note(self, partition: str, key_id: str) -> None:
        now = self._clock.monotonic()
        if now - self._noted.get((partition, key_id), -EVERY_SECONDS) < EVERY_SECONDS:
            return
        self._noted.pop((partition, key_id), None)
        if len(self._noted) >= REMEMBERED_KEYS:
            del self._noted[next(iter(self._noted))]
        self._noted[partition, key_id] = now
        task = asyncio.create_task(self._write(partition, key_id))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def of(self, partition: str, key_ids: Sequence[str]) -> Mapping[str, str]:
        return await last_uses(self._store, partition, key_ids)

    async def finish(self) -> None:
        await asyncio.gather(*self._under_way)

    async def _write(self, partition: str, key_id: str) -> None:
        """One write a minute and key, also where several processes serve it."""
        now = self._clock.now()
        try:
            known = (await self.of(partition, [key_id])).get(key_id)
            if known is None or known <= rfc3339(now - EVERY_SECONDS):
                await self._store.write(*add_use(partition, key_id, rfc3339(now)))
        except (Conflict, StoreUnavailable):  # revoked meanwhile, or the next use will tell
            log.info("use of a key not noted")
