"""Parsing of times: durations before now, and moments without a time zone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Unit = Literal["minute", "hour", "day", "week", "month", "year"]

_SPELLINGS: Mapping[Unit, tuple[str, ...]] = {
    "minute": ("min", "mins", "minute", "minutes"),
    "hour": ("h", "hr", "hrs", "hour", "hours"),
    "day": ("d", "day", "days"),
    "week": ("w", "week", "weeks"),
    "month": ("mo", "month", "months"),
    "year": ("y", "yr", "year", "years"),
}
_UNITS: Mapping[str, Unit] = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}
_AGO = re.compile(r"(?:-?\s?(?P<number>[0-9]{1,4})\s?|(?:an?|one)\s+)(?P<unit>[a-z]+)(?:\s+ago)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ago:
    """A duration before now."""

    number: int
    unit: Unit | None
    """None for `m`, which may be minutes or months."""


def parse_ago(text: str) -> Ago | None:
    """Parse `7d`, `-24h`, `30 minutes ago`, `a week ago`; None for other texts."""
    match = _AGO.fullmatch(text.strip())
    spelling = match["unit"].lower() if match else ""
    if match is None or (spelling not in _UNITS and spelling != "m"):
        return None
    return Ago(int(match["number"] or 1), _UNITS.get(spelling))


def in_utc(moment: datetime) -> datetime:
    """A moment without a time zone is taken as UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
