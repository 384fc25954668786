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
    "is not an id of Notion: pass the 32 digits of an id, or the URL of the page; `notion_search` finds ids by title"
)


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Where a list continues: Notion's cursor, and the items after it that are skipped."""

    skip: int = 0
    cursor: str | None = None

    @classmethod
    def read(cls, text: str | None) -> ListPosition:
        found = _CURSOR.fullmatch(text or "")
        return cls(int(found[1]), found[2] or None) if found else cls(0, text or None)

    def __str__(self) -> str:
        return f"{self.skip}.{self.cursor or ''}"


def page_id(given: object) -> str:
    """In the URL of a page that is open over a database, the page is in `p`."""
    parts = _parts(given)
    return _first(dict(parse_qsl(parts.query)).get("p", ""), parts.netloc + parts.path)


def database_id(given: object) -> str:
    parts = _parts(given)
    return _first(parts.netloc + parts.path)


def block_id(given: object) -> str:
    """In the URL of a block, the block is behind the `#`."""
    parts = _parts(given)
    return _first(parts.fragment, parts.netloc + parts.path)


def address(of: str) -> str:
    """The URL at which Notion shows the object with this id."""
    return f"https://www.notion.so/{of.replace('-', '')}"


def _parts(given: object) -> SplitResult:
    if not isinstance(given, str) or len(given) > 2000:  # noqa: PLR2004  longer than any address
        raise ValueError(NO_ID)
    try:
        return urlsplit(given.strip())
    except ValueError as error:
        raise ValueError(NO_ID) from error


def _first(*places: str) -> str:
    """The last id in the first text that contains one: the title comes before the id."""
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
    """`page`, or Notion's own filter object; a database is found as its data sources."""
    value = given.get("value") if isinstance(given, dict) else given
    plain = str(value).lower().replace(" ", "_").rstrip("s")
    return {"database": "data_source", "datasource": "data_source"}.get(plain, plain)


def as_order(given: object) -> object:
    value = given.get("direction") if isinstance(given, dict) else given
    return {"asc": "ascending", "desc": "descending"}.get(str(value).lower(), value)


def as_filter(given: object) -> object:
    """A list of conditions means all of them; an empty filter means none."""
    read = from_json_text(given)
    if isinstance(read, list):
        read = {"and": read}
    if read in ({}, {"and": []}, "", "all", "none", "*"):
        return None
    return as_object(read)


def capped(given: object) -> object:
    """A size above the maximum means the maximum: the rest follows on later pages."""
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
