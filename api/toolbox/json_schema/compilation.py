"""Compiles a schema, unless that would take long.

The validator compiles what `unevaluatedProperties` and `unevaluatedItems` look at once for each way that leads there,
so these ways are counted before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs

from api.toolbox.json_schema.keyword_costs import KeywordCosts, keyword_costs
from api.toolbox.json_schema.patterns import LINEAR
from api.toolbox.json_schema.references import References, ReferenceUnresolved

MAX_WAYS = 2_000
_WORDS = ("unevaluatedProperties", "unevaluatedItems")


def compiled(schema: Mapping[str, Any]) -> jsonschema_rs.Validator | None:
    """By the draft that it names, or 2020-12; nothing is fetched. None if it takes too long. Raises `ValueError`."""
    if not are_ways_few(schema):
        return None
    dialect = jsonschema_rs.validator_cls_for(dict(schema))
    return dialect(dict(schema), offline=True, pattern_options=LINEAR)


def are_ways_few(schema: Mapping[str, Any]) -> bool:
    """Whether compiling takes time in proportion to the size of the schema."""
    text = str(schema)
    return not any(word in text for word in _WORDS) or _Ways(schema).are_few()


class _NoReferences(References):
    def targets(self, schema: Mapping[str, Any]) -> Iterator[Any]:  # noqa: ARG002
        return iter(())


class _Ways:
    """Goes the ways of the compiler. It compiles the target of a reference once, but looks through it each time."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._references = References(root)
        self._none = _NoReferences(root)
        self._compiled = set[int]()
        self._pending = set[int]()
        self._left = MAX_WAYS

    def are_few(self) -> bool:
        try:
            self._compile(self._root)
        except (_TooMany, ReferenceUnresolved, RecursionError):
            return False
        return True

    def _compile(self, schema: Any) -> None:
        if not isinstance(schema, dict):
            return
        keywords = self._next(schema)
        for inner in (*_same(keywords), *_within(keywords), *(keywords.properties or {}).values()):
            self._compile(inner)
        for target in self._references.targets(schema):
            if id(target) not in self._compiled:
                self._compiled.add(id(target))
                self._compile(target)
        for word in _WORDS:
            if word in schema:
                self._look_through(schema)

    def _look_through(self, schema: Any) -> None:
        if not isinstance(schema, dict) or id(schema) in self._pending:
            return
        self._pending.add(id(schema))
        keywords = self._next(schema)
        for inner in (*_same(keywords), *_within(keywords)):
            self._compile(inner)
        for inner in (*_same(keywords), *self._references.targets(schema)):
            self._look_through(inner)
        self._pending.discard(id(schema))

    def _next(self, schema: Mapping[str, Any]) -> KeywordCosts:
        self._left -= 1
        if self._left < 0:
            raise _TooMany
        return keyword_costs(schema, self._none, {})


class _TooMany(Exception):
    """There are more ways than `MAX_WAYS`."""


def _same(keywords: KeywordCosts) -> tuple[Any, ...]:
    return (*keywords.same, *keywords.alternatives)


def _within(keywords: KeywordCosts) -> tuple[Any, ...]:
    return (*keywords.members, *keywords.names, *keywords.prefix, *keywords.items)
