"""The part of a schema that is applied to arguments, where some of it cannot be applied in bounded time.

What is left out may only permit more. So beside each pattern that is left out, all keywords go whose verdict could turn
from yes to no when a schema within them permits more.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from api.toolbox.json_schema.patterns import Patterns

_DRAFTS_WITH_FORMATS = ("draft-04", "draft-06", "draft-07")
"""Here `format` is applied; later drafts only describe with it."""
_UNBOUNDED_FORMATS = frozenset({"regex", "idn-hostname", "idn-email"})
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
_DATA = frozenset({"enum", "const", "default", "examples", "required"})
_INVERTED = frozenset({"not", "if", "then", "else", "maxContains", "unevaluatedProperties", "unevaluatedItems"})


def applied_schema(schema: Mapping[str, Any], patterns: Patterns) -> Mapping[str, Any]:
    """The same schema if all of it can be applied."""
    has_formats = any(draft in str(schema.get("$schema")) for draft in _DRAFTS_WITH_FORMATS)
    formats = _UNBOUNDED_FORMATS if has_formats else frozenset[str]()
    if patterns.are_all_applied and not (formats and _has_format(schema, formats)):
        return schema
    looser: Mapping[str, Any] = _Loosening(patterns.applied, formats).loosen(schema)
    return looser


def _has_format(schema: Mapping[str, Any], formats: frozenset[str]) -> bool:
    waiting: list[Any] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(name := value.get("format"), str) and name in formats:
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


class _Loosening:
    """Leaves out what cannot be applied, and what must not be applied without it."""

    def __init__(self, patterns: Container[str], formats: frozenset[str]) -> None:
        self._patterns = patterns
        self._formats = formats

    def loosen(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [self.loosen(element) for element in schema]
        if not isinstance(schema, dict):
            return schema
        looser = {word: self._value(word, value) for word, value in schema.items() if self._is_kept(word, value)}
        if looser.get("patternProperties") != schema.get("patternProperties"):  # these names would now be additional
            looser.pop("additionalProperties", None)
        if "oneOf" in looser:  # two branches may fit now
            looser.setdefault("anyOf", looser.pop("oneOf"))
        return looser

    def _is_kept(self, word: str, value: object) -> bool:
        if word == "pattern" and isinstance(value, str):
            return value in self._patterns
        return word not in _INVERTED and not (word == "format" and isinstance(value, str) and value in self._formats)

    def _value(self, word: str, value: Any) -> Any:
        if word in _DATA:
            return value
        if word not in _MAPS or not isinstance(value, dict):
            return self.loosen(value)
        kept = value if word != "patternProperties" else {name: value[name] for name in value if name in self._patterns}
        return {name: self.loosen(item) for name, item in kept.items()}
