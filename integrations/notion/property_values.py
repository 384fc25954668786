"""Values of properties: in plain words for models, and in Notion's form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from integrations.json_object import Json
from integrations.notion.markdown.rich_text import plain_text, to_markdown, unformatted
from integrations.notion.parsing import page_id
from integrations.text import shortened

READ_ONLY = (
    *("formula", "rollup", "created_time", "created_by", "last_edited_time", "last_edited_by", "unique_id", "button"),
    "last_visited_time",
)
"""Notion computes these."""
TRUE, FALSE = ("true", "yes", "1", "x", "__yes__"), ("false", "no", "0", "", "__no__")
PAGES = "must be ids of pages: `notion_search` finds the id of a page by title"
LONGEST_SAID = 60
LONGEST_NUMBER = 400
MOST_AT_ONCE = 100
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?))?"
)

FindPerson = Callable[[str], str]
"""Returns the id of the person with this name or id."""


class InvalidValue(ValueError):
    """Why a value is not valid, as a text for models."""


def readable_values(properties: Mapping[str, Json]) -> Json:
    """The values by name, without empty ones."""
    values = {name: value_of(value) for name, value in properties.items() if value.get("type") != "title"}
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def title_of(properties: Mapping[str, Json]) -> str:
    titles = (property_.get("title") for property_ in properties.values() if property_.get("type") == "title")
    return plain_text(next(titles, None)) or "Untitled"


def value_of(found: Json) -> Any:
    kind = str(found.get("type"))
    value = found.get(kind)
    read = _READERS.get(kind)
    return read(value) if read and value else (value if read is None else None)


def _person(found: Json) -> str:
    return str(found.get("name") or found.get("id") or "")


def _file(found: Json) -> str:
    where = found.get(str(found.get("type"))) or {}
    return str(where.get("url") or found.get("name") or "")


def _date(found: Json) -> str:
    end = f"/{found['end']}" if found.get("end") else ""
    return f"{found.get('start')}{end}"


def _rollup(found: Json) -> Any:
    return [value_of(item) for item in found.get("array", [])] if found.get("type") == "array" else value_of(found)


def _serial(found: Json) -> str | None:
    if found.get("number") is None:
        return None
    return f"{found['prefix']}-{found['number']}" if found.get("prefix") else str(found["number"])


def _name(found: Json) -> Any:
    return found.get("name") or found.get("address") or found.get("state")


def _each(read: Callable[[Json], Any]) -> Callable[[list[Json]], Any]:
    return lambda found: [read(item) for item in found]


_READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("title", "rich_text"), to_markdown),
    **dict.fromkeys(("select", "status", "verification", "place"), _name),
    **dict.fromkeys(("created_by", "last_edited_by"), _person),
    "multi_select": _each(_name),
    "people": _each(_person),
    "relation": _each(lambda found: found.get("id")),
    "files": _each(_file),
    "date": _date,
    "formula": value_of,
    "rollup": _rollup,
    "unique_id": _serial,
    "button": lambda _: None,
}


def to_notion(kind: str, value: Any, who: FindPerson = page_id) -> Json:
    """`value` is in plain words or in Notion's form."""
    if kind in READ_ONLY:
        raise InvalidValue("Notion sets this property; it cannot be written")
    given = value[kind] if isinstance(value, dict) and kind in value else _unwrapped(value)
    if kind == "people":
        return {kind: _people(given, who)}
    write = _WRITERS.get(kind)
    if write is None and given is value:
        raise InvalidValue(f'must be in the form of Notion, {{"{kind}": …}}')
    return {kind: write(given) if write else given}


def quoted(value: object) -> str:
    """A value as an error text repeats it."""
    return shortened(str(value), LONGEST_SAID)


def parse_moment(value: Any) -> str:
    """An existing day, or a time of one."""
    found = _MOMENT.fullmatch(value.strip()) if isinstance(value, str) and len(value) <= LONGEST_SAID else None
    text = "T".join(filter(None, found.groups())) if found else ""
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidValue(f"{quoted(value)} is not a date: write 2026-12-01, or 2026-12-01T09:00:00Z") from error
    return text


