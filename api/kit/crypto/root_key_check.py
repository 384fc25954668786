"""The background job that looks for stored data keys whose root key is not configured."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

from api.kit.crypto.data_keys import KeyRing
from api.kit.jobs import BackgroundJobs

NAME = "root_keys"
EVERY_SECONDS = 60.0
AT_ONCE = 8

log = logging.getLogger(__name__)


class RootKeyCheck:
    """Reads all data keys once, when the process starts. Those that are written later are checked when they are used.

    A later run reads only the data keys that were found unreadable: they may have been wrapped again since.
    """

    def __init__(self, keys: KeyRing, partitions: Callable[[], AsyncIterator[str]]) -> None:
        self._keys = keys
        self._partitions = partitions
        self._has_read_all = False
        self._logged: frozenset[str] = frozenset()

    def schedule(self, jobs: BackgroundJobs) -> None:
        jobs.add(NAME, EVERY_SECONDS, self.run).wake()

    async def run(self) -> None:
        if self._has_read_all:
            await self._keys.look_again()
        else:
            await self._read_all()
            self._has_read_all = True
        missing = self._keys.missing_roots
        if missing and missing != self._logged:
            log.error("root keys are missing", extra={"detail": f"stored data keys need {', '.join(sorted(missing))}"})
        self._logged = missing

    async def _read_all(self) -> None:
        some: list[str] = []
        async for partition in self._partitions():
            some.append(partition)
            if len(some) == AT_ONCE:
                await asyncio.gather(*map(self._keys.look_at, some))
                some = []
        await asyncio.gather(*map(self._keys.look_at, some))
