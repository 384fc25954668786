"""The work of validating arguments against a schema, counted before it is done.

References can be arranged so that each level doubles the work: thirty of them take hours. Counting the steps takes time
in proportion to the schema's size and the arguments' depth. Compiling an upstream's regular expressions can take
milliseconds on the event loop, so their number and length are limited too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from api.toolbox.json_schema.flatten import resolve_pointer

MAX_PATTERN_LENGTH = 1000
MAX_PATTERNS = 50
"""The maximum of different patterns in one schema."""
# Patterns of upstreams get little time and memory.
PATTERN_OPTIONS = jsonschema_rs.FancyRegexOptions(backtrack_limit=20_000, size_limit=1_000_000)

MAX_STEPS = 2_000_000  # a few hundredths of a second
_MAX_LEVELS = 150
_SAME_VALUE = ("not", "if", "then", "else")
_SAME_VALUE_LISTS = ("allOf", "anyOf", "oneOf")
_INNER = ("items", "additionalProperties", "contains", "unevaluatedProperties", "unevaluatedItems", "propertyNames")
_INNER_MAPS = ("properties", "patternProperties")


class ValidationCost:
    """The cost of one schema. A branch that is applied again to the same value counts again."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self.size = len(str(root))
        """In characters, approximately."""
        self._by_depth: dict[int, int] = {}
        self._steps: dict[tuple[int, int], int] = {}

    def is_acceptable(self, depth: int, values: int) -> bool:
        if depth not in self._by_depth:
            self._by_depth[depth] = self._count(self._root, depth, 0)
            self._steps.clear()
        # Each value may take all of the steps.
        return self._by_depth[depth] * values <= MAX_STEPS

    def _count(self, schema: object, depth: int, level: int) -> int:
        if not isinstance(schema, dict) or depth < 0:
            return 1
        if level > _MAX_LEVELS or len(self._steps) > MAX_STEPS // 10:
            return MAX_STEPS + 1
        place = (id(schema), depth)
        if place not in self._steps:
            self._steps[place] = 1  # a reference that returns to the same value is not followed again
            self._steps[place] = self._sum(schema, depth, level + 1)
        return self._steps[place]

    def _sum(self, schema: Mapping[str, Any], depth: int, level: int) -> int:
        total = 1 + _comparison_cost(schema.get("enum")) + _comparison_cost([schema.get("const")])
        for inner, here in self._applied_schemas(schema):
            total += self._count(inner, depth if here else depth - 1, level)
            if total > MAX_STEPS:
                break
        return total

    def _applied_schemas(self, schema: Mapping[str, Any]) -> Iterator[tuple[object, bool]]:
        """Each schema that applies, and whether it applies to the same value."""
        for reference in ("$ref", "$dynamicRef"):
            if (target := resolve_pointer(self._root, schema.get(reference))) is not None:
                yield target, True
        for word in (*_SAME_VALUE, *_INNER):
            if word in schema:
                yield schema[word], word in _SAME_VALUE
        for word in (*_SAME_VALUE_LISTS, "prefixItems"):
            yield from ((subschema, word != "prefixItems") for subschema in _as_list(schema.get(word)))
        for word in (*_INNER_MAPS, "dependentSchemas"):
            yield from ((subschema, word == "dependentSchemas") for subschema in _as_list(schema.get(word)))


def _as_list(schemas: object) -> list[object]:
    if isinstance(schemas, dict):
        return list(schemas.values())
    return schemas if isinstance(schemas, list) else []


def _comparison_cost(values: object) -> int:
    """The cost of comparing a value with a list of values."""
    if not isinstance(values, list):
        return 0
    return len(values) + sum(len(str(value)) // 64 for value in values if isinstance(value, str | list | dict))


@lru_cache(4096)
def is_pattern(text: str) -> bool:
    if len(text) > MAX_PATTERN_LENGTH:
        return False
    try:
        jsonschema_rs.Draft202012Validator({"pattern": text}, offline=True, pattern_options=PATTERN_OPTIONS)
    except ValueError:
        return False
    return True


def has_too_many_patterns(schema: object) -> bool:
    """Whether a schema has too many or too long patterns. Not recursive, since an upstream chooses the depth."""
    waiting, seen = [schema], set[str]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            seen |= _patterns_in(value)
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return len(seen) > MAX_PATTERNS or any(len(pattern) > MAX_PATTERN_LENGTH for pattern in seen)


def _patterns_in(schema: dict[str, object]) -> set[str]:
    pattern, pattern_properties = schema.get("pattern"), schema.get("patternProperties")
    return {
        *([pattern] if isinstance(pattern, str) else []),
        *(pattern_properties if isinstance(pattern_properties, dict) else []),
    }
