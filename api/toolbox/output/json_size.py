"""The depth and the number of values of a JSON document."""

from __future__ import annotations

from typing import NamedTuple


class JsonSize(NamedTuple):
    depth: int
    values: int


def measure(value: object, most: JsonSize) -> JsonSize | None:
    """None if it is more than `most`. Without recursion, since an upstream chooses the depth."""
    open_values, deepest, seen = [(value, 0)], 0, 0
    while open_values:
        current, depth = open_values.pop()
        deepest, seen = max(deepest, depth), seen + 1
        if depth > most.depth or seen + len(open_values) > most.values:
            return None
        if isinstance(current, dict | list):
            inside = list(current.values()) if isinstance(current, dict) else current
            open_values += [(element, depth + 1) for element in inside]
    return JsonSize(deepest, seen)
