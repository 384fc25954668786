"""Stored audit records: append-only, in one partition for each month.

Configuration changes and tool calls have separate partitions: a DynamoDB partition limits the rate of its writes, and
tool calls must not delay a change, whose record is part of its write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from operator import attrgetter
from typing import Any, ClassVar

from api.audit.call_packing import pack, split_into_batches, unpack
from api.audit.events import Action, ToolCallRecord
from api.kit.clock import rfc3339
from api.kit.ids import random_text, sortable_time, time_of
from api.kit.storage.records import NOT_STORED, Record
from api.kit.storage.store import MAX_CHANGES, Change, Conflict, IfAbsent, Item, Key, Put, Store

CALLS_IN_A_WRITE = 1000  # with texts of maximal length, half of what one write may hold; packed in a millisecond
BATCHES_AT_FIRST = 4
PREFIX = "audit_"
USUAL_DAYS = 400
DAY_SECONDS = 86_400


class RecordKind(StrEnum):
    CONFIG = "config"
    CALLS = "calls"


@dataclass(frozen=True, slots=True)
class AuditRecord(Record):
    """Names and ids only, never a secret."""

    PARSERS: ClassVar = {"fields": tuple}

    at: str
    action: str
    target_type: str
    target_id: str
    target_name: str
    actor_type: str
    actor_id: str
    actor_name: str
    request_id: str
    fields: tuple[str, ...] = ()
    id: str = field(default="", metadata=NOT_STORED)
    agent_id: str | None = None
    tool: str | None = None
    outcome: str | None = None
    milliseconds: int | None = None
    client_address: str | None = None
    cause: str | None = None

    @classmethod
    def of(cls, item: Item) -> AuditRecord:
        return cls.decode(item.data, id=item.key.sk)

    @classmethod
    def of_call(cls, call: ToolCallRecord, record_id: str) -> AuditRecord:
        return cls(
            at=rfc3339(call.at),
            action=Action.TOOL_CALLED.value,
            target_type="server",
            target_id=call.server_id,
            target_name=call.server_name,
            actor_type=call.actor_type,
            actor_id=call.actor_id,
            actor_name=call.actor_name,
            request_id=call.request_id,
            id=record_id,
            agent_id=call.agent_id,
            tool=call.tool,
            outcome=call.outcome,
            milliseconds=call.milliseconds,
            client_address=call.client_address,
        )

    def data(self) -> dict[str, Any]:
        return {name: value for name, value in self.encode().items() if value is not None}


def add_record(
    workspace_id: str, record: AuditRecord, now: float, position: int, kept_days: int = USUAL_DAYS
) -> Change:
    """`position` orders the records of one write, which share a time."""
    key = Key(_partition(RecordKind.CONFIG, workspace_id, _month(now)), _record_id(now, position))
    return _put_new(key, record.data(), _expiry(now, kept_days))


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """The changes of one write."""

    changes: Sequence[Change]
    number: int
    """How many calls they record."""


def batch_calls(calls: Iterable[ToolCallRecord], kept_days: int = USUAL_DAYS) -> Iterator[BatchWrite]:
    """A generator, so that other tasks run between two writes."""
    changes: list[Change] = []
    number = 0
    for batch in split_into_batches(calls):
        if number + len(batch) > CALLS_IN_A_WRITE or len(changes) == MAX_CHANGES:
            yield BatchWrite(changes, number)
            changes, number = [], 0
        changes.append(_add_batch(batch, len(changes), kept_days))
        number += len(batch)
    if changes:
        yield BatchWrite(changes, number)


async def write_calls(store: Store, batch: BatchWrite) -> None:
    try:
        await store.write(*batch.changes)
    except Conflict:  # an earlier attempt has written these items
        return


def _add_batch(batch: Sequence[ToolCallRecord], position: int, kept_days: int) -> Change:
    newest = batch[-1]
    partition = _partition(RecordKind.CALLS, newest.workspace_id, _month(newest.at))
    return _put_new(Key(partition, _record_id(newest.at, position)), pack(batch), _expiry(newest.at, kept_days))


def _put_new(key: Key, data: Mapping[str, Any], expires_at: int) -> Put:
    return Put(key, data, IfAbsent(), expires_at)


def _expiry(at: float, kept_days: int) -> int:
    """The store deletes what has expired: nothing else may delete a record."""
    return int(at) + kept_days * DAY_SECONDS


class AuditRepository:
    """The audit trail of one workspace, ordered by record id.

    A batch of calls has an id like any record, and a call in it has that id with its position. So a page may end
    inside a batch; the next page has the records with smaller ids.
    """

    def __init__(self, store: Store, workspace_id: str) -> None:
        self._store = store
        self._workspace_id = workspace_id

    async def page(
        self, limit: int, after: str | None, now: float, since: str, kinds: Iterable[RecordKind] = RecordKind
    ) -> list[AuditRecord]:
        """Newest first, starting after the record `after`, back to the month of `since`."""
        page: list[AuditRecord] = []
        start = _month(time_of(after.removeprefix(PREFIX))) if after else _month(now)
        for month in _months_back(start, since[:7]):
            if len(page) >= limit:
                break
            reads = [self._of(kind, month, limit - len(page), after) for kind in kinds]
            newest = sorted(chain(*await asyncio.gather(*reads)), key=attrgetter("id"), reverse=True)
            page += newest[: limit - len(page)]
        return page

    async def _of(self, kind: RecordKind, month: str, limit: int, after: str | None) -> list[AuditRecord]:
        partition = _partition(kind, self._workspace_id, month)
        if kind is RecordKind.CALLS:
            return await self._calls(partition, limit, after)
        return [AuditRecord.of(item) for item in await self._newest(partition, limit, after)]

    async def _calls(self, partition: str, limit: int, after: str | None) -> list[AuditRecord]:
        """A batch holds 1 to 100 calls: reads a few batches first, and more if needed."""
        page: list[AuditRecord] = []
        at_once, last = BATCHES_AT_FIRST, after
        while len(page) < limit:
            items = await self._newest(partition, at_once, last)
            records = chain.from_iterable(map(self._unpack, items))
            page += [record for record in records if after is None or record.id < after]
            if len(items) < at_once:
                break
            at_once, last = min(4 * at_once, limit), items[-1].key.sk
        return page

    async def _newest(self, partition: str, limit: int, after: str | None) -> list[Item]:
        return await self._store.query(partition, limit=limit, after=after, newest_first=True)

    def _unpack(self, item: Item) -> list[AuditRecord]:
        calls = unpack(self._workspace_id, item.data)
        return [AuditRecord.of_call(call, f"{item.key.sk}_{position:02d}") for position, call in enumerate(calls)]


def _partition(kind: RecordKind, workspace_id: str, month: str) -> str:
    return f"AUDIT#{workspace_id}#{month}" + ("#CALLS" if kind is RecordKind.CALLS else "")


def _record_id(now: float, position: int) -> str:
    return f"{PREFIX}{sortable_time(now)}{position:02d}{random_text()}"


def record_position(moment: float) -> str:
    """Records with smaller ids are of earlier times."""
    return f"{PREFIX}{sortable_time(moment)}"


def _month(now: float) -> str:
    return rfc3339(now)[:7]


def _months_back(newest: str, oldest: str) -> Iterator[str]:
    year, month = int(newest[:4]), int(newest[5:])
    while f"{year:04d}-{month:02d}" >= oldest:
        yield f"{year:04d}-{month:02d}"
        year, month = (year, month - 1) if month > 1 else (year - 1, 12)
