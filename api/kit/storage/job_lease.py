"""The lease on a background job in a fleet: one process holds it until it expires."""

from __future__ import annotations

from math import ceil

from api.kit.clock import Clock
from api.kit.ids import random_text
from api.kit.storage.store import Conflict, IfAbsent, IfVersion, Key, Put, Store

PREFIX = "JOB#"


class JobLease:
    """The leases that this process holds; it may renew each of them before it expires."""

    def __init__(self, store: Store, partition: str, clock: Clock) -> None:
        self._store = store
        self._partition = partition
        self._clock = clock
        self._holder = random_text()

    async def acquire(self, name: str, seconds: float) -> bool:
        """Whether this process holds the lease for the next `seconds`."""
        key = Key(self._partition, f"{PREFIX}{name}")
        item = await self._store.get(key)  # an expired item does not exist
        if item is not None and item.data["holder"] != self._holder:
            return False
        condition = IfVersion(item.version) if item else IfAbsent()
        expires_at = ceil(self._clock.now() + seconds)
        try:
            await self._store.write(Put(key, {"holder": self._holder}, condition, expires_at))
        except Conflict:  # another process was faster
            return False
        return True
