"""Parsing of arguments: ids and URLs, objects as JSON, and synonyms of fixed words."""

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
    """The position at which a list continues: Notion's cursor, and the number of items to skip after it."""

    skip: int = 0
    cursor: str | None = None

    @classmethod
    def read(cls, text: str | None) -> ListPosition:
        match = _CURSOR.fullmatch(text or "")
        return cls(int(match[1]), match[2] or None) if match else cls(0, text or None)

    def __str__(self) -> str:
        return f"{self.skip}.{self.cursor or ''}"


def page_id(value: object) -> str:
    """The id of a page; the URL of a page that is open over a database has it in `p`."""
    url = _split_url(value)
    return _first_id(dict(parse_qsl(url.query)).get("p", ""), url.netloc + url.path)


def database_id(value: object) -> str:
    url = _split_url(value)
    return _first_id(url.netloc + url.path)


def block_id(value: object) -> str:
    """The id of a block, which its URL has after the `#`."""
    url = _split_url(value)
    return _first_id(url.fragment, url.netloc + url.path)


def address(object_id: str) -> str:
    """The URL at which Notion shows the object with this id."""
    return f"https://www.notion.so/{object_id.replace('-', '')}"


def _split_url(value: object) -> SplitResult:
    if not isinstance(value, str) or len(value) > 2000:  # noqa: PLR2004  longer than any address
        raise ValueError(NO_ID)
    try:
        return urlsplit(value.strip())
    except ValueError as error:
        raise ValueError(NO_ID) from error


def _first_id(*texts: str) -> str:
    """The last id in the first text that contains one: the title comes before the id."""
    for text in texts:
        if ids := _ID.findall(text):
            return str(UUID(ids[-1]))
    raise ValueError(NO_ID)


PageId = Annotated[str, BeforeValidator(page_id)]
DatabaseId = Annotated[str, BeforeValidator(database_id)]
BlockId = Annotated[str, BeforeValidator(block_id)]


MOST_AT_ONCE = 100
_SIZE = re.compile(r"[0-9]{1,9}")


def as_object(value: object) -> object:
    parsed = from_json_text(value)
    if not isinstance(parsed, dict):
        raise ValueError('must be an object, such as {"Status": "Done"}')  # noqa: TRY004  pydantic reads this one
    return parsed


def as_kind(value: object) -> object:
    """`page`, or Notion's own filter object; a database is found as its data sources."""
    word = value.get("value") if isinstance(value, dict) else value
    plain = str(word).lower().replace(" ", "_").rstrip("s")
    return {"database": "data_source", "datasource": "data_source"}.get(plain, plain)


def as_order(value: object) -> object:
    word = value.get("direction") if isinstance(value, dict) else value
    return {"asc": "ascending", "desc": "descending"}.get(str(word).lower(), word)


def as_filter(value: object) -> object:
    """A list of conditions means all of them; an empty filter means none."""
    parsed = from_json_text(value)
    if isinstance(parsed, list):
        parsed = {"and": parsed}
    if parsed in ({}, {"and": []}, "", "all", "none", "*"):
        return None
    return as_object(parsed)


def cap_size(size: object) -> object:
    """A size above the maximum means the maximum: the rest follows on later pages."""
    number = int(size) if isinstance(size, str) and _SIZE.fullmatch(size.strip()) else size
    return min(number, MOST_AT_ONCE) if isinstance(number, int) and not isinstance(number, bool) else size


def as_emoji(value: object) -> object:
    word = value.get("emoji") if isinstance(value, dict) else value
    if not isinstance(word, str) or not word.strip() or word.isascii():
        raise ValueError("must be an emoji, such as 🚀")
    return word


def as_list(value: object) -> object:
    parsed = from_json_text(value)
    return [parsed] if isinstance(parsed, str | dict) else parsed


def either(schema: Json) -> None:
    schema.pop("default", None)
    schema["anyOf"] = [{"type": "string"}, {"type": "object"}]
