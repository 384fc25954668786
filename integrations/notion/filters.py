"""Filters and sorts, from the forms that models write to Notion's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from integrations.json_object import Json
from integrations.notion.comparisons import conditions_on, default_test, is_test
from integrations.notion.parsing import page_id
from integrations.notion.property_values import FindPerson, InvalidValue, quoted
from integrations.notion.schema import PropertyDefinition, PropertySchema
from integrations.service_client import ToolFailed

TIMESTAMP = "(timestamp)"
TIMES = {name: PropertyDefinition(name, name, TIMESTAMP) for name in ("created_time", "last_edited_time")}
"""Every page has these times, whether or not the database has such properties."""
AS_IS: Mapping[str, str] = {
    "formula": '{"property": "%s", "formula": {"number": {"greater_than": 5}}}, or string, checkbox, date for number',
    "rollup": '{"property": "%s", "rollup": {"any": {"rich_text": {"contains": "x"}}}}, or every, none, number, date',
}
"""Their values have types of their own, which only the filter can state."""
ONE_TEST = 'a condition needs a property and a test, such as {"property": "Status", "equals": "Done"}'
MOST_VALUES = 100
TOO_MANY = f"it has more than {MOST_VALUES} conditions and values"
DEEPEST = 2
TOO_DEEP = "`and` and `or` can be nested once: Notion does not accept deeper filters"
TEST_WORDS, VALUE_WORDS = ("operator", "op", "comparison", "comparator", "condition"), ("value", "values")
NO_VALUES = ("property", "timestamp", "type", *TEST_WORDS)
DIRECTIONS: Mapping[str, str] = {"asc": "ascending", "desc": "descending"}


def to_notion_filter(given: Mapping[str, Any], schema: PropertySchema, who: FindPerson = page_id) -> Json:
    """Accepts Notion's own filters, with a wrong type or none too, and `{"Status": "Done"}` for short."""
    try:
        _check_size(given)
        return _as_deep_as_can_be(_filter(given, schema, who))
    except InvalidValue as unfit:
        raise ToolFailed("invalid_arguments", f"The filter is not valid: {unfit}.") from unfit


def to_notion_sorts(given: Sequence[Any], schema: PropertySchema) -> list[Json]:
    try:
        return [_sort(item, schema) for item in given]
    except InvalidValue as unfit:
        raise ToolFailed("invalid_arguments", f"The sorts are not valid: {unfit}.") from unfit


def _check_size(given: Mapping[str, Any]) -> None:
    left, values = [given], 0
    while left and values <= MOST_VALUES:
        each: Any = left.pop()
        if isinstance(each, Mapping) and each:
            left += [value for name, value in each.items() if name not in NO_VALUES]
        elif isinstance(each, list) and each:
            left += each[: MOST_VALUES + 1]
        else:
            values += 1
    if values > MOST_VALUES:
        raise InvalidValue(TOO_MANY)


def _filter(given: Mapping[str, Any], schema: PropertySchema, who: FindPerson, depth: int = 0) -> Json:
    if depth > DEEPEST + 1:
        raise InvalidValue(TOO_DEEP)
    if not given:
        raise InvalidValue("it is empty")
    named = given.get("property", given.get("timestamp"))
    if isinstance(named, str):
        return _condition(_found(schema, named), given, who)
    parts = []
    for name, value in given.items():
        word = name.lower()
        if word in ("and", "or") and isinstance(value, list):
            parts.append(_joined(word, [_filter(_object(item), schema, who, depth + 1) for item in value]))
        else:
            parts.append(_condition(_found(schema, name), value, who))
    return _joined("and", parts)


def _joined(word: str, parts: Sequence[Json]) -> Json:
    """Flattens groups of the same word: Notion accepts only two levels."""
    if not parts:
        raise InvalidValue(f"`{word}` is empty")
    flat = [condition for part in parts for condition in (part[word] if part.keys() == {word} else [part])]
    return flat[0] if len(flat) == 1 else {word: flat}


def _as_deep_as_can_be(made: Json) -> Json:
    if _depth(made) > DEEPEST:
        raise InvalidValue(TOO_DEEP)
    return made


def _depth(of: Json) -> int:
    groups = [of[word] for word in ("and", "or") if word in of]
    return 1 + max(map(_depth, groups[0])) if groups else 0


def _condition(of: PropertyDefinition, given: Any, who: FindPerson) -> Json:
    """All tests of one property. `given` may be a bare value: `{"Status": "Done"}`."""
    if of.kind in AS_IS:
        return _as_is(of, given)
    every = [_joined("or", [_of(of, test) for test in any_of]) for any_of in conditions_on(of, _tests(of, given), who)]
    return _joined("and", every)


def _of(of: PropertyDefinition, test: Json) -> Json:
    head = "timestamp" if of.id == TIMESTAMP else "property"
    return {head: of.name, of.kind: test}


def _tests(of: PropertyDefinition, given: Any) -> Json:
    """Directly, or below the name of a type, which may be the wrong one."""
    if given is None:
        return {"equals": False} if of.kind == "checkbox" else {"is_empty": True}
    if not isinstance(given, Mapping):
        return {default_test(of): given}
    tests = {name: value for name, value in given.items() if name not in ("property", "timestamp", "type")}
    inner = {name: value for name, value in tests.items() if isinstance(value, dict) and not is_test(name)}
    if inner and len(tests) == 1:
        return _tests(of, *inner.values()) if any(inner.values()) else tests
    if not tests or inner.keys() - VALUE_WORDS:
        raise InvalidValue(ONE_TEST)
    has_value = any(name in tests for name in VALUE_WORDS)
    value = next((tests[name] for name in VALUE_WORDS if name in tests), True)
    word = next((tests[name] for name in TEST_WORDS if isinstance(tests.get(name), str)), None)
    if word or (has_value and not any(map(is_test, tests))):
        return {word or default_test(of): value}
    return tests


def _as_is(of: PropertyDefinition, given: Any) -> Json:
    if not isinstance(given, Mapping) or of.kind not in given:
        raise InvalidValue(f"`{of.name}` is a {of.kind}: write the condition as {AS_IS[of.kind] % of.name}")
    return {"property": of.name, of.kind: given[of.kind]}


def _found(schema: PropertySchema, name: str) -> PropertyDefinition:
    """The property of this name, or a time that every page has."""
    if (time := TIMES.get(name.lower())) and not any(property_.name == name for property_ in schema.properties):
        return time
    try:
        return schema.find(name)
    except InvalidValue as unfit:
        raise InvalidValue(f"`{quoted(name)}`: {unfit}") from unfit


def _sort(given: Any, schema: PropertySchema) -> Json:
    if isinstance(given, str):
        is_down = given.startswith("-")
        given = {"property": given.lstrip("+-"), "direction": "descending" if is_down else "ascending"}
    asked = _object(given)
    word = str(asked.get("direction") or "ascending").lower()
    direction = DIRECTIONS.get(word, word)
    if direction not in DIRECTIONS.values():
        raise InvalidValue("a direction must be ascending or descending")
    found = _found(schema, str(asked.get("timestamp") or asked.get("property") or ""))
    return {"timestamp" if found.id == TIMESTAMP else "property": found.name, "direction": direction}


def _object(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidValue("each condition and each sort must be an object")
    return given
