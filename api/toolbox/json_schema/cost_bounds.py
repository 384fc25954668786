"""The most that validating takes for each value and character of any arguments, counted once for a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from api.toolbox.json_schema import keyword_costs as ns
from api.toolbox.json_schema.keyword_costs import KeywordCosts

MAX_LEVELS = 150
Keywords = Callable[[Mapping[str, Any]], KeywordCosts]


class CostBound(NamedTuple):
    """The most that validating takes for each value and each character of any arguments."""

    per_value: int
    per_character: int
    per_odd_value: int
    """Where numbers may be very large or very close to zero."""


class Unbounded(Exception):
    """The time depends on how deep the arguments are, or on more than their size."""


_ANY = CostBound(ns.STEP, 1, ns.STEP)
NOTHING = CostBound(0, 0, 0)
_Numbers = tuple[int, int, int]


class CostBounds:
    def __init__(self, keywords: Keywords) -> None:
        self._keywords = keywords
        self._known: dict[int, CostBound | None] = {}

    def of(self, schema: Any, level: int) -> CostBound:
        if not isinstance(schema, dict):
            return _ANY
        if ns.is_plain(schema):
            own = ns.plain_cost(schema)
            return CostBound(own, 1, own)
        if level > MAX_LEVELS:
            raise Unbounded
        place = id(schema)
        if place not in self._known:
            self._known[place] = None
            self._known[place] = self._sum(self._keywords(schema), level + 1)
        known = self._known[place]
        if known is None:  # the schema contains itself
            raise Unbounded
        return known

    def _sum(self, costs: KeywordCosts, level: int) -> CostBound:
        if costs.marks or costs.is_unique or costs.patterns or costs.odd_numbers:
            raise Unbounded
        own = (
            costs.own + costs.numbers * ns.NUMBER,
            costs.per_character + costs.numbers * ns.ECHOED_CHARACTER,
            costs.own + costs.numbers * ns.ODD_NUMBER,
        )
        within = self._added([*costs.members, *costs.names, *costs.items], level)
        for group in (costs.properties.values() if costs.properties else (), costs.prefix):
            within = _plus(within, self._most(group, level)) if group else within
        # A value is either that of this schema or one within it, so the larger of the two counts.
        return _plus(self._added([*costs.same, *costs.alternatives], level), _larger(own, within))

    def _added(self, schemas: Iterable[Any], level: int) -> CostBound:
        total = NOTHING
        for schema in schemas:
            total = _plus(total, self.of(schema, level))
        return total

    def _most(self, schemas: Iterable[Any], level: int) -> CostBound:
        most = NOTHING
        for bound in {self.of(schema, level) for schema in schemas}:
            most = _larger(most, bound)
        return most


def _plus(first: _Numbers, second: _Numbers) -> CostBound:
    return CostBound(first[0] + second[0], first[1] + second[1], first[2] + second[2])


def _larger(first: _Numbers, second: _Numbers) -> CostBound:
    return CostBound(max(first[0], second[0]), max(first[1], second[1]), max(first[2], second[2]))
