"""What is kept of a tool as its server lists it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from api.kit.redaction import Redactor
from api.kit.turns import Pieces
from api.toolbox.output.sanitize import PART, clean, clean_json

USED_FIELDS = ("name", "title", "description", "inputSchema", "annotations")
LONGEST_TOOL = 500_000


def used_fields(listed: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is used later, and nothing else that a server may list, such as output schemas and icons."""
    return {name: listed[name] for name in USED_FIELDS if name in listed}


async def without_secrets(listed: Mapping[str, Any], redact: Redactor, pieces: Pieces) -> Mapping[str, Any] | None:
    """Unchanged if it contains no secret. None if its name does: it could not be called by another one."""
    try:
        text = msgspec.json.encode(listed).decode()
        if len(text) > LONGEST_TOOL:
            return None
        if redact(text) == text and redact(cleaned := await _cleaned(text, pieces)) == cleaned:
            return listed
        safe: dict[str, Any] = clean_json(listed, redact)
    except RecursionError:  # too deep to be searched
        return None
    return safe if safe.get("name") == listed["name"] else None


async def _cleaned(text: str, pieces: Pieces) -> str:
    parts = list[str]()
    for start in range(0, len(text), PART):
        await pieces.pause()
        parts.append(clean(text[start : start + PART]))
    return "".join(parts)
