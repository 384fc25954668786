"""The time of the last use of each API key, to the minute, written in the background."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from api.access.repository import add_use, last_uses
from api.kit.clock import Clock, rfc3339
from api.kit.storage.store import Conflict, Store, StoreUnavailable
from api.kit.tasks import BackgroundTasks

EVERY_SECONDS = 60.0
REMEMBERED_KEYS = 10_000
KEPT_DAYS = 90
"""After a key has expired, the store deletes its last use."""

log = logging.getLogger(__name__)


class LastUsedRecorder:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._recorded: dict[tuple[str, str], float] = {}
        self._writes = BackgroundTasks()

    def record(self, partition: str, key_id: str, key_expires_at: str | None = None) -> None:
        now = self._clock.monotonic()
        if now - self._recorded.get((partition, key_id), -EVERY_SECONDS) < EVERY_SECONDS:
            return
        self._recorded.pop((partition, key_id), None)
        if len(self._recorded) >= REMEMBERED_KEYS:
            del self._recorded[next(iter(self._recorded))]
        self._recorded[partition, key_id] = now
        self._writes.start(self._write(partition, key_id, key_expires_at))

    async def get_many(self, partition: str, key_ids: Sequence[str]) -> Mapping[str, str]:
        return await last_uses(self._store, partition, key_ids)

    async def finish(self) -> None:
        await self._writes.finish()

    async def _write(self, partition: str, key_id: str, key_expires_at: str | None) -> None:
        """Write at most once a minute for each key, even if several processes serve it."""
        now = self._clock.now()
        try:
            previous = (await self.get_many(partition, [key_id])).get(key_id)
            if previous is None or previous <= rfc3339(now - EVERY_SECONDS):
                await self._store.write(*add_use(partition, key_id, rfc3339(now), _deletion_time(key_expires_at)))
        except (Conflict, StoreUnavailable):  # the key was revoked, or the next use will be written
            log.info("the last use of a key was not stored")


def _deletion_time(key_expires_at: str | None) -> int | None:
    if key_expires_at is None:
        return None
    return int((datetime.fromisoformat(key_expires_at) + timedelta(days=KEPT_DAYS)).timestamp())
