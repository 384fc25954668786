"""Texts from a vendor's response: on one line, shortened or clipped; and the objects of a possible list."""

from __future__ import annotations

import json
import re

from integrations.json_object import Json

_CLIPPED = re.compile(r"… \[[0-9,]+ more characters\]")


def one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def clipped(text: str, most: int) -> str:
    """With the number of characters that are missing."""
    return text if len(text) <= most else f"{text[:most]}… [{len(text) - most:,} more characters]"


def is_clipped(text: str) -> bool:
    """Whether a text, or JSON in which there are texts, has been clipped."""
    return bool(_CLIPPED.search(text))


def objects(found: object) -> list[Json]:
    """Those of a list that are any."""
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def more_follow(parameter: str, value: object) -> str:
    """How to go on, in the same words everywhere."""
    return f"More follow: call again with the same arguments and `{parameter}` {json.dumps(value)}."
