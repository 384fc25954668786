"""Conversion of the filters and sorts that models write to Notion's own form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from integrations.json_object import Json
from integrations.notion.comparisons import conditions_on, default_test, is_test
from integrations.notion.parsing import page_id
from integrations.notion.property_values import FindPerson, InvalidValue, quote
from integrations.notion.schema import PropertyDefinition, PropertySchema
from integrations.service_client import ToolFailed

TIMESTAMP = "(timestamp)"
TIMES = {name: PropertyDefinition(name, name, TIMESTAMP) for name in ("created_time", "last_edited_time")}
"""Every page has these times, whether or not the database has such properties."""
TYPED_FORMS: Mapping[str, str] = {
    "formula": '{"property": "%s", "formula": {"number": {"greater_than": 5}}}, or string, checkbox, date for number',
    "rollup": '{"property": "%s", "rollup": {"any": {"rich_text": {"contains": "x"}}}}, or every, none, number, date',
}
"""The forms of filters for properties whose values have their own types, which the filter must state."""
CONDITION_FORM = 'a condition needs a property and a test, such as {"property": "Status", "equals": "Done"}'
MOST_VALUES = 100
TOO_MANY = f"it has more than {MOST_VALUES} conditions and values"
DEEPEST = 2
TOO_DEEP = "`and` and `or` can be nested once: Notion does not accept deeper filters"
TEST_WORDS, VALUE_WORDS = ("operator", "op", "comparison", "comparator", "condition"), ("value", "values")
NOT_VALUES = ("property", "timestamp", "type", *TEST_WORDS)
DIRECTIONS: Mapping[str, str] = {"asc": "ascending", "desc": "descending"}


def to_notion_filter(filter_: Mapping[str, Any], schema: PropertySchema, who: FindPerson = page_id) -> Json:
    """Accept Notion's own filters, even with a wrong or missing type, and the short form `{"Status": "Done"}`."""
    try:
        _check_size(filter_)
        return _check_depth(_filter(filter_, schema, who))
    except InvalidValue as invalid:
        raise ToolFailed("invalid_arguments", f"The filter is not valid: {invalid}.") from invalid


def to_notion_sorts(sorts: Sequence[Any], schema: PropertySchema) -> list[Json]:
    try:
        return [_sort(item, schema) for item in sorts]
    except InvalidValue as invalid:
        raise ToolFailed("invalid_arguments", f"The sorts are not valid: {invalid}.") from invalid


def _check_size(filter_: Mapping[str, Any]) -> None:
    remaining, count = [filter_], 0
    while remaining and count <= MOST_VALUES:
        part: Any = remaining.pop()
        if isinstance(part, Mapping) and part:
            remaining += [item for name, item in part.items() if name not in NOT_VALUES]
        elif isinstance(part, list) and part:
            remaining += part[: MOST_VALUES + 1]
        else:
            count += 1
    if count > MOST_VALUES:
        raise InvalidValue(TOO_MANY)


def _filter(conditions: Mapping[str, Any], schema: PropertySchema, who: FindPerson, depth: int = 0) -> Json:
    if depth > DEEPEST + 1:
        raise InvalidValue(TOO_DEEP)
    if not conditions:
        raise InvalidValue("it is empty")
    name = conditions.get("property", conditions.get("timestamp"))
    if isinstance(name, str):
        return _condition(_find_property(schema, name), conditions, who)
    groups = []
    for name, value in conditions.items():
        word = name.lower()
        if word in ("and", "or") and isinstance(value, list):
            groups.append(_combine(word, [_filter(_object(item), schema, who, depth + 1) for item in value]))
        else:
            groups.append(_condition(_find_property(schema, name), value, who))
    return _combine("and", groups)


def _combine(word: str, conditions: Sequence[Json]) -> Json:
    """Flatten groups of the same word: Notion accepts only two levels."""
    if not conditions:
        raise InvalidValue(f"`{word}` is empty")
    flattened = [
        inner for condition in conditions for inner in (condition[word] if condition.keys() == {word} else [condition])
    ]
    return flattened[0] if len(flattened) == 1 else {word: flattened}


def _check_depth(filter_: Json) -> Json:
    if _depth(filter_) > DEEPEST:
        raise InvalidValue(TOO_DEEP)
    return filter_


def _depth(filter_: Json) -> int:
    groups = [filter_[word] for word in ("and", "or") if word in filter_]
    return 1 + max(map(_depth, groups[0])) if groups else 0


def _condition(definition: PropertyDefinition, value: Any, who: FindPerson) -> Json:
    """All tests of one property. `value` may be a bare value: `{"Status": "Done"}`."""
    if definition.kind in TYPED_FORMS:
        return _typed_condition(definition, value)
    groups = [
        _combine("or", [_test_condition(definition, test) for test in alternatives])
        for alternatives in conditions_on(definition, _tests(definition, value), who)
    ]
    return _combine("and", groups)


def _test_condition(definition: PropertyDefinition, test: Json) -> Json:
    head = "timestamp" if definition.id == TIMESTAMP else "property"
    return {head: definition.name, definition.kind: test}


def _tests(definition: PropertyDefinition, value_or_tests: Any) -> Json:
    """The tests, which may stand below the name of a type, even a wrong one."""
    if value_or_tests is None:
        return {"equals": False} if definition.kind == "checkbox" else {"is_empty": True}
    if not isinstance(value_or_tests, Mapping):
        return {default_test(definition): value_or_tests}
    tests = {name: value for name, value in value_or_tests.items() if name not in ("property", "timestamp", "type")}
    inner = {name: value for name, value in tests.items() if isinstance(value, dict) and not is_test(name)}
    if inner and len(tests) == 1:
        return _tests(definition, *inner.values()) if any(inner.values()) else tests
    if not tests or inner.keys() - VALUE_WORDS:
        raise InvalidValue(CONDITION_FORM)
    has_value = any(name in tests for name in VALUE_WORDS)
    value = next((tests[name] for name in VALUE_WORDS if name in tests), True)
    test = next((tests[name] for name in TEST_WORDS if isinstance(tests.get(name), str)), None)
    if test or (has_value and not any(map(is_test, tests))):
        return {test or default_test(definition): value}
    return tests


def _typed_condition(definition: PropertyDefinition, value: Any) -> Json:
    name, kind = definition.name, definition.kind
    if not isinstance(value, Mapping) or kind not in value:
        raise InvalidValue(f"`{name}` is a {kind}: write the condition as {TYPED_FORMS[kind] % name}")
    return {"property": name, kind: value[kind]}


def _find_property(schema: PropertySchema, name: str) -> PropertyDefinition:
    """The property of this name, or a time that every page has."""
    if (time := TIMES.get(name.lower())) and not any(property_.name == name for property_ in schema.properties):
        return time
    try:
        return schema.find(name)
    except InvalidValue as invalid:
        raise InvalidValue(f"`{quote(name)}`: {invalid}") from invalid


def _sort(value: Any, schema: PropertySchema) -> Json:
    if isinstance(value, str):
        is_descending = value.startswith("-")
        value = {"property": value.lstrip("+-"), "direction": "descending" if is_descending else "ascending"}
    sort = _object(value)
    word = str(sort.get("direction") or "ascending").lower()
    direction = DIRECTIONS.get(word, word)
    if direction not in DIRECTIONS.values():
        raise InvalidValue("a direction must be ascending or descending")
    definition = _find_property(schema, str(sort.get("timestamp") or sort.get("property") or ""))
    return {"timestamp" if definition.id == TIMESTAMP else "property": definition.name, "direction": direction}


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidValue("each condition and each sort must be an object")
    return value
