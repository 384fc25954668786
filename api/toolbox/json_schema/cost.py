"""The time of validating arguments against a schema, counted before it is spent. It is never counted too low.

References can be arranged so that each level doubles the work, and `unevaluatedProperties` multiplies it: thirty levels
take hours, within code that nothing can interrupt. There are two counts: one for any arguments, which is made once and
costs nothing later, and an exact one for given arguments, where the first is too high.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from api.toolbox.json_schema import keyword_costs as ns
from api.toolbox.json_schema.cost_bounds import MAX_LEVELS, CostBound, CostBounds, Keywords, Unbounded
from api.toolbox.json_schema.keyword_costs import KeywordCosts, keyword_costs
from api.toolbox.json_schema.patterns import PatternCost
from api.toolbox.json_schema.references import References, ReferenceUnresolved

MAX_STEPS = 8_000
"""Of counting; each takes about a microsecond."""
_NEW = 4
"""Steps for a schema and a value that were not counted yet."""


class TooCostly(Exception):
    """Counting takes too long, so validating would, too."""


class Cost(NamedTuple):
    """The time for given arguments, in nanoseconds."""

    validation: int
    marking: int
    """Of finding what was evaluated."""
    errors: int
    """Of listing all errors."""
    first_error: int


class CostCounter:
    """Counts for one schema."""

    def __init__(self, root: Mapping[str, Any], patterns: Mapping[str, PatternCost]) -> None:
        self._root = root
        self._patterns = patterns
        self._references = References(root)
        self._keywords: dict[int, KeywordCosts] = {}

    def bound(self) -> CostBound | None:
        """None if there is no such bound, so that each arguments object has to be counted."""
        try:
            return CostBounds(self.keywords).of(self._root, 0)
        except (Unbounded, ReferenceUnresolved, RecursionError):
            return None

    def of(self, arguments: Any) -> Cost:
        """Raises `TooCostly`."""
        try:
            return _Count(self.keywords).of(self._root, arguments, 0)
        except (ReferenceUnresolved, RecursionError) as error:
            raise TooCostly from error

    def keywords(self, schema: Mapping[str, Any]) -> KeywordCosts:
        place = id(schema)
        if place not in self._keywords:
            self._keywords[place] = keyword_costs(schema, self._references, self._patterns)
        return self._keywords[place]


class _Size(NamedTuple):
    values: int
    characters: int
    odd_numbers: int


class _Count:
    """Counts each schema with each value that it may be applied to, once."""

    def __init__(self, keywords: Keywords) -> None:
        self._keywords = keywords
        self._known: dict[tuple[int, int], Cost | None] = {}
        self._sizes: dict[int, _Size] = {}
        self._steps = 0

    def of(self, schema: Any, value: Any, level: int) -> Cost:
        self._steps += 1
        if not isinstance(schema, dict):
            errors = self._error(value, level) if schema is False else 0
            return Cost(ns.STEP, ns.STEP, ns.STEP + errors, ns.STEP + errors)
        place = (id(schema), id(value))
        if place not in self._known:
            self._steps += _NEW
            if level > MAX_LEVELS or self._steps > MAX_STEPS:
                raise TooCostly
            self._known[place] = None
            self._known[place] = self._sum(self._keywords(schema), value, level + 1)
        known = self._known[place]
        if known is None:  # the schema is applied to this value without end
            raise TooCostly
        return known

    def _sum(self, costs: KeywordCosts, value: Any, level: int) -> Cost:
        within = [self.of(schema, part, level) for schema, part in self._within(costs, value)]
        if not within and not costs.same and not costs.alternatives and not costs.marks:
            return self._of_keywords(costs, value, level)
        same = [self.of(schema, value, level) for schema in costs.same]
        alternatives = [self.of(schema, value, level) for schema in costs.alternatives]
        both = [*same, *alternatives]
        own = self._own(costs, value) + sum(each.validation for each in within)
        marking = own + sum(each.validation + each.marking for each in both)
        validation = own + sum(each.validation for each in both) + 2 * marking * costs.marks
        error = self._error(value, level) if costs.assertions else 0
        names = len(value) if costs.names and isinstance(value, dict) else 0  # an error about a name repeats the object
        errors = sum(each.errors for each in alternatives)
        return Cost(
            validation,
            marking,
            validation + (costs.assertions + names) * error + costs.echo + errors
            + sum(each.errors for each in (*within, *same)) + marking * costs.marks,
            2 * validation + max(error + costs.echo + errors, *(each.first_error for each in (*within, *same)), 0),
        )  # fmt: skip

    def _of_keywords(self, costs: KeywordCosts, value: Any, level: int) -> Cost:
        own = self._own(costs, value)
        error = self._error(value, level) if costs.assertions else 0
        errors = costs.assertions * error + costs.echo
        return Cost(own, own, own + errors, 2 * own + error + costs.echo)

    def _within(self, costs: KeywordCosts, value: Any) -> list[tuple[Any, Any]]:
        schemas = len(costs.members) + len(costs.names) + len(costs.items)
        if isinstance(value, dict | list) and self._steps + schemas * len(value) > MAX_STEPS:
            raise TooCostly
        if isinstance(value, dict):
            properties = costs.properties or {}
            fewer = properties if len(properties) < len(value) else value  # many schemas may name one property each
            return [
                *((properties[name], value[name]) for name in fewer if name in properties and name in value),
                *((schema, each) for schema in costs.members for each in value.values()),
                *((schema, name) for schema in costs.names for name in value),
            ]
        if isinstance(value, list):
            return [
                *zip(costs.prefix, value, strict=False),
                *((schema, each) for schema in costs.items for each in value),
            ]
        return []

    def _own(self, costs: KeywordCosts, value: Any) -> int:
        if isinstance(value, str):
            return costs.own + costs.per_character * len(value)
        if isinstance(value, dict):
            names = sum(map(len, value)) if costs.per_name_character else 0
            matching = costs.patterns * len(value) * ns.PATTERN + costs.per_name_character * names
            return costs.own + len(value) * 2 * ns.STEP + matching + self._comparison(costs, value)
        if isinstance(value, list):
            unique = self._uniqueness(value) if costs.is_unique else 0
            return costs.own + len(value) * ns.STEP + unique + self._comparison(costs, value)
        return costs.own + self._comparison(costs, value)

    def _comparison(self, costs: KeywordCosts, value: Any) -> int:
        """Of the numbers in it with the numbers of the schema."""
        if not costs.numbers and not costs.odd_numbers:
            return 0
        size = self._size(value)
        each = ns.ODD_NUMBER + ns.ECHOED_CHARACTER * size.characters if size.odd_numbers else ns.NUMBER
        return costs.numbers * each + costs.odd_numbers * max(each, ns.ODD_NUMBER)

    def _uniqueness(self, items: list[Any]) -> int:
        """Few are compared in pairs. Of many, all may have the same hash unless they are plain."""
        size = self._size(items)
        is_plain = not size.odd_numbers and size.values == 1 + len(items)
        pairs = len(items) if is_plain and len(items) > 15 else len(items) ** 2  # noqa: PLR2004
        number = ns.ODD_NUMBER if size.odd_numbers else ns.NUMBER
        has_numbers = size.odd_numbers or not all(isinstance(item, str) for item in items)
        return size.values * ns.ELEMENT + size.characters + pairs * (number if has_numbers else ns.STEP)

    def _error(self, value: Any, level: int) -> int:
        size = self._size(value)
        echo = size.values * ns.ECHOED_VALUE + size.characters * ns.ECHOED_CHARACTER
        return ns.ERROR + level * ns.ERROR_LEVEL + echo

    def _size(self, value: Any) -> _Size:
        if isinstance(value, str):
            return _Size(1, len(value), 0)
        if isinstance(value, dict | list):
            if id(value) not in self._sizes:
                parts = list(value.values()) if isinstance(value, dict) else value
                names = sum(map(len, value)) if isinstance(value, dict) else 0
                values, characters, odd = zip((1, names, 0), *map(self._size, parts), strict=True)
                self._sizes[id(value)] = _Size(sum(values), sum(characters), sum(odd))
            return self._sizes[id(value)]
        if isinstance(value, int | float) and ns.is_odd(value):
            return _Size(1, value.bit_length() // 3 if isinstance(value, int) else 0, 1)
        return _Size(1, 0, 0)
