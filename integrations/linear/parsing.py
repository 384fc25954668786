"""Parsing of arguments: ids, identifiers, names, URLs, priorities and times in the forms that models write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BeforeValidator, Field, StringConstraints

from integrations.json_object import Json
from integrations.times import parse_ago

MAX_WORD = 200
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
IDENTIFIER = re.compile(r"([A-Za-z][A-Za-z0-9]{0,9})[- ]([0-9]{1,9})")
LOOSE_IDENTIFIER = re.compile(r"#?(?:([A-Za-z][A-Za-z0-9]{0,9})[- ]|([A-Za-z]{1,10}))([0-9]{1,9})")
SLUG_ID = re.compile(r"(?:.*-)?([0-9a-f]{12})")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]{5,15}(Z|[+-][0-9]{2}:?[0-9]{2})?)?")
DURATION = re.compile(r"-?P[0-9YMWDTHS.]{2,20}")
LAST = re.compile(r"(?:the )?(?:last|past) (day|week|month|year)", re.IGNORECASE)
A_PRIORITY = re.compile(r"([0-4])(?:\.0+)?")
AMBIGUOUS_M = "must not use `m`: for months write 2 months; minutes are not supported, hours are, such as 24h"
LINK_KINDS = frozenset({"team", "project", "issue", "profiles"})
MOST_WORDS = 10
PRIORITIES = ("none", "urgent", "high", "medium", "low")
OTHER_PRIORITIES: Mapping[str, str] = {"no priority": "none", "normal": "medium", "critical": "urgent"}


def unwrap(value: object) -> object:
    """Unwrap a list of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def from_url(value: object) -> object:
    """The target of a link to Linear; other values are unchanged, and an empty text becomes None."""
    value = unwrap(value)
    if not isinstance(value, str):
        return value
    place = _place(value)
    return place[1] if place else value.strip() or None


def several(value: object) -> object:
    """One word or a list of words as a tuple, or None."""
    values = value if isinstance(value, list) else [value]
    if len(values) > MOST_WORDS:
        raise ValueError(f"must have {MOST_WORDS} entries at most")
    return tuple(word for word in map(from_url, values) if word is not None) or None


def identifier(value: object) -> object:
    """`ENG-123` from `eng 123`, `ENG123`, `#ENG-123` or a link."""
    place = _place(value) if isinstance(value, str) else None
    if place and place[0] != "issue":
        raise ValueError(f"must be an issue such as ENG-123; this is a link to a {place[0].removesuffix('s')}")
    target = from_url(value)
    match = LOOSE_IDENTIFIER.fullmatch(target) if isinstance(target, str) else None
    return f"{(match[1] or match[2]).upper()}-{match[3]}" if match else target


def _place(text: str) -> tuple[str, str] | None:
    """The kind and the id of a link's target."""
    try:
        url = urlsplit(text.strip())
    except ValueError:
        return None
    if url.scheme not in ("http", "https") or not f".{url.hostname}".endswith(".linear.app"):
        return None
    steps = [unquote(step) for step in url.path.split("/") if step]
    return next(((step, after) for step, after in pairwise(steps) if step in LINK_KINDS), None)


def issue_word(value: object) -> object:
    """The identifier of a required issue."""
    return identifier(value) or ""


def since(value: object) -> object:
    """A time, or an ISO 8601 duration before now."""
    text = value.strip() if isinstance(value, str) else value
    if not isinstance(text, str) or not text:
        return text or None
    if (ago := parse_ago(text)) and ago.unit != "minute":
        if ago.unit is None:
            raise ValueError(AMBIGUOUS_M)
        return f"-PT{ago.number}H" if ago.unit == "hour" else f"-P{ago.number}{ago.unit[0].upper()}"
    if last := LAST.fullmatch(text):
        return f"-P1{last[1][0].upper()}"
    if DURATION.fullmatch(text):
        return f"-{text.removeprefix('-')}"
    if DATE.fullmatch(text):
        return text
    raise ValueError(
        "must be a date such as 2026-11-01, a time such as 2026-11-01T09:00:00Z, "
        "or a duration before now such as 24h or 7d"
    )


def priority(value: object) -> object:
    value = unwrap(value)
    if isinstance(value, int) and value not in range(len(PRIORITIES)):
        return "no such priority"
    text = str(value).strip().lower() if isinstance(value, str | int | float) else value
    if not isinstance(text, str):
        return value
    if number := A_PRIORITY.fullmatch(text):
        return PRIORITIES[int(number[1])]
    return OTHER_PRIORITIES.get(text, text) or None


def order(value: object) -> object:
    """Accepts `created`, `created_at` and similar spellings."""
    text = value.strip().lower() if isinstance(value, str) else ""
    return next((name for name in ("createdAt", "updatedAt") if text.startswith(name[:5].lower())), value)


def plain(schema: Json) -> None:
    """Show an optional parameter with the schema of its value."""
    schema.pop("default", None)
    for kind in schema.pop("anyOf", []):
        schema.update(kind if kind != {"type": "null"} else {})


def text_of(schema: Json) -> None:
    """The schema shows one word, although lists are accepted."""
    plain(schema)
    schema.pop("items", None)
    schema |= {"type": "string", "maxLength": MAX_WORD}


_PLAIN = Field(default=None, json_schema_extra=plain)
_Text = Annotated[str, StringConstraints(max_length=MAX_WORD)]
Word = Annotated[_Text | None, BeforeValidator(from_url), _PLAIN]
Several = Annotated[tuple[_Text, ...] | None, BeforeValidator(several), Field(default=None, json_schema_extra=text_of)]
IssueWord = Annotated[_Text | None, BeforeValidator(identifier), _PLAIN]
Since = Annotated[_Text | None, BeforeValidator(since), _PLAIN]
Cursor = Annotated[_Text | None, BeforeValidator(lambda value: value or None), _PLAIN]
Priority = Annotated[
    Literal["none", "urgent", "high", "medium", "low"] | None,
    BeforeValidator(priority),
    _PLAIN,
]
