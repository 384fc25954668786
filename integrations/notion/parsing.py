"""Arguments of tools as models write them: ids and addresses, objects as JSON, and other words for the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import SplitResult, parse_qsl, urlsplit
from uuid import UUID

from pydantic import BeforeValidator

from integrations.argument_coercion import from_json_text
from integrations.json_object import Json

_CURSOR = re.compile(r"(\d{1,3})\.(.*)", re.DOTALL)
_ID = re.compile(
    r"(?<![0-9a-f])([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])",
    re.IGNORECASE,
)
NO_ID = (
    "is no id of Notion: pass the 32 digits of an id, or the address of the page; `notion_search` finds the id of what "
    "has a title"
)


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Where to go on: so many further than Notion's own cursor, for its pages are longer than answers may be."""

    skip: int = 0
    cursor: str | None = None

    @classmethod
    def read(cls, text: str | None) -> ListPosition:
        found = _CURSOR.fullmatch(text or "")
        return cls(int(found[1]), found[2] or None) if found else cls(0, text or None)

    def __str__(self) -> str:
        return f"{self.skip}.{self.cursor or ''}"


def page_id(given: object) -> str:
    """An address that shows a page in front of a database has the page in `p`."""
    parts = _parts(given)
    return _first(dict(parse_qsl(parts.query)).get("p", ""), parts.netloc + parts.path)


def database_id(given: object) -> str:
    parts = _parts(given)
    return _first(parts.netloc + parts.path)


def block_id(given: object) -> str:
    """An address of a block has the block behind the `#`."""
    parts = _parts(given)
    return _first(parts.fragment, parts.netloc + parts.path)


def address(of: str) -> str:
    """Where Notion shows what has this id."""
    return f"https://www.notion.so/{of.replace('-', '')}"


def _parts(given: object) -> SplitResult:
    if not isinstance(given, str) or len(given) > 2000:  # noqa: PLR2004  longer than any address
        raise ValueError(NO_ID)
    try:
        return urlsplit(given.strip())
    except ValueError as error:
        raise ValueError(NO_ID) from error


def _first(*places: str) -> str:
    """The last id of the first place that has any: before it comes the title."""
    for place in places:
        if found := _ID.findall(place):
            return str(UUID(found[-1]))
    raise ValueError(NO_ID)


PageId = Annotated[str, BeforeValidator(page_id)]
DatabaseId = Annotated[str, BeforeValidator(database_id)]
BlockId = Annotated[str, BeforeValidator(block_id)]


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