def parse_number(value: Any) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > LONGEST_NUMBER:
        raise InvalidValue(f"{quoted(value)} is not a number")
    try:
        number = float(value)
    except (ValueError, OverflowError) as error:
        raise InvalidValue(f"{quoted(value)} is not a number, such as 12.5") from error
    if not math.isfinite(number):
        raise InvalidValue(f"{quoted(value)} is not a number that Notion can store")
    return int(number) if number.is_integer() else number


def _unwrapped(value: Any) -> Any:
    """The value of `{"select": {"name": "Done"}}`, which models also write for a status."""
    if not isinstance(value, dict):
        return value
    inside = [item for name, item in value.items() if name in _WRITERS]
    return inside[0] if len(inside) == 1 and value.keys() <= {"type", *_WRITERS} else value


def _text(value: Any) -> list[Json]:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    return unformatted(_string(value)) if value is not None else []


def _line(value: Any) -> str | None:
    return None if value in (None, "") else _string(value)


def _number(value: Any) -> float | int | None:
    return None if value in (None, "") else parse_number(value)


def _checkbox(value: Any) -> bool:
    word = str(value).lower()
    if word not in (*TRUE, *FALSE):
        raise InvalidValue("must be true or false")
    return word in TRUE


def _option(value: Any) -> Json | None:
    return None if value in (None, "") else _named(value)


def _options(value: Any) -> list[Json]:
    return [_named(item) for item in _several(value)]


def _named(value: Any) -> Json:
    if isinstance(value, dict):
        return value
    name = _string(value)
    if "," in name:
        raise InvalidValue("the name of an option must not contain a comma")
    return {"name": name}


def _when(value: Any) -> Json | None:
    if value in (None, ""):
        return None
    if isinstance(value, dict):
        return _dates(value)
    start, _, end = _string(value).replace(" → ", "/").replace(" to ", "/").partition("/")
    try:
        return {"start": parse_moment(start)} | ({"end": parse_moment(end)} if end else {})
    except InvalidValue as unfit:
        raise InvalidValue(f"{quoted(value)} is not a date: write 2026-12-01, or 2026-12-01/2026-12-05") from unfit


def _dates(value: Json) -> Json:
    return {name: parse_moment(item) if item and name in ("start", "end") else item for name, item in value.items()}


def _refer(value: Any) -> list[Json]:
    return [item if isinstance(item, dict) else {"id": _id(item)} for item in _several(value)]


def _people(value: Any, who: FindPerson) -> list[Json]:
    """A text is tried as one name, which may contain a comma, then as several. Duplicates are removed."""
    try:
        found = [_person_of(value, who)] if isinstance(value, str) and value.strip() else None
    except InvalidValue:
        if "," not in value:
            raise
        found = None
    found = found or [_person_of(item, who) for item in _several(value)]
    return list({item.get("id", number): item for number, item in enumerate(found)}.values())


def _person_of(value: Any, who: FindPerson) -> Json:
    if isinstance(value, dict) and not isinstance(value.get("name"), str):
        return value
    named = value.get("id") or value["name"] if isinstance(value, dict) else value
    return {"object": "user", "id": who(_string(named))}


def _id(value: Any) -> str:
    try:
        return page_id(value)
    except ValueError as error:
        raise InvalidValue(PAGES) from error


def _files(value: Any) -> list[Json]:
    return [item if isinstance(item, dict) else _external(_string(item)) for item in _several(value)]


def _external(url: str) -> Json:
    return {"type": "external", "name": url.rpartition("/")[2][:100] or "file", "external": {"url": url}}


def _several(value: Any) -> list[Any]:
    if value in (None, ""):
        return []
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",", MOST_AT_ONCE + 1) if word.strip()]
    several = value if isinstance(value, list) else [value]
    if len(several) > MOST_AT_ONCE:
        raise InvalidValue(f"takes at most {MOST_AT_ONCE} values")
    return several


def _string(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidValue("must be a text")
    return str(value)


_WRITERS: Mapping[str, Callable[[Any], Any]] = {
    "title": _text,
    "rich_text": _text,
    "number": _number,
    "checkbox": _checkbox,
    "select": _option,
    "status": _option,
    "multi_select": _options,
    "date": _when,
    "relation": _refer,
    "files": _files,
    "url": _line,
    "email": _line,
    "phone_number": _line,
}
