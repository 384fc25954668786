"""What the validator does with the keywords of one schema, in nanoseconds that were measured and rounded up.

The figures are those of jsonschema-rs for values of Python on a core of 2020 or later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from api.toolbox.json_schema.patterns import PatternCost
from api.toolbox.json_schema.references import References

STEP = 60
"""A keyword that looks at a value's kind, size or presence."""
COMPARISON = 25
ELEMENT = 300
"""An element or a member of a value that is compared as a whole."""
NUMBER = 2_500
"""An exact comparison or division of two numbers."""
ODD_NUMBER = 50_000
"""The same if one is very large or very close to zero."""
PATTERN = 250
"""A match, beside the time for each character."""
ERROR = 5_000
ERROR_LEVEL = 400
"""For each level of its place, which an error names three times."""
ECHOED_VALUE, ECHOED_CHARACTER = 600, 30
"""For what an error repeats."""

_SAME = ("not", "if", "then", "else")
_SAME_MAPS = ("dependentSchemas", "dependencies")
_EACH_MEMBER = ("additionalProperties", "unevaluatedProperties")
_EACH_ITEM = ("items", "additionalItems", "contains", "unevaluatedItems")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_ONLY_DESCRIBING = frozenset({"$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$comment"}) | {
    *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly")
}
_OF_A_STEP = frozenset({"type", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_PLAIN = _ONLY_DESCRIBING | _OF_A_STEP
_OF_CONSTANTS = frozenset({"enum", "const", "required", *_NUMBERS})
_OF_TEXTS = frozenset({"pattern", "format", "contentMediaType", "contentEncoding"})
_OF_THE_SAME = frozenset(
    {*_SAME, *_SAME_MAPS, "allOf", "anyOf", "oneOf", "dependentRequired", "$ref", "$dynamicRef", "$recursiveRef"}
)
_OF_MEMBERS = frozenset({"properties", "patternProperties", "propertyNames", "prefixItems", *_EACH_MEMBER, *_EACH_ITEM})
_NOT_ASSERTED = _ONLY_DESCRIBING | {
    *("properties", "patternProperties", "items", "prefixItems", "additionalItems", "allOf", "if", "then", "else"),
    *("$ref", "$dynamicRef", "$recursiveRef", "required"),
}
"""These keywords cause no error of their own."""
_PLAIN_FROM, _PLAIN_TO = 1e-6, 1e15


def is_plain(schema: Mapping[str, Any]) -> bool:
    """Whether each keyword takes a step and holds no schema that is applied."""
    return _PLAIN.issuperset(schema)


def plain_cost(schema: Mapping[str, Any]) -> int:
    return STEP * (1 + len(schema))


def is_odd(number: float) -> bool:
    return number != 0 and not _PLAIN_FROM <= abs(number) <= _PLAIN_TO


@dataclass(slots=True)
class KeywordCosts:
    """The keywords of one schema, apart from those of the schemas within it."""

    own: int = STEP
    """For any value."""
    numbers: int = 0
    """Constants that a number is compared with."""
    odd_numbers: int = 0
    per_character: int = 1
    """Of a text."""
    patterns: int = 0
    """That are matched with each name of an object."""
    per_name_character: int = 0
    is_unique: bool = False
    assertions: int = 1
    """Errors that one value can cause."""
    echo: int = 0
    """For the constants that errors repeat."""
    alternatives: tuple[Any, ...] = ()
    """Schemas for the same value, whose errors are all reported together."""
    same: tuple[Any, ...] = ()
    """The other schemas for the same value."""
    properties: Mapping[str, Any] | None = None
    members: tuple[Any, ...] = ()
    """Schemas for all values of an object."""
    names: tuple[Any, ...] = ()
    prefix: tuple[Any, ...] = ()
    items: tuple[Any, ...] = ()
    marks: bool = False
    """Whether it looks at what the schemas for the same value have evaluated, which evaluates them again."""


def keyword_costs(
    schema: Mapping[str, Any], references: References, patterns: Mapping[str, PatternCost]
) -> KeywordCosts:
    costs = KeywordCosts(own=plain_cost(schema), assertions=len(schema.keys() - _NOT_ASSERTED))
    if is_plain(schema):
        return costs
    if not _OF_CONSTANTS.isdisjoint(schema):
        _add_constants(costs, schema)
    if not _OF_TEXTS.isdisjoint(schema):
        _add_texts(costs, schema, patterns)
    costs.is_unique = schema.get("uniqueItems") is True
    costs.marks = "unevaluatedProperties" in schema or "unevaluatedItems" in schema
    if not _OF_THE_SAME.isdisjoint(schema):
        _add_same(costs, schema, references)
    if not _OF_MEMBERS.isdisjoint(schema):
        _add_members(costs, schema, patterns)
    return costs


def _add_constants(costs: KeywordCosts, schema: Mapping[str, Any]) -> None:
    constants = [*_list(schema, "enum"), *([schema["const"]] if "const" in schema else [])]
    costs.echo += ECHOED_VALUE * len(constants)
    if all(isinstance(constant, str) for constant in constants):  # the validator has a table of them
        costs.echo += ECHOED_CHARACTER * sum(map(len, constants))
    else:
        for constant in constants:
            _add_constant(costs, constant)
    for word in _NUMBERS:
        if word in schema:
            _add_constant(costs, schema[word])
    required = len(_list(schema, "required"))
    costs.own += COMPARISON * required
    costs.assertions += required


def _add_constant(costs: KeywordCosts, constant: object) -> None:
    for value in _values(constant):
        costs.own += COMPARISON if value is constant else ELEMENT
        if isinstance(value, str):
            costs.echo += ECHOED_CHARACTER * len(value)
        elif isinstance(value, int | float):
            odd = is_odd(value)
            costs.odd_numbers += odd
            costs.numbers += not odd
        else:
            costs.echo += ECHOED_VALUE


def _values(value: object) -> Iterator[object]:
    waiting = [value]
    while waiting:
        current = waiting.pop()
        yield current
        if isinstance(current, dict):
            waiting += current.values()
        elif isinstance(current, list):
            waiting += current


def _add_texts(costs: KeywordCosts, schema: Mapping[str, Any], patterns: Mapping[str, PatternCost]) -> None:
    if isinstance(pattern := schema.get("pattern"), str):
        costs.own += PATTERN
        costs.per_character += _per_character([pattern], patterns)
    if "format" in schema or "contentMediaType" in schema or "contentEncoding" in schema:
        costs.own += 20 * STEP
        costs.per_character += 20


def _per_character(texts: Iterable[str], patterns: Mapping[str, PatternCost]) -> int:
    return sum(patterns[text].per_character for text in texts if text in patterns)


def _add_same(costs: KeywordCosts, schema: Mapping[str, Any], references: References) -> None:
    costs.same = (
        *(schema[word] for word in _SAME if word in schema),
        *_list(schema, "allOf"),
        *references.targets(schema),
    )
    if "anyOf" in schema or "oneOf" in schema:
        costs.alternatives = (*_list(schema, "anyOf"), *_list(schema, "oneOf"))
    if any(word in schema for word in (*_SAME_MAPS, "dependentRequired")):
        _add_dependent(costs, schema)


def _add_dependent(costs: KeywordCosts, schema: Mapping[str, Any]) -> None:
    dependent = [each for word in (*_SAME_MAPS, "dependentRequired") for each in _map(schema, word).values()]
    names = sum(len(each) for each in dependent if isinstance(each, list))
    costs.own += STEP * (names + len(dependent))
    costs.assertions += names
    costs.same += tuple(each for each in dependent if not isinstance(each, list))


def _add_members(costs: KeywordCosts, schema: Mapping[str, Any], patterns: Mapping[str, PatternCost]) -> None:
    by_pattern = _map(schema, "patternProperties")
    costs.patterns = 2 * len(by_pattern)  # those that no pattern matches are looked for with all of them again
    costs.per_name_character = 2 * _per_character(by_pattern, patterns)
    costs.properties = _map(schema, "properties")
    costs.members = (*by_pattern.values(), *(schema[word] for word in _EACH_MEMBER if word in schema))
    costs.names = (schema["propertyNames"],) if "propertyNames" in schema else ()
    listed = schema.get("items") if isinstance(schema.get("items"), list) else []
    costs.prefix = (*_list(schema, "prefixItems"), *(listed or ()))
    costs.items = tuple(schema[word] for word in _EACH_ITEM if word in schema and not isinstance(schema[word], list))


def _list(schema: Mapping[str, Any], word: str) -> list[Any]:
    value = schema.get(word)
    return value if isinstance(value, list) else []


def _map(schema: Mapping[str, Any], word: str) -> Mapping[str, Any]:
    value = schema.get(word)
    return value if isinstance(value, dict) else {}
