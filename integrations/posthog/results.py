"""The results that tools return for PostHog's objects, and their text: facts, a link, and notes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from integrations.json_object import Json
from integrations.posthog.truncation import MOST_BYTES, is_finite
from integrations.text import clipped, more_follow, one_line, shortened
from integrations.tool import Result

ROOM = 40_000
PAST_THE_END = "There are no more results from this `offset`."
LONGEST_LINE, LONGEST_PROSE, LONGEST_JSON = 300, 3_000, 8_000
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)


def line(value: object) -> object:
    return clipped(one_line(value), LONGEST_LINE) or None if isinstance(value, str) else value


def prose(value: object) -> object:
    return clipped(value.strip(), LONGEST_PROSE) or None if isinstance(value, str) else value


def who(value: object) -> object:
    """The name of the person in a `created_by` field."""
    return value.get("email") or value.get("first_name") if isinstance(value, dict) else value


def finite(value: object) -> object:
    return value if not isinstance(value, int | float) or is_finite(value) else None


Line = Annotated[str | None, BeforeValidator(line)]
Prose = Annotated[str | None, BeforeValidator(prose)]
Who = Annotated[str | None, BeforeValidator(who)]
Number = Annotated[float | None, BeforeValidator(finite)]
Count = Annotated[int | None, BeforeValidator(finite)]
Unusual = Annotated[bool | None, BeforeValidator(lambda value: value or None)]
"""A flag that is only shown if true, because it rarely is."""


class Part(BaseModel):
    """A part of a PostHog object, parsed with PostHog's own field names."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        coerce_numbers_to_str=True,
    )

    def text(self) -> str:
        return " · ".join(_facts(self, ()))


class PostHogObject(Part):
    """An object whose text consists of its fields in order, so that text and structure agree."""

    apart: ClassVar[tuple[str, ...]] = ("description",)
    """Fields that have their own line."""
    headed: ClassVar[tuple[str, ...]] = ("id", "name")
    """Fields that are part of the heading."""

    id: str
    url: str
    full: Json | None = Field(default=None, description="PostHog's complete object, with long parts cut.")

    def heading(self) -> str:
        return f"{getattr(self, 'name', None) or '(unnamed)'} (id {self.id})"

    def text(self) -> str:
        own = [told for name in self.apart if (told := _told(name, getattr(self, name), apart=True))]
        facts = " · ".join(_facts(self, (*self.headed, "url", "full", *self.apart)))
        return "\n  ".join(
            line for line in (self.heading(), *own, facts, self.url, written(self.full, MOST_BYTES)) if line
        )


class Answer(Result):
    """A result about one project, which it always names."""

    project_id: str
    notes: list[str] = Field(default=[], description="Remarks on this result.")


S = TypeVar("S", bound=PostHogObject)


class Page(Answer, Generic[S]):
    what: ClassVar[tuple[str, str]]
    """The singular and plural nouns."""
    hint: ClassVar[str] = ""
    """What `search` covers, shown if it matches nothing."""
    besides: ClassVar[str] = ""
    """What else could be requested, shown if nothing matches."""
    unless: ClassVar[str] = ""
    """The parameter that already requests it."""
    reader: ClassVar[str] = ""
    """The tool that reads one object."""
    named: ClassVar[str] = "name"
    """The field that identifies an object; empty if there are too many objects to search for similar ones."""
    going_on: ClassVar[str] = "offset"

    total: int | None = Field(default=None, description="The total number of results, if PostHog gives it.")
    next_cursor: str | None = Field(
        default=None, description="Pass it as `offset`, with the other arguments unchanged, for the next page."
    )

    results: list[S]

    def text(self) -> str:
        parts = (self._head(), *self.notes, *(item.text() for item in self.results), self._following())
        return "\n\n".join(part for part in parts if part)

    def _head(self) -> str:
        number = len(self.results)
        of_all = f" of {self.total}" if self.total and self.total > number else ""
        more = ", and more follow" if self.next_cursor and not of_all else ""
        none = "No more" if self.total or PAST_THE_END in self.notes else "No"
        counted = f"{number or none}{of_all if number else ''} {self.what[number != 1 or bool(of_all)]}"
        return f"{counted} in project {self.project_id}{more}{':' if number else '.'}"

    def _following(self) -> str:
        value = self.next_cursor
        return "" if value is None else more_follow(self.going_on, int(value) if value.isdecimal() else value)


def fitting(items: Sequence[PostHogObject]) -> int:
    """How many objects fit in one result; at least one, whose size is bounded."""
    room, bytes_left = ROOM, MOST_BYTES
    for index, item in enumerate(items):
        room -= len(item.text())
        bytes_left -= len(item.model_dump_json(by_alias=True, exclude_none=True).encode())
        if index and (room < 0 or bytes_left < 0):
            return index
    return len(items)


def written(value: object, most: int = LONGEST_JSON) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), most) if value is not None else ""


def clock(text: str, *, seconds: bool = False) -> str:
    """A time with its zone, to the minute; any other text unchanged."""
    found = _TIME.fullmatch(text)
    if not found:
        return text
    zone = {"Z": " UTC", "+00:00": " UTC", None: ""}.get(found[4], f" {found[4]}")
    return f"{found[1]} {found[2]}{(found[3] or '') if seconds else ''}{zone}"


def _facts(part: Part, apart: tuple[str, ...]) -> Iterator[str]:
    for name in type(part).model_fields:
        if name not in apart and (told := _told(name, getattr(part, name))):
            yield told


def _told(name: str, value: object, *, apart: bool = False) -> str:
    """A field with its name, which a description omits; with `apart`, lists have one line per item."""
    if apart and isinstance(value, str):
        text = value.replace("\n", "\n    ")  # no line of it may look like one of ours
    else:
        text = _listed(value) if apart and isinstance(value, list) else _worded(value)
    if name == "description" or not text:
        return text
    return f"{name.replace('_', ' ')}:{'' if text[0].isspace() else ' '}{text}"


def _worded(value: object) -> str:
    if value in (None, "", [], {}):
        return ""
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case Part() | list() | dict():
            return _compound(value)
        case _:
            return clock(one_line(str(value)))


def _compound(value: Part | list[Any] | Json) -> str:
    if isinstance(value, Part):
        return value.text()
    if isinstance(value, dict):
        return written(value)
    if value and isinstance(value[0], Part):
        return _listed(value)
    words = [written(item) if isinstance(item, dict) else one_line(str(item)) for item in value]
    return (
        ", ".join(json.dumps(word, ensure_ascii=False) for word in words) if _run_together(words) else ", ".join(words)
    )


def _run_together(words: Sequence[str]) -> bool:
    """Whether commas alone cannot separate the items."""
    return len(words) > 1 and any("," in word for word in words) and not words[0].startswith("{")


def _listed(values: Sequence[Any]) -> str:
    return "".join(f"\n    - {value.text() if isinstance(value, Part) else one_line(str(value))}" for value in values)
