"""Which moments are meant by a date that a filter compares with?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from integrations.times import in_utc

_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?P<time>[T ]\d{2}:\d{2}[0-9:.]*(Z|[+-]\d{2}:?\d{2})?)?")
_MILLISECONDS = re.compile(r"[0-9]{12,13}")
_DAY = timedelta(days=1) / timedelta(milliseconds=1)
TAKEN = "give a day as 2026-11-30, or a time as 2026-11-30T15:00:00Z"


@dataclass(frozen=True)
class Span:
    """Its first and its last millisecond, as HubSpot counts them. Of a time, both are the same."""

    first: int
    last: int

    @property
    def is_day(self) -> bool:
        return self.last > self.first


def span(text: str) -> Span:
    """Of a day alone, all of it, in UTC."""
    if _MILLISECONDS.fullmatch(text):
        return Span(int(text), int(text))
    shape = _MOMENT.fullmatch(text)
    if shape is None:
        raise ValueError(f"“{text}” is no date: {TAKEN}")
    first = _milliseconds(text)
    return Span(first, first if shape["time"] else first + int(_DAY) - 1)


def _milliseconds(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"there is no such date as {text}") from error
    return int(in_utc(moment).timestamp() * 1000)
