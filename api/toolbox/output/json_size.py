"""The depth and the number of values of a JSON document."""

from __future__ import annotations

from typing import Any, NamedTuple


class JsonSize(NamedTuple):
    depth: int
    values: int


def measure(value: object, most: JsonSize) -> JsonSize | None:
    """None if it is more than `most`. Level by level, since an upstream chooses the depth."""
    level, depth, seen = [value], 0, 1
    while seen <= most.values and depth <= most.depth:
        within: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                within += each.values()
            elif isinstance(each, list):
                within += each
        if not within:
            return JsonSize(depth, seen)
        level, depth, seen = within, depth + 1, seen + len(within)
    return None
