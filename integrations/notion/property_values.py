"""Conversion of property values between the readable form for models and Notion's form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from integrations.json_object import Json
from integrations.notion.markdown.rich_text import plain_rich_text, plain_text, to_markdown
from integrations.notion.parsing import page_id
from integrations.text import shorten

READ_ONLY = (
    *("formula", "rollup", "created_time", "created_by", "last_edited_time", "last_edited_by", "unique_id", "button"),
    "last_visited_time",
)
"""Kinds of properties that Notion computes."""
TRUE, FALSE = ("true", "yes", "1", "x", "__yes__"), ("false", "no", "0", "", "__no__")
PAGE_IDS_NEEDED = "must be ids of pages: `notion_search` finds the id of a page by title"
MAX_QUOTE_LENGTH = 60
MAX_NUMBER_LENGTH = 400
MAX_VALUES = 100
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?))?"
)

FindPerson = Callable[[str], str]
"""Returns the id of the person with this name or id."""


class InvalidValue(ValueError):
    """A value is not valid; the text tells a model the reason."""


def readable_values(properties: Mapping[str, Json]) -> Json:
    """The readable values by name, without empty ones."""
    values = {name: value_of(value) for name, value in properties.items() if value.get("type") != "title"}
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def title_of(properties: Mapping[str, Json]) -> str:
    titles = (property_.get("title") for property_ in properties.values() if property_.get("type") == "title")
    return plain_text(next(titles, None)) or "Untitled"


def value_of(property_value: Json) -> Any:
    kind = str(property_value.get("type"))
    value = property_value.get(kind)
    read = _READERS.get(kind)
    return read(value) if read and value else (value if read is None else None)


def _person(user: Json) -> str:
    return str(user.get("name") or user.get("id") or "")


def _file(file: Json) -> str:
    content = file.get(str(file.get("type"))) or {}
    return str(content.get("url") or file.get("name") or "")


def _date(date: Json) -> str:
    end = f"/{date['end']}" if date.get("end") else ""
    return f"{date.get('start')}{end}"


def _rollup(rollup: Json) -> Any:
    return [value_of(item) for item in rollup.get("array", [])] if rollup.get("type") == "array" else value_of(rollup)


def _serial(serial: Json) -> str | None:
    if serial.get("number") is None:
        return None
    return f"{serial['prefix']}-{serial['number']}" if serial.get("prefix") else str(serial["number"])


def _name(option: Json) -> Any:
    return option.get("name") or option.get("address") or option.get("state")


def _list_reader(read: Callable[[Json], Any]) -> Callable[[list[Json]], Any]:
    return lambda items: [read(item) for item in items]


_READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("title", "rich_text"), to_markdown),
    **dict.fromkeys(("select", "status", "verification", "place"), _name),
    **dict.fromkeys(("created_by", "last_edited_by"), _person),
    "multi_select": _list_reader(_name),
    "people": _list_reader(_person),
    "relation": _list_reader(lambda page: page.get("id")),
    "files": _list_reader(_file),
    "date": _date,
    "formula": value_of,
    "rollup": _rollup,
    "unique_id": _serial,
    "button": lambda _: None,
}


def to_notion(kind: str, value: Any, who: FindPerson = page_id) -> Json:
    """A value in Notion's form, from the readable form or from Notion's."""
    if kind in READ_ONLY:
        raise InvalidValue("Notion sets this property; it cannot be written")
    inner_value = value[kind] if isinstance(value, dict) and kind in value else _unwrap(value)
    if kind == "people":
        return {kind: _people(inner_value, who)}
    write = _WRITERS.get(kind)
    if write is None and inner_value is value:
        raise InvalidValue(f'must be in the form of Notion, {{"{kind}": …}}')
    return {kind: write(inner_value) if write else inner_value}


def quote(value: object) -> str:
    """A value, shortened for an error text."""
    return shorten(str(value), MAX_QUOTE_LENGTH)


def parse_moment(value: Any) -> str:
    """Validate a date or a time, and normalise its form."""
    match = _MOMENT.fullmatch(value.strip()) if isinstance(value, str) and len(value) <= MAX_QUOTE_LENGTH else None
    text = "T".join(filter(None, match.groups())) if match else ""
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidValue(f"{quote(value)} is not a date: write 2026-12-01, or 2026-12-01T09:00:00Z") from error
    return text


def parse_number(value: Any) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > MAX_NUMBER_LENGTH:
        raise InvalidValue(f"{quote(value)} is not a number")
    try:
        number = float(value)
    except (ValueError, OverflowError) as error:
        raise InvalidValue(f"{quote(value)} is not a number, such as 12.5") from error
    if not math.isfinite(number):
        raise InvalidValue(f"{quote(value)} is not a number that Notion can store")
    return int(number) if number.is_integer() else number


def _unwrap(value: Any) -> Any:
    """The value of `{"select": {"name": "Done"}}`, which models also write for a status."""
    if not isinstance(value, dict):
        return value
    inside = [item for name, item in value.items() if name in _WRITERS]
    return inside[0] if len(inside) == 1 and value.keys() <= {"type", *_WRITERS} else value


def _rich_text(value: Any) -> list[Json]:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    return plain_rich_text(_string(value)) if value is not None else []


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
    return None if value in (None, "") else _named_option(value)


def _options(value: Any) -> list[Json]:
    return [_named_option(item) for item in _as_list(value)]


def _named_option(value: Any) -> Json:
    if isinstance(value, dict):
        return value
    name = _string(value)
    if "," in name:
        raise InvalidValue("the name of an option must not contain a comma")
    return {"name": name}


def _date_value(value: Any) -> Json | None:
    if value in (None, ""):
        return None
    if isinstance(value, dict):
        return _dates(value)
    start, _, end = _string(value).replace(" → ", "/").replace(" to ", "/").partition("/")
    try:
        return {"start": parse_moment(start)} | ({"end": parse_moment(end)} if end else {})
    except InvalidValue as invalid:
        raise InvalidValue(f"{quote(value)} is not a date: write 2026-12-01, or 2026-12-01/2026-12-05") from invalid


def _dates(value: Json) -> Json:
    return {name: parse_moment(item) if item and name in ("start", "end") else item for name, item in value.items()}


def _relations(value: Any) -> list[Json]:
    return [item if isinstance(item, dict) else {"id": _id(item)} for item in _as_list(value)]


def _people(value: Any, who: FindPerson) -> list[Json]:
    """A text is tried as one name, which may contain a comma, then as several. Duplicates are removed."""
    try:
        people = [_person_reference(value, who)] if isinstance(value, str) and value.strip() else None
    except InvalidValue:
        if "," not in value:
            raise
        people = None
    people = people or [_person_reference(item, who) for item in _as_list(value)]
    return list({item.get("id", number): item for number, item in enumerate(people)}.values())


def _person_reference(value: Any, who: FindPerson) -> Json:
    if isinstance(value, dict) and not isinstance(value.get("name"), str):
        return value
    name = value.get("id") or value["name"] if isinstance(value, dict) else value
    return {"object": "user", "id": who(_string(name))}


def _id(value: Any) -> str:
    try:
        return page_id(value)
    except ValueError as error:
        raise InvalidValue(PAGE_IDS_NEEDED) from error


def _files(value: Any) -> list[Json]:
    return [item if isinstance(item, dict) else _external(_string(item)) for item in _as_list(value)]


def _external(url: str) -> Json:
    return {"type": "external", "name": url.rpartition("/")[2][:100] or "file", "external": {"url": url}}


def _as_list(value: Any) -> list[Any]:
    if value in (None, ""):
        return []
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",", MAX_VALUES + 1) if word.strip()]
    values = value if isinstance(value, list) else [value]
    if len(values) > MAX_VALUES:
        raise InvalidValue(f"takes at most {MAX_VALUES} values")
    return values


def _string(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidValue("must be a text")
    return str(value)


_WRITERS: Mapping[str, Callable[[Any], Any]] = {
    "title": _rich_text,
    "rich_text": _rich_text,
    "number": _number,
    "checkbox": _checkbox,
    "select": _option,
    "status": _option,
    "multi_select": _options,
    "date": _date_value,
    "relation": _relations,
    "files": _files,
    "url": _line,
    "email": _line,
    "phone_number": _line,
}
