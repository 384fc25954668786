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
        if await _has_no_secret(text, redact, pieces):
            return listed
        safe: dict[str, Any] = await _redacted(listed, redact, pieces)
    except RecursionError:  # too deep to be searched
        return None
    return safe if safe.get("name") == listed["name"] else None


async def _has_no_secret(text: str, redact: Redactor, pieces: Pieces) -> bool:
    if not await redact.finds_nothing_in_long(text, pieces):
        return False
    return await redact.finds_nothing_in_long(await _cleaned(text, pieces), pieces)


async def _redacted(value: Any, redact: Redactor, pieces: Pieces) -> Any:
    """A tool may have thousands of short strings."""
    await pieces.pause()
    if isinstance(value, Mapping):
        return {clean_json(name, redact): await _redacted(member, redact, pieces) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [await _redacted(element, redact, pieces) for element in value]
    return clean_json(value, redact)


async def _cleaned(text: str, pieces: Pieces) -> str:
    parts = list[str]()
    for start in range(0, len(text), PART):
        await pieces.pause()
        parts.append(clean(text[start : start + PART]))
    return "".join(parts)
