"""How many records a workspace, and the installation, may have.

The number of records of a kind is stored, and changes in the write that creates or deletes one. So no create reads all
records, and creates at the same time cannot exceed the limit together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from weakref import WeakValueDictionary

from api.access.context import WorkspaceContext
from api.access.peppers import SYSTEM
from api.errors import TooManyRecords
from api.kit.clock import Clock
from api.kit.storage.store import PAGE_BYTES, Change, Conflict, IfAbsent, IfVersion, Item, Key, Put, Store

AGAIN_SECONDS = 86_400
"""Records are counted again after a day: an earlier version, which runs during an upgrade, does not count."""
AGAIN_AT_THE_LIMIT_SECONDS = 600


class CountedKind(StrEnum):
    SERVERS = "SERVER"
    AGENTS = "AGENT"
    API_KEYS = "KEY"
    WORKSPACES = "WORKSPACE"


@dataclass(frozen=True, slots=True)
class RecordLimit:
    at_most: int
    setting: str
    """The variable with which an operator changes it."""
    noun: str


def usual_limits() -> dict[CountedKind, RecordLimit]:
    return {
        CountedKind.SERVERS: RecordLimit(2000, "PLUGBOARD_MAX_SERVERS", "MCP servers"),
        CountedKind.AGENTS: RecordLimit(5000, "PLUGBOARD_MAX_AGENTS", "agents"),
        CountedKind.API_KEYS: RecordLimit(5000, "PLUGBOARD_MAX_API_KEYS", "API keys"),
        CountedKind.WORKSPACES: RecordLimit(10_000, "PLUGBOARD_MAX_WORKSPACES", "workspaces"),
    }


@dataclass(frozen=True, slots=True)
class _Counted:
    """The records of one kind in one place, and where their number is stored."""

    kind: CountedKind
    counter: Key
    pk: str
    prefix: str


@dataclass(frozen=True, slots=True)
class _Number:
    """How many records there are, and when they were counted."""

    records: int
    counted_at: int
    stored: Item | None

    def put(self, counted: _Counted, records: int) -> Put:
        condition = IfVersion(self.stored.version) if self.stored else IfAbsent()
        return Put(counted.counter, {"records": max(records, 0), "counted_at": self.counted_at}, condition)


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """Requests of one process take turns, so that they do not meet conflicts with each other."""

    store: Store
    clock: Clock
    limits: Mapping[CountedKind, RecordLimit] = field(default_factory=usual_limits)
    _turns: WeakValueDictionary[Key, asyncio.Lock] = field(default_factory=WeakValueDictionary, init=False)

    @asynccontextmanager
    async def adding(self, ctx: WorkspaceContext, kind: CountedKind, *, limited: bool = True) -> AsyncIterator[Change]:
        """The change that belongs into the write of a new record. It meets a Conflict if the number has changed."""
        async with self._changing(_in_workspace(ctx, kind), 1, limited=limited) as change:
            yield change

    @asynccontextmanager
    async def removing(self, ctx: WorkspaceContext, kind: CountedKind) -> AsyncIterator[Change]:
        async with self._changing(_in_workspace(ctx, kind), -1) as change:
            yield change

    @asynccontextmanager
    async def adding_workspace(self) -> AsyncIterator[Change]:
        async with self._changing(_WORKSPACES, 1) as change:
            yield change

    @asynccontextmanager
    async def removing_workspace(self) -> AsyncIterator[Change]:
        async with self._changing(_WORKSPACES, -1) as change:
            yield change

    @asynccontextmanager
    async def _changing(self, counted: _Counted, by: int, *, limited: bool = True) -> AsyncIterator[Change]:
        async with self._turns.setdefault(counted.counter, asyncio.Lock()):
            number = await self._number(counted, AGAIN_SECONDS)
            if by > 0 and limited:
                number = await self._below_the_limit(counted, number)
            yield number.put(counted, number.records + by)

    async def _below_the_limit(self, counted: _Counted, number: _Number) -> _Number:
        limit = self.limits[counted.kind]
        if number.records >= limit.at_most:
            number = await self._number(counted, AGAIN_AT_THE_LIMIT_SECONDS)
        if number.records >= limit.at_most:
            with suppress(Conflict):  # the next request counts again
                await self.store.write(number.put(counted, number.records))
            raise TooManyRecords(number.records, limit.noun, limit.setting, in_all=counted is _WORKSPACES)
        return number

    async def _number(self, counted: _Counted, at_most_seconds: int) -> _Number:
        """As it is stored; counted, where that is older than so many seconds."""
        item, now = await self.store.get(counted.counter), int(self.clock.now())
        if item is None or not 0 <= now - item.data["counted_at"] < at_most_seconds:
            return _Number(await self._count(counted), now, item)
        return _Number(item.data["records"], item.data["counted_at"], item)

    async def _count(self, counted: _Counted) -> int:
        count, last = 0, None
        while page := await self.store.query(counted.pk, counted.prefix, after=last, max_bytes=PAGE_BYTES):
            count, last = count + len(page), page[-1].key.sk
            await asyncio.sleep(0)  # other requests go on between two reads
        return count


def _in_workspace(ctx: WorkspaceContext, kind: CountedKind) -> _Counted:
    return _Counted(kind, Key(ctx.partition, f"COUNT#{kind}"), ctx.partition, f"{kind}#")


_WORKSPACES = _Counted(CountedKind.WORKSPACES, Key(SYSTEM, f"COUNT#{CountedKind.WORKSPACES}"), "WORKSPACES", "")
