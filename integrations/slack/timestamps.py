"""Parsing of dates and times into the `ts` that a message would have at that time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import BeforeValidator

from integrations.slack.references import MOST_SECONDS, plain_ts
from integrations.times import Unit, in_utc, parse_ago

NO_TIME = (
    "must be a date such as 2026-01-31, a time such as 2026-01-31T09:00:00Z, a duration before now such as 7d, "
    "or the `ts` of a message"
)
MILLISECONDS_FROM = 10**11
DAY = timedelta(days=1)
A_MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime.fromtimestamp(0, UTC)
LEAST_SECONDS = 10**8
_NUMBER = re.compile(r"0|[0-9]{9,13}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8}")
UNITS: Mapping[Unit | None, timedelta] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "week": timedelta(weeks=1),
}
DAYS_AGO = {"today": 0, "yesterday": 1}


def read_beginning(value: object) -> object:
    """A day stands for its first moment in UTC."""
    return _parse(value, ends=False)


def read_end(value: object) -> object:
    """A day stands for its last moment in UTC."""
    return _parse(value, ends=True)


Beginning = Annotated[str, BeforeValidator(read_beginning)]
End = Annotated[str, BeforeValidator(read_end)]


def is_relative(time: str) -> bool:
    """Whether the time is relative to now."""
    return plain_ts(time) is None


def resolve(time: str, now: datetime, *, ends: bool) -> str:
    """Resolve a time that may be relative to now."""
    if not is_relative(time):
        return time
    if ago := parse_ago(time):
        return _to_ts(now - ago.number * UNITS[ago.unit])
    if time not in DAYS_AGO:
        return _to_ts(now)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return _ts_of_day(today - DAYS_AGO[time] * DAY, ends=ends)


def _parse(value: object, *, ends: bool) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _ts_of_number(value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _NUMBER.fullmatch(text):
        return _ts_of_number(int(text))
    ago = parse_ago(text)
    if (word := text.lower()) in (*DAYS_AGO, "now") or (ago and ago.unit in UNITS):
        return word
    return plain_ts(text) or _ts_of_iso(text, ends=ends)


def _ts_of_number(number: float) -> str:
    """Unix time in seconds or milliseconds; 0 means the beginning."""
    seconds = number / 1000 if MILLISECONDS_FROM <= number < MILLISECONDS_FROM * 100 else number
    if not (seconds == 0 or LEAST_SECONDS <= seconds < MOST_SECONDS):
        raise ValueError(NO_TIME)
    return f"{seconds:017.6f}"


def _ts_of_iso(text: str, *, ends: bool) -> str:
    try:
        moment = datetime.fromisoformat(
            text if _DATE.match(text) else ""
        )  # ISO weeks are refused, because their end is not computed
    except ValueError as error:
        raise ValueError(NO_TIME) from error
    return _ts_of_day(in_utc(moment), ends=ends) if _DATE.fullmatch(text) else _to_ts(in_utc(moment))


def _ts_of_day(first: datetime, *, ends: bool) -> str:
    return _to_ts(first.replace(hour=23, minute=59, second=59, microsecond=999_999) if ends else first)


def _to_ts(moment: datetime) -> str:
    """Times before the epoch become the epoch."""
    seconds, rest = divmod(max((moment - EPOCH) // A_MICROSECOND, 0), 1_000_000)
    return f"{min(seconds, MOST_SECONDS - 1):010d}.{rest:06d}"
