"""Parsing of what a model passes: record ids as numbers, URLs or email addresses, and dates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import BeforeValidator

from integrations.hubspot.record_kinds import COMPANIES, CONTACTS, DEALS, KINDS, Kind
from integrations.times import in_utc

_URL = re.compile(r"https?://[^/\s]*hubspot\.com/\S*?/(?:record/(0-[0-9]+)|(contact|company|deal))/([0-9]+)")
_NUMBER = re.compile(r"[0-9]{1,20}")
_EMAIL = re.compile(r"[^@\s/]+@[^@\s/.]+(\.[^@\s/.]+)+")
LONGEST_EMAIL, LONGEST_URL = 320, 2_000
"""The limits of valid addresses, in bytes and in characters."""


def is_email(text: str) -> bool:
    return len(text.encode("utf-8", "replace")) <= LONGEST_EMAIL and bool(_EMAIL.fullmatch(text))


def is_number(text: str) -> bool:
    """Whether the text has the form of a HubSpot id."""
    return bool(_NUMBER.fullmatch(text))


def id_of(kind: Kind, value: object) -> str:
    """The id in a number, URL or email address; an empty text stays empty."""
    text = str(value).strip()
    if link := _URL.match(text[:LONGEST_URL]):
        return _id_in(link, kind)
    if not text or is_number(text) or (kind is CONTACTS and is_email(text)):
        return text
    accepted = "a number, an email address or a URL" if kind is CONTACTS else "a number or a URL"
    raise ValueError(f"must be {accepted}; `hubspot_search_{kind.plural}` finds {kind.plural} by name")


def _id_in(link: re.Match[str], kind: Kind) -> str:
    type_id, word, record_id = link.groups()
    linked_kind = next((kind for kind in KINDS.values() if type_id == kind.type_id or word == kind.singular), None)
    if linked_kind is None:
        raise ValueError(f"must be the URL of a {kind.singular}; this URL is of another kind")
    if linked_kind is not kind:
        raise ValueError(
            f"must be the URL of a {kind.singular}; "
            f"`hubspot_get_{linked_kind.singular}` reads this URL of a {linked_kind.singular}"
        )
    return record_id


ContactId = Annotated[str, BeforeValidator(lambda value: id_of(CONTACTS, value))]
CompanyId = Annotated[str, BeforeValidator(lambda value: id_of(COMPANIES, value))]
DealId = Annotated[str, BeforeValidator(lambda value: id_of(DEALS, value))]


_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?P<time>[T ]\d{2}:\d{2}[0-9:.]*(Z|[+-]\d{2}:?\d{2})?)?")
_MILLISECONDS = re.compile(r"[0-9]{12,13}")
_DAY = timedelta(days=1) / timedelta(milliseconds=1)
ACCEPTED_FORMS = "give a day as 2026-11-30, or a time as 2026-11-30T15:00:00Z"


@dataclass(frozen=True)
class Span:
    """The first and last millisecond of a period, in epoch time; both are equal for a point in time."""

    first: int
    last: int

    @property
    def is_day(self) -> bool:
        return self.last > self.first


def span(text: str) -> Span:
    """The period of a day in UTC, or of a point in time."""
    if _MILLISECONDS.fullmatch(text):
        return Span(int(text), int(text))
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"“{text}” is not a date: {ACCEPTED_FORMS}")
    first = _milliseconds(text)
    return Span(first, first if match["time"] else first + int(_DAY) - 1)


def _milliseconds(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"there is no such date as {text}") from error
    return int(in_utc(moment).timestamp() * 1000)
