"""What does a model read of PostHog's objects: a few facts each, a link, and where the rest is?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from integrations.reading import one_line, shortened
from integrations.tool import Json, Result

ROOM, MOST_BYTES = 40_000, 150_000
LONGEST_LINE, LONGEST_PROSE, LONGEST_JSON = 300, 3_000, 8_000
MEASURES = ((4_000, 300), (800, 100), (200, 40), (100, 15), (50, 5), (30, 2))
"""How long a text and a list may be, tried one after the other until all of it has room."""
SECRETS = frozenset({"secret_api_token", "secret_api_token_backup", "live_events_token", "temporary_token"})
"""What PostHog tells with other things, and nobody needs in order to read."""
DEEPEST = 12
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2})[0-9:.]*(Z|\+00:00)?")


def line(value: object) -> object:
    return shortened(one_line(value), LONGEST_LINE) or None if isinstance(value, str) else value


def prose(value: object) -> object:
    return shortened(value.strip(), LONGEST_PROSE) or None if isinstance(value, str) else value


def who(value: object) -> object:
    """A person, as PostHog's objects name those who made them."""
    return value.get("email") or value.get("first_name") if isinstance(value, dict) else value


Line = Annotated[str | None, BeforeValidator(line)]
Prose = Annotated[str | None, BeforeValidator(prose)]
Who = Annotated[str | None, BeforeValidator(who)]


class Part(BaseModel):
    """Of an object; an object of PostHog's is read by its own names."""

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


class Item(Part):
    """Its text is made of its fields, in their order, so that none is told in one place alone."""

    apart: ClassVar[tuple[str, ...]] = ("description",)
    """Fields with a line of their own."""
    headed: ClassVar[tuple[str, ...]] = ("id", "name")
    """Fields that the heading tells."""

    id: str
    url: str
    full: Json | None = Field(default=None, description="PostHog's own object, long parts cut.")

    def heading(self) -> str:
        return f"{getattr(self, 'name', None) or '(without a name)'} (id {self.id})"

    def text(self) -> str:
        own = [told for name in self.apart if (told := _told(name, getattr(self, name), apart=True))]
        facts = " · ".join(_facts(self, (*self.headed, "url", "full", *self.apart)))
        return "\n  ".join(
            each for each in (self.heading(), *own, facts, self.url, written(self.full, MOST_BYTES)) if each
        )


class Answer(Result):
    """About one project, which is told even where nobody has said which."""

    project_id: str
    notes: list[str] = Field(default=[], description="What is particular about this answer.")


S = TypeVar("S", bound=Item)


class Page(Answer, Generic[S]):
    what: ClassVar[tuple[str, str]]
    """One of them, and many."""
    hint: ClassVar[str] = ""
    """Where there is nothing."""
    going_on: ClassVar[str] = "offset"

    total: int | None = Field(default=None, description="How many there are in all, where PostHog tells.")
    next_cursor: str | None = Field(default=None, description="Pass it as `offset`, all else the same, to go on.")

    results: list[S]

    def text(self) -> str:
        following = f"There are more: ask again with {self.going_on} {self.next_cursor}." if self.next_cursor else ""
        parts = (self._head(), *self.notes, *(item.text() for item in self.results), following)
        return "\n\n".join(part for part in parts if part)

    def _head(self) -> str:
        number = len(self.results)
        if not number:
            return f"No {self.what[1]} in project {self.project_id}. {self.hint}".strip()
        of_all = f" of {self.total}" if self.total and self.total > number else ""
        return f"{number}{of_all} {self.what[number > 1 or bool(of_all)]} in project {self.project_id}:"


def fitting(items: Sequence[Item]) -> int:
    """How many have room in one answer; one at least, which has bounds of its own."""
    room, bytes_left = ROOM, MOST_BYTES
    for index, item in enumerate(items):
        room -= len(item.text())
        bytes_left -= len(item.model_dump_json(by_alias=True, exclude_none=True).encode())
        if index and (room < 0 or bytes_left < 0):
            return index
    return len(items)


def fitted(value: Any, room: int = MOST_BYTES // 3) -> tuple[Any, bool]:
    """JSON that is no longer than there is room, and whether something was cut for that."""
    plain = pruned(value, 10**9, 10**9)
    if _size(plain) <= room:
        return plain, False
    for text, length in MEASURES:
        cut = pruned(value, text, length)
        if _size(cut) <= room:
            return cut, True
    return shortened(json.dumps(plain, ensure_ascii=False), room // 2), True


def pruned(value: Any, text: int, length: int, depth: int = DEEPEST) -> Any:
    """Without secrets; what is cut is told where it was."""
    if isinstance(value, str):
        return value if len(value) <= text else f"{value[:text]}… [{len(value) - text} more characters]"
    if not depth and isinstance(value, dict | list):
        return "[deeper than is shown]"
    if isinstance(value, dict):
        kept = [(name, each) for name, each in value.items() if name not in SECRETS]
        more = {"…": f"{len(kept) - length} more fields"} if len(kept) > length else {}
        return {name: pruned(each, text, length, depth - 1) for name, each in kept[:length]} | more
    if isinstance(value, list):
        rest = [f"[{len(value) - length} more]"] if len(value) > length else []
        return [pruned(each, text, length, depth - 1) for each in value[:length]] + rest
    return value


def written(value: object, most: int = LONGEST_JSON) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), most) if value is not None else ""


def clock(text: str) -> str:
    """A time to the minute. Its zone is told where it is not UTC."""
    return _TIME.sub(r"\1 \2", text)


def _facts(part: Part, apart: tuple[str, ...]) -> Iterator[str]:
    for name in type(part).model_fields:
        if name not in apart and (told := _told(name, getattr(part, name))):
            yield told


def _told(name: str, value: object, *, apart: bool = False) -> str:
    """With its name, except for a description. Where there is room, several are told one below the other."""
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
            return clock(str(value))


def _compound(value: Part | list[Any] | Json) -> str:
    if isinstance(value, Part):
        return value.text()
    if isinstance(value, dict):
        return written(value)
    if value and isinstance(value[0], Part):
        return _listed(value)
    return ", ".join(written(each) if isinstance(each, dict) else str(each) for each in value)


def _listed(values: Sequence[Any]) -> str:
    return "".join(f"\n    - {each.text() if isinstance(each, Part) else each}" for each in values)


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())
