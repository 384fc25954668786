"""Which slips of those who call the tools are understood?"""

from __future__ import annotations

import re

from integrations.argument_coercion import from_json_text
from integrations.json_object import Json

MOST_AT_ONCE = 100
_SIZE = re.compile(r"[0-9]{1,9}")


def as_object(given: object) -> object:
    read = from_json_text(given)
    if not isinstance(read, dict):
        raise ValueError('must be an object, such as {"Status": "Done"}')  # noqa: TRY004  pydantic reads this one
    return read


def as_kind(given: object) -> object:
    """`page`, or a filter as Notion has it; a database is found as its data sources."""
    value = given.get("value") if isinstance(given, dict) else given
    plain = str(value).lower().replace(" ", "_").rstrip("s")
    return {"database": "data_source", "datasource": "data_source"}.get(plain, plain)


def as_order(given: object) -> object:
    value = given.get("direction") if isinstance(given, dict) else given
    return {"asc": "ascending", "desc": "descending"}.get(str(value).lower(), value)


def as_filter(given: object) -> object:
    """A list of conditions is all of them; no condition is no filter."""
    read = from_json_text(given)
    if isinstance(read, list):
        read = {"and": read}
    if read in ({}, {"and": []}, "", "all", "none", "*"):
        return None
    return as_object(read)


def capped(given: object) -> object:
    """More than there can be at a time is as much as there can be: the rest follows."""
    number = int(given) if isinstance(given, str) and _SIZE.fullmatch(given.strip()) else given
    return min(number, MOST_AT_ONCE) if isinstance(number, int) and not isinstance(number, bool) else given


def as_emoji(given: object) -> object:
    value = given.get("emoji") if isinstance(given, dict) else given
    if not isinstance(value, str) or not value.strip() or value.isascii():
        raise ValueError("must be an emoji, such as 🚀")
    return value


def as_list(given: object) -> object:
    read = from_json_text(given)
    return [read] if isinstance(read, str | dict) else read


def either(schema: Json) -> None:
    schema.pop("default", None)
    schema["anyOf"] = [{"type": "string"}, {"type": "object"}]
