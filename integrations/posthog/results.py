"""The results that tools return for PostHog's objects, and their text: facts, a link, and notes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from integrations.json_object import Json
from integrations.posthog.truncation import MOST_BYTES, is_representable
from integrations.text import clip, more_follow, one_line, shorten
from integrations.tool import Result

ROOM = 40_000
PAST_THE_END = "There are no more results from this `offset`."
LONGEST_LINE, LONGEST_PROSE, LONGEST_JSON = 300, 3_000, 8_000
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)


def line(value: object) -> object:
    return clip(one_line(value), LONGEST_LINE) or None if isinstance(value, str) else value


def prose(value: object) -> object:
    return clip(value.strip(), LONGEST_PROSE) or None if isinstance(value, str) else value


def who(value: object) -> object:
    """The name of the person in a `created_by` field."""
    return value.get("email") or value.get("first_name") if isinstance(value, dict) else value


def finite(value: object) -> object:
    return value if not isinstance(value, int | float) or is_representable(value) else None


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

    separate_fields: ClassVar[tuple[str, ...]] = ("description",)
    """Fields that have their own line."""
    heading_fields: ClassVar[tuple[str, ...]] = ("id", "name")
    """Fields that are part of the heading."""

    id: str
    url: str
    full: Json | None = Field(default=None, description="PostHog's complete object, with long parts cut.")

    def heading(self) -> str:
        return f"{getattr(self, 'name', None) or '(unnamed)'} (id {self.id})"

    def text(self) -> str:
        separate_lines = [
            text for name in self.separate_fields if (text := _field_text(name, getattr(self, name), is_separate=True))
        ]
        facts = " · ".join(_facts(self, (*self.heading_fields, "url", "full", *self.separate_fields)))
        return "\n  ".join(
            text_line
            for text_line in (self.heading(), *separate_lines, facts, self.url, to_json(self.full, MOST_BYTES))
            if text_line
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
    other_hint: ClassVar[str] = ""
    """What else could be requested, shown if nothing matches."""
    other_parameter: ClassVar[str] = ""
    """The parameter that already requests it."""
    reader: ClassVar[str] = ""
    """The tool that reads one object."""
    name_field: ClassVar[str] = "name"
    """The field that identifies an object; empty if there are too many objects to search for similar ones."""
    cursor_parameter: ClassVar[str] = "offset"

    total: int | None = Field(default=None, description="The total number of results, if PostHog gives it.")
    next_cursor: str | None = Field(
        default=None, description="Pass it as `offset`, with the other arguments unchanged, for the next page."
    )

    results: list[S]

    def text(self) -> str:
        paragraphs = (self._head(), *self.notes, *(item.text() for item in self.results), self._next_note())
        return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)

    def _head(self) -> str:
        number = len(self.results)
        of_all = f" of {self.total}" if self.total and self.total > number else ""
        more = ", and more follow" if self.next_cursor and not of_all else ""
        no_results = "No more" if self.total or PAST_THE_END in self.notes else "No"
        count_text = f"{number or no_results}{of_all if number else ''} {self.what[number != 1 or bool(of_all)]}"
        return f"{count_text} in project {self.project_id}{more}{':' if number else '.'}"

    def _next_note(self) -> str:
        value = self.next_cursor
        return "" if value is None else more_follow(self.cursor_parameter, int(value) if value.isdecimal() else value)


def fitting(items: Sequence[PostHogObject]) -> int:
    """The number of objects that fit in one result; at least one, since each is bounded."""
    room, bytes_left = ROOM, MOST_BYTES
    for index, item in enumerate(items):
        room -= len(item.text())
        bytes_left -= len(item.model_dump_json(by_alias=True, exclude_none=True).encode())
        if index and (room < 0 or bytes_left < 0):
            return index
    return len(items)


def to_json(value: object, most: int = LONGEST_JSON) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), most) if value is not None else ""


def clock(text: str, *, seconds: bool = False) -> str:
    """A time with its zone, to the minute; any other text unchanged."""
    match = _TIME.fullmatch(text)
    if not match:
        return text
    zone = {"Z": " UTC", "+00:00": " UTC", None: ""}.get(match[4], f" {match[4]}")
    return f"{match[1]} {match[2]}{(match[3] or '') if seconds else ''}{zone}"


def _facts(part: Part, apart: tuple[str, ...]) -> Iterator[str]:
    for name in type(part).model_fields:
        if name not in apart and (text := _field_text(name, getattr(part, name))):
            yield text


def _field_text(name: str, value: object, *, is_separate: bool = False) -> str:
    """A field with its name, which a description omits; with `is_separate`, lists have one line per item."""
    if is_separate and isinstance(value, str):
        text = value.replace("\n", "\n    ")  # so that no line of it can imitate a line of ours
    else:
        text = _bullets(value) if is_separate and isinstance(value, list) else _value_text(value)
    if name == "description" or not text:
        return text
    return f"{name.replace('_', ' ')}:{'' if text[0].isspace() else ' '}{text}"


def _value_text(value: object) -> str:
    if value in (None, "", [], {}):
        return ""
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case Part() | list() | dict():
            return _compound_text(value)
        case _:
            return clock(one_line(str(value)))


def _compound_text(value: Part | list[Any] | Json) -> str:
    if isinstance(value, Part):
        return value.text()
    if isinstance(value, dict):
        return to_json(value)
    if value and isinstance(value[0], Part):
        return _bullets(value)
    words = [to_json(item) if isinstance(item, dict) else one_line(str(item)) for item in value]
    return (
        ", ".join(json.dumps(word, ensure_ascii=False) for word in words) if _need_quotes(words) else ", ".join(words)
    )


def _need_quotes(words: Sequence[str]) -> bool:
    """Whether commas alone cannot separate the items."""
    return len(words) > 1 and any("," in word for word in words) and not words[0].startswith("{")


def _bullets(values: Sequence[Any]) -> str:
    return "".join(f"\n    - {value.text() if isinstance(value, Part) else one_line(str(value))}" for value in values)
