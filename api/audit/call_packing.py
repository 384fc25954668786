"""The packed form in which one stored item holds up to a hundred tool calls.

`call_log.py` collects the calls, and `repository.py` writes the items. One item for each call would cost the store more
than the call itself. An item lists each distinct text once; a call is a row of numbers: its time, its duration, and the
positions of its texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

from api.audit.events import ToolCallRecord

CALLS_IN_A_BATCH = 100
SPAN_SECONDS = 1.0
LONGEST_TEXT = 128

_time = attrgetter("at")


def split_into_batches(calls: Iterable[ToolCallRecord]) -> Iterator[list[ToolCallRecord]]:
    """Batches of one workspace each, oldest call first, that span at most a second."""
    by_workspace: defaultdict[str, list[ToolCallRecord]] = defaultdict(list)
    for call in calls:
        by_workspace[call.workspace_id].append(call)
    for workspace_calls in by_workspace.values():
        yield from _cut(sorted(workspace_calls, key=_time))


def _cut(calls: Iterable[ToolCallRecord]) -> Iterator[list[ToolCallRecord]]:
    batch: list[ToolCallRecord] = []
    for call in calls:
        if batch and (len(batch) == CALLS_IN_A_BATCH or call.at - batch[0].at > SPAN_SECONDS):
            yield batch
            batch = []
        batch.append(call)
    yield batch


def pack(batch: Sequence[ToolCallRecord]) -> dict[str, Any]:
    rows = [call.texts for call in batch]
    texts = dict.fromkeys(chain.from_iterable(rows))
    positions = dict(zip(texts, range(len(texts)), strict=True))
    numbers = ((round(call.at * 1000), call.milliseconds) for call in batch)
    addresses = [call.client_address for call in batch]
    places = {address: place for place, address in enumerate(dict.fromkeys(addresses))}
    return {
        "addresses": list(places),
        "of": [places[address] for address in addresses] if len(places) > 1 else [],
        "texts": [_storable(text) for text in texts],
        "calls": [
            [*call_numbers, *map(positions.__getitem__, row)] for call_numbers, row in zip(numbers, rows, strict=True)
        ],
    }


def unpack(workspace_id: str, data: Mapping[str, Any]) -> list[ToolCallRecord]:
    """The calls in the order in which they were packed."""
    rows = data["calls"]
    distinct = data.get("addresses", [None])  # records of version 0.1.0 have none
    addresses = [distinct[position] for position in data.get("of") or [0] * len(rows)]
    return [_call(workspace_id, row, data["texts"], address) for row, address in zip(rows, addresses, strict=True)]


def _call(workspace_id: str, row: Sequence[int], texts: Sequence[str], address: str | None) -> ToolCallRecord:
    at, milliseconds, *positions = row
    *names, actor_type = (texts[position] for position in positions)
    return ToolCallRecord._make((at / 1000, workspace_id, *names, milliseconds, actor_type, address))


def _storable(text: str) -> str:
    """Methods come from callers: they may be long, or contain half a surrogate pair, which no store accepts."""
    return text[:LONGEST_TEXT].encode(errors="replace").decode()
