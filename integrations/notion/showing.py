"""How much of a value is shown, and how does it look in a text?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from integrations.json_object import Json
from integrations.text import clipped, one_line

MAX_VALUE = 500
MAX_READ_VALUE = 4000
MAX_LISTED = 25
"""As many of a relation as Notion gives at once."""


def bounded(value: Any, most: int, *, has_more: bool = False) -> Any:
    """What is left out is told to be."""
    if isinstance(value, str):
        return clipped(value, most)
    if not isinstance(value, list):
        return value
    kept = value[:MAX_LISTED] if most == MAX_VALUE else value
    more = [f"… ({len(value) - len(kept)} more)"] if len(kept) < len(value) else ["… (and more)"] if has_more else []
    return [*(bounded(each, most) for each in kept), *more]


def listed(properties: Json, indent: str) -> Iterator[str]:
    for name, value in properties.items():
        told = ", ".join(map(str, value)) if isinstance(value, list) else value
        told = ("yes" if told else "no") if isinstance(told, bool) else told
        yield f"{indent}- {one_line(name)}: {one_line(str(told))}"


def raw(found: Json | None) -> Iterator[str]:
    """As Notion has it."""
    if found is not None:
        yield f"```json\n{json.dumps(found, ensure_ascii=False)}\n```"


def in_words(time: str) -> str:
    """`2026-11-18 12:00 UTC`: Notion's times end with Z."""
    return f"{time[:10]} {time[11:16]} UTC" if time.endswith("Z") else one_line(time)
