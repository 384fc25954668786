"""Which object of Notion is meant by an id, or by the address of its page?"""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import SplitResult, parse_qsl, urlsplit
from uuid import UUID

from pydantic import BeforeValidator

_ID = re.compile(
    r"(?<![0-9a-f])([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])",
    re.IGNORECASE,
)
NO_ID = (
    "is no id of Notion: pass the 32 digits of an id, or the address of the page; `notion_search` finds the id of what "
    "has a title"
)


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
