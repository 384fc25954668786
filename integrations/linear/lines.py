"""How is it said to a model: in short lines, with what is too long cut so that it shows?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from integrations.reading import one_line, shortened

Json = dict[str, Any]

LONGEST_STRING, LONGEST_JSON, EXCERPT = 4_000, 6_000, 240


def excerpt(text: str | None, query: str) -> str | None:
    line = one_line(text)
    if not line:
        return None
    places = [line.casefold().find(word) for word in query.casefold().split() if len(word) > 2]  # noqa: PLR2004
    start = max(min((place for place in places if place >= 0), default=0) - EXCERPT // 3, 0)
    return ("…" if start else "") + shortened(line[start:].strip(), EXCERPT)


def bounded(value: Any) -> Any:
    """Linear's own object, without what is empty in it, and with the longest of its texts cut."""
    if isinstance(value, str) and len(value) > LONGEST_STRING:
        return f"{value[:LONGEST_STRING]}… [{len(value) - LONGEST_STRING} more characters]"
    if isinstance(value, dict):
        return {name: bounded(each) for name, each in value.items() if each is not None}
    return [bounded(each) for each in value] if isinstance(value, list) else value


def written(full: Json | None) -> str | None:
    return shortened(json.dumps(full, ensure_ascii=False), LONGEST_JSON) if full else None


def day(time: str | None) -> str:
    return (time or "")[:10]


def joined(*facts: str | None) -> str:
    return " · ".join(fact for fact in facts if fact)


def lined(*lines: str | None) -> str:
    first, *more = (line for line in lines if line)
    return "\n".join([first, *(f"  {line}" for line in more)])


def bulleted(title: str, lines: Iterable[str]) -> str | None:
    found = [f"- {line}" for line in lines]
    return "\n".join([f"{title}:", *found]) if found else None
