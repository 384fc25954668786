"""The text form of results: short lines, and long texts with a visible cut."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from integrations.json_object import Json
from integrations.text import clip, is_clipped, one_line, shorten

EXCERPT = 240
LONGEST_STRINGS = (4_000, 1_000, 250)


def excerpt(text: str | None, query: str) -> str | None:
    line = one_line(text)
    if not line:
        return None
    places = [line.casefold().find(word) for word in query.casefold().split() if len(word) > 2]  # noqa: PLR2004
    start = max(min((place for place in places if place >= 0), default=0) - EXCERPT // 3, 0)
    return ("…" if start else "") + shorten(line[start:].strip(), EXCERPT)


def bound_node(node: Json, room: int) -> Json:
    """Linear's own object without empty fields, its long texts cut until it fits."""
    bounded_node: Json = {}
    for longest in (room, *LONGEST_STRINGS):
        bounded_node = _cut(node, longest)
        if len(json.dumps(bounded_node, ensure_ascii=False)) <= room:
            break
    return bounded_node


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return clip(value, longest)
    if isinstance(value, dict):
        return {name: _cut(item, longest) for name, item in value.items() if item is not None}
    return [_cut(item, longest) for item in value] if isinstance(value, list) else value


def is_cut(full: Json | None) -> bool:
    return bool(full and is_clipped(json.dumps(full, ensure_ascii=False)))


def json_line(full: Json | None) -> str | None:
    return json.dumps(full, ensure_ascii=False) if full else None


def indent(text: str) -> str:
    """Indent a text from others, so that none of its lines can imitate a line of ours."""
    first, *more = text.splitlines() or [""]
    return "\n".join([first, *(f"  {line}" if line else "" for line in more)])


def day(time: str | None) -> str:
    return one_line(time)[:10]


def join_facts(*facts: str | None) -> str:
    return " · ".join(fact for fact in facts if fact)


def entry(*lines: str | None) -> str:
    first, *more = (line for line in lines if line)
    return "\n".join([first, *(f"  {line}" for line in more)])


def bullet_list(title: str, lines: Iterable[str]) -> str | None:
    bullets = [f"- {line}" for line in lines]
    return "\n".join([f"{title}:", *bullets]) if bullets else None
