"""Shortened, clipped and single-line texts of a vendor's response, and the objects of a list."""

from __future__ import annotations

import json
import re

from integrations.json_object import Json

_CLIPPED = re.compile(r"… \[[0-9,]+ more characters\]")


def one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def clip(text: str, most: int) -> str:
    """Shorten a text and state how many characters are missing."""
    return text if len(text) <= most else f"{text[:most]}… [{len(text) - most:,} more characters]"


def is_clipped(text: str) -> bool:
    """Whether a text, or a text in JSON, has been clipped."""
    return bool(_CLIPPED.search(text))


def objects(value: object) -> list[Json]:
    """The items of a list that are objects; none if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def more_follow(parameter: str, value: object) -> str:
    """The note on further pages, equal for all tools."""
    return f"More follow: call again with the same arguments and `{parameter}` {json.dumps(value)}."
