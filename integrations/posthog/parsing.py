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
INVALID_VALUE = "must be a date, a time such as 2026-11-17T09:00:00Z, or how long ago, such as 24h, 7d or 30min"
AMBIGUOUS_M = "is ambiguous: minutes are `min`, such as 30min, and months are `mo`, such as 2mo"
AMBIGUOUS_WEEK = "is ambiguous: the last seven days are `7d`; for a calendar week give its dates"
_PERIOD = re.compile(r"-([0-9]+)([Mhdwmy])")


def posthog_notation(text: str) -> str:
    """Convert a date, a time or a period to PostHog's notation."""
    word = text.lower()
    if word in ("last week", "this week"):
        raise ValueError(AMBIGUOUS_WEEK)
    if word == ALL or word in DAYS_OF_NAMES:
        return DAYS_OF_NAMES.get(word, word)
    if ago := parse_ago(text):
        if ago.unit is None:
            raise ValueError(AMBIGUOUS_M)
        return f"-{ago.number}{LETTERS[ago.unit]}"
    try:
        instant(text)
    except ValueError as error:
        raise ValueError(INVALID_VALUE) from error
    return text


Moment = Annotated[str, AfterValidator(posthog_notation)]


def instant(text: str) -> datetime:
    """Parse a date or time; without a zone it is in the project's. The years leave room for arithmetic."""
    moment = datetime.fromisoformat(text)
    if not 1900 < moment.year < 9000:  # noqa: PLR2004
        raise ValueError(INVALID_VALUE)
    return moment


def next_instant(time: str) -> str:
    """The next microsecond, because the end of a range is exclusive."""
    return (in_utc(instant(time)) + timedelta(microseconds=1)).isoformat()


def default_start(before: str) -> str:
    """The default start for a given end."""
    if match := _PERIOD.fullmatch(before):
        return f"-{int(int(match[1]) * DAYS[match[2]]) + USUAL_DAYS}d"
    if before in DAYS_OF_NAMES.values():
        return f"-{USUAL_DAYS + 1}d"
    return ALL if before == ALL else (instant(before) - timedelta(days=USUAL_DAYS)).isoformat()


def span(after: str, before: str | None) -> str:
    """The range in words, to follow the noun `events`."""
    if before:
        start = "from the first" if after == ALL else f"from {_moment_text(after)}"
        return f"{start} until {_moment_text(before)}"
    if match := _PERIOD.fullmatch(after):
        return f"in the last {_period_text(match).removeprefix('1 ')}"
    return "ever" if after == ALL else f"since {_moment_text(after)}"


def _moment_text(moment: str) -> str:
    if match := _PERIOD.fullmatch(moment):
        return f"{_period_text(match)} ago"
    names = {notation: f"the beginning of {name}" for name, notation in DAYS_OF_NAMES.items()}
    return names.get(moment) or clock(moment)


def _period_text(period: re.Match[str]) -> str:
    return f"{period[1]} {WORDS[period[2]]}{'' if period[1] == '1' else 's'}"
