"""The regular expressions of schemas: which can be shown, and which match in linear time and at what cost.

An upstream chooses them, so only the engine without backtracking runs them. It knows neither lookaround nor
backreferences; such patterns are shown but not applied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import jsonschema_rs

MAX_PATTERN_LENGTH = 1000
MAX_PATTERNS = 50
"""The maximum of different patterns in one schema."""
MAX_TOTAL_LENGTH = 4000
"""Of all patterns of a schema, in characters: compiling takes up to 2 µs for each."""
MAX_LARGE = 3
"""The maximum of patterns that compile to more than `SMALL` bytes; each takes a few ms."""

LARGE = 400_000  # about `^.{1,255}$`
SMALL = 20_000
_SIZES = (2000, SMALL, LARGE)
"""Limits of compiled size, in bytes. The smallest that a pattern fits bounds the time for a character of the text."""
_BYTES_A_NANOSECOND = 3  # the slowest patterns found take 1 ns a character for every 6 to 8 bytes

LINEAR = jsonschema_rs.RegexOptions(size_limit=LARGE)
"""The engine that applies patterns."""
ANY_VALID = jsonschema_rs.FancyRegexOptions(backtrack_limit=1, size_limit=LARGE)
"""The engine that knows all of ECMA 262. It only compiles: nothing is matched with it."""
_SMALL_VALID = jsonschema_rs.FancyRegexOptions(backtrack_limit=1, size_limit=SMALL)
_NOT_LINEAR = re.compile(r"\(\?<?[=!]|\\[1-9k]")


class PatternCost(NamedTuple):
    """What the linear-time engine needs for a pattern."""

    per_character: int
    """At most, in nanoseconds."""
    is_large: bool


class Patterns(NamedTuple):
    """The patterns of one schema that compile in bounded time."""

    shown: frozenset[str]
    """Valid in ECMA 262, so a model can read them."""
    applied: Mapping[str, PatternCost]
    """In the linear-time engine."""
    are_all_applied: bool


@lru_cache(4096)
def pattern_cost(text: str) -> PatternCost | None:
    """None if the linear-time engine cannot apply the pattern, or not in bounded time."""
    for size in _SIZES:
        if _compiles(text, jsonschema_rs.RegexOptions(size_limit=size)):
            return PatternCost(size // _BYTES_A_NANOSECOND, size > SMALL)
    return None


@lru_cache(4096)
def _is_valid(text: str) -> bool:
    """Whether a pattern that the linear-time engine cannot apply is valid, if that takes little time to find out."""
    return _NOT_LINEAR.search(text) is not None and _compiles(text, _SMALL_VALID)


def _compiles(text: str, options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions) -> bool:
    try:
        jsonschema_rs.Draft202012Validator({"pattern": text}, offline=True, pattern_options=options)
    except ValueError:
        return False
    return True


def patterns_in(schema: object) -> list[str]:
    """The different patterns of a schema. Not recursive, since an upstream chooses the depth."""
    waiting, seen = [schema], dict[str, None]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            seen |= dict.fromkeys(_patterns_of(value)) if "pattern" in value or "patternProperties" in value else {}
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return list(seen)


def _patterns_of(schema: dict[str, Any]) -> list[str]:
    pattern, pattern_properties = schema.get("pattern"), schema.get("patternProperties")
    return [
        *([pattern] if isinstance(pattern, str) else []),
        *(pattern_properties if isinstance(pattern_properties, dict) else []),
    ]


def are_too_many(patterns: list[str]) -> bool:
    return len(patterns) > MAX_PATTERNS or any(len(pattern) > MAX_PATTERN_LENGTH for pattern in patterns)


def judge(patterns: list[str]) -> Patterns:
    costs: dict[str, PatternCost] = {}
    shown = set[str]()
    total = large = 0
    for pattern in patterns:
        total += len(pattern)
        if total > MAX_TOTAL_LENGTH or large == MAX_LARGE:
            break
        if _NOT_LINEAR.search(pattern):
            shown |= {pattern} if _is_valid(pattern) else set()
            continue
        cost = pattern_cost(pattern)
        large += cost is None or cost.is_large
        if cost:
            costs[pattern] = cost
    return Patterns(frozenset(shown | costs.keys()), costs, len(costs) == len(patterns))
