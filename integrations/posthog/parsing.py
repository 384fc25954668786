"""Conversion of dates, times and periods such as `7d` to PostHog's notation, and to words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator

from integrations.posthog.results import clock
from integrations.times import Unit, in_utc, parse_ago

LETTERS: Mapping[Unit, str] = {"minute": "M", "hour": "h", "day": "d", "week": "w", "month": "m", "year": "y"}
"""PostHog's letters for units, in which `m` is a month."""
WORDS = {letter: unit for unit, letter in LETTERS.items()}
DAYS = {"M": 0, "h": 1 / 24, "d": 1, "w": 7, "m": 31, "y": 366}
DAYS_OF_NAMES = {"today": "dStart", "yesterday": "-1dStart"}
USUAL_DAYS = 7
ALL = "all"
IS_NONE = "must be a date, a time such as 2026-11-17T09:00:00Z, or how long ago, such as 24h, 7d or 30min"
WHICH_M = "is ambiguous: minutes are `min`, such as 30min, and months are `mo`, such as 2mo"
WHICH_WEEK = "is ambiguous: the last seven days are `7d`; for a calendar week give its dates"
_READ = re.compile(r"-([0-9]+)([Mhdwmy])")


def posthogs(given: str) -> str:
    """Convert a date, a time or a period to PostHog's notation."""
    word = given.lower()
    if word in ("last week", "this week"):
        raise ValueError(WHICH_WEEK)
    if word == ALL or word in DAYS_OF_NAMES:
        return DAYS_OF_NAMES.get(word, word)
    if ago := parse_ago(given):
        if ago.unit is None:
            raise ValueError(WHICH_M)
        return f"-{ago.number}{LETTERS[ago.unit]}"
    try:
        instant(given)
    except ValueError as error:
        raise ValueError(IS_NONE) from error
    return given


Moment = Annotated[str, AfterValidator(posthogs)]


def instant(given: str) -> datetime:
    """Parse a date or time; without a zone it is in the project's. The years leave room for arithmetic."""
    at = datetime.fromisoformat(given)
    if not 1900 < at.year < 9000:  # noqa: PLR2004
        raise ValueError(IS_NONE)
    return at


def past(time: str) -> str:
    """The next microsecond, because the end of a range is exclusive."""
    return (in_utc(instant(time)) + timedelta(microseconds=1)).isoformat()


def some_days_before(before: str) -> str:
    """The default start for a given end."""
    if found := _READ.fullmatch(before):
        return f"-{int(int(found[1]) * DAYS[found[2]]) + USUAL_DAYS}d"
    if before in DAYS_OF_NAMES.values():
        return f"-{USUAL_DAYS + 1}d"
    return ALL if before == ALL else (instant(before) - timedelta(days=USUAL_DAYS)).isoformat()


def span(after: str, before: str | None) -> str:
    """The range in words, to follow the noun `events`."""
    if before:
        begins = "from the first" if after == ALL else f"from {_worded(after)}"
        return f"{begins} until {_worded(before)}"
    if found := _READ.fullmatch(after):
        return f"in the last {_many(found).removeprefix('1 ')}"
    return "ever" if after == ALL else f"since {_worded(after)}"


def _worded(moment: str) -> str:
    if found := _READ.fullmatch(moment):
        return f"{_many(found)} ago"
    names = {posthogs: f"the beginning of {name}" for name, posthogs in DAYS_OF_NAMES.items()}
    return names.get(moment) or clock(moment)


def _many(found: re.Match[str]) -> str:
    return f"{found[1]} {WORDS[found[2]]}{'' if found[1] == '1' else 's'}"
