"""Where audit records are kept: a partition a month, added to and never changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from api.kit.clock import rfc3339
from api.kit.ids import in_order, random_text, time_of
from api.kit.store import Absent, Change, Item, Key, Put, Store


@dataclass(frozen=True, slots=True)
class Record:
    """Names and ids only: no value that anyone entered as a secret is ever put in here."""

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
    id: str = ""

    @classmethod
    def of(cls, item: Item) -> Record:
        return cls(**{**item.data, "fields": tuple(item.data["fields"]), "id": item.key.sk})

    def data(self) -> dict[str, Any]:
        data = asdict(self)
        del data["id"]
        return data


def add_record(workspace_id: str, record: Record, now: float, position: int) -> Change:
    """`position` orders the records of one write, which have the same time."""
    return Put(Key(_partition(workspace_id, _month(now)), _record_id(now, position)), record.data(), Absent())


class Records:
    """The audit trail of one workspace."""

    def __init__(self, store: Store, workspace_id: str) -> None:
        self._store = store
        self._workspace_id = workspace_id

    async def page(self, limit: int, after: str | None, now: float, since: str) -> list[Record]:
        """Newest first, from beyond the record `after`, back to the month of the time `since`."""
        found: list[Item] = []
        start = _month(time_of(after.removeprefix("audit_"))) if after else _month(now)
        for month in _months_back(start, since[:7]):
            if len(found) >= limit:
                break
            partition = _partition(self._workspace_id, month)
            found += await self._store.query(partition, limit=limit - len(found), after=after, newest_first=True)
        return [Record.of(item) for item in found]


def _partition(workspace_id: str, month: str) -> str:
    return f"AUDIT#{workspace_id}#{month}"


def _record_id(now: float, position: int) -> str:
    return f"audit_{in_order(now)}{position:02d}{random_text()}"


def _month(now: float) -> str:
    return rfc3339(now)[:7]


def _months_back(newest: str, oldest: str) -> Iterator[str]:
    year, month = int(newest[:4]), int(newest[5:])
    while f"{year:04d}-{month:02d}" >= oldest:
        yield f"{year:04d}-{month:02d}"
        year, month = (year, month - 1) if month > 1 else (year - 1, 12)
