"""Truncation of JSON to a given size, with marks where something was cut."""

from __future__ import annotations

import json
import re
from typing import Any

from integrations.text import clip, shorten

MOST_BYTES = 150_000
MEASURES = ((4_000, 300), (800, 100), (200, 40), (100, 15), (50, 5), (30, 2))
"""Limits for texts and lists, tried in order until the value fits."""
SECRET = re.compile(
    r"secret.*(token|key)|(token|key).*secret|^(live_events|temporary|access|refresh)_?token|^personal_api_key",
    re.IGNORECASE,
)
"""Fields with secrets that PostHog returns and no reader needs."""
MAX_DEPTH, MARK_LENGTH = 12, 40
MAX_NUMBER = 1e300
"""Larger numbers are treated as infinite, which JSON cannot represent."""
_CUT = re.compile(r"… \[[0-9,]+ more (characters|fields)\]|\[[0-9]+ more\]")


def is_cut(text: str) -> bool:
    return bool(_CUT.search(text))


def is_representable(value: float) -> bool:
    return -MAX_NUMBER < value < MAX_NUMBER


def fit(value: Any, room: int = MOST_BYTES // 3) -> tuple[Any, bool]:
    """JSON that fits the room, and whether something was cut."""
    if _left(value, room, 10**9, 10**9) >= 0:
        return prune(value, 10**9, 10**9), False
    for text, length in MEASURES:
        if _left(value, room, text, length) >= 0:
            return prune(value, text, length), True
    return shorten(json.dumps(prune(value, *MEASURES[-1], depth=2), ensure_ascii=False), room // 2), True


def prune(value: Any, text: int, length: int, depth: int = MAX_DEPTH) -> Any:
    """The value without secrets, with a mark at each cut."""
    if isinstance(value, str):
        return clip(value, text)
    if isinstance(value, int | float) and not is_representable(value):
        return "a number too large for JSON"
    if not depth and isinstance(value, dict | list):
        return "[deeper than is shown]"
    if isinstance(value, dict):
        kept = [(name, item) for name, item in value.items() if not _is_secret(name, item)]
        more = {"…": f"… [{len(kept) - length} more fields]"} if len(kept) > length else {}
        return {name: prune(item, text, length, depth - 1) for name, item in kept[:length]} | more
    if isinstance(value, list):
        rest = [f"[{len(value) - length} more]"] if len(value) > length else []
        return [prune(item, text, length, depth - 1) for item in value[:length]] + rest
    return value


def _left(value: Any, room: int, text: int, length: int, depth: int = MAX_DEPTH) -> int:
    """The room that remains after the result of `pruned`; negative as soon as it does not fit."""
    if room < 0 or not depth:
        return room - MARK_LENGTH
    if isinstance(value, str):
        return (
            room
            - len(json.dumps(value[: min(text, room + 1)], ensure_ascii=False).encode())
            - MARK_LENGTH * (len(value) > text)
        )
    if not isinstance(value, dict | list):
        return (
            room - len(str(value)) - 2
            if not isinstance(value, int | float) or is_representable(value)
            else room - MARK_LENGTH
        )
    names = list(value)[:length] if isinstance(value, dict) else []
    for name in names:
        room -= len(str(name).encode()) + 4
    for item in [value[name] for name in names] if isinstance(value, dict) else value[:length]:
        room = _left(item, room - 2, text, length, depth - 1)
        if room < 0:
            break
    return room - MARK_LENGTH * (len(value) > length) - 2


def _is_secret(name: object, value: object) -> bool:
    return isinstance(value, str) and bool(SECRET.search(str(name)))
