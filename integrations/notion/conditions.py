"""Which filter, and which order, does Notion understand for what a model has written?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from integrations.api import ToolFailed
from integrations.notion.ids import page_id
from integrations.notion.schema import Property, Schema
from integrations.notion.values import FALSE, TRUE, Unfit

TIMES = ("created_time", "last_edited_time")
CONTAINING = ("title", "rich_text", "url", "email", "phone_number", "multi_select", "people", "relation")
AS_IS = ("formula", "rollup")
"""What they hold has a type of its own, which only the filter says."""
OPERATORS = frozenset(
    {
        *("equals", "does_not_equal", "contains", "does_not_contain", "starts_with", "ends_with", "is_empty"),
        *("is_not_empty", "greater_than", "less_than", "greater_than_or_equal_to", "less_than_or_equal_to", "before"),
        *("after", "on_or_before", "on_or_after", "past_week", "past_month", "past_year", "this_week", "next_week"),
        *("next_month", "next_year"),
    }
)
DIRECTIONS: Mapping[str, str] = {"asc": "ascending", "desc": "descending"}

Json = dict[str, Any]


def filtered(given: Mapping[str, Any], schema: Schema) -> Json:
    """Notion's own filters, also where they name the wrong type or none; and `{"Status": "Done"}` for short."""
    try:
        return _filter(given, schema)
    except Unfit as unfit:
        raise ToolFailed("invalid_arguments", f"The filter does not fit: {unfit}.") from unfit


def ordered(given: Sequence[Any], schema: Schema) -> list[Json]:
    try:
        return [_sort(each, schema) for each in given]
    except Unfit as unfit:
        raise ToolFailed("invalid_arguments", f"The sorts do not fit: {unfit}.") from unfit


def _filter(given: Mapping[str, Any], schema: Schema) -> Json:
    for word in ("and", "or"):
        if isinstance(given.get(word), list) and len(given) == 1:
            return {word: [_filter(_object(each), schema) for each in given[word]]}
    if "timestamp" in given:
        return dict(given)
    if "property" in given:
        return _condition(schema, given)
    if not given:
        raise Unfit("it is empty")
    short = [_short(name, value, schema) for name, value in given.items()]
    return short[0] if len(short) == 1 else {"and": short}


def _condition(schema: Schema, given: Mapping[str, Any]) -> Json:
    found = _found(schema, str(given["property"]))
    said = {name: value for name, value in given.items() if name not in ("property", "type")}
    if isinstance(found, str):
        return {"timestamp": found, found: _test(said)}
    if found.kind in AS_IS:
        return _as_is(found, said)
    return {"property": found.name, found.kind: _fitted(found, _test(said))}


def _test(said: Mapping[str, Any]) -> Json:
    """`equals: …` as it stands, or below the name of a type, which may be the wrong one."""
    if said.keys() & OPERATORS:
        return dict(said)
    tests = [value for value in said.values() if isinstance(value, dict)]
    if len(tests) != 1 or len(said) != 1:
        raise Unfit("a condition has a property and one test, such as {'property': 'Status', 'equals': 'Done'}")
    return dict(tests[0])


def _short(name: str, value: Any, schema: Schema) -> Json:
    found = _found(schema, name)
    if isinstance(found, str):
        return {"timestamp": found, found: value if isinstance(value, dict) else {"equals": value}}
    if isinstance(value, dict):
        return _condition(schema, {"property": name, **value})
    if isinstance(value, list):
        several = [_short(name, each, schema) for each in value]
        return several[0] if len(several) == 1 else {"or": several}
    if found.kind in AS_IS:
        return _as_is(found, {})
    if value is None:
        return {"property": found.name, found.kind: {"is_empty": True}}
    operator = "contains" if found.kind in CONTAINING else "equals"
    return {"property": found.name, found.kind: _fitted(found, {operator: value})}


def _as_is(found: Property, said: Mapping[str, Any]) -> Json:
    if found.kind not in said:
        raise Unfit(
            f"`{found.name}` is a {found.kind}: write its condition in full, as Notion's reference of filters has it"
        )
    return {"property": found.name, **said}


def _found(schema: Schema, said: str) -> Property | str:
    """Or the name of a time that every page has."""
    if said.lower() in TIMES and not any(each.name == said for each in schema.properties):
        return said.lower()
    try:
        return schema.find(said)
    except Unfit as unfit:
        raise Unfit(f"`{said}`: {unfit}") from unfit


def _fitted(found: Property, test: Mapping[str, Any]) -> Json:
    """With values as they have to be: a number as text is a number."""
    read = _READERS.get(found.kind)
    if read is None:
        return {name: _option(found, value) for name, value in test.items()}
    return {name: value if name.startswith("is_") else read(value) for name, value in test.items()}


def _option(of: Property, value: Any) -> Any:
    """In the letters in which it is written there: Notion finds nothing for `done` where it is Done."""
    if not of.options or not isinstance(value, str) or value in of.options:
        return value
    alike = [each for each in of.options if each.lower() == value.lower()]
    if not alike:
        raise Unfit(f"`{of.name}` has no option {value}. It has: {', '.join(of.options)}")
    return alike[0]


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError as error:
        raise Unfit(f"{value} is no number") from error
    return int(number) if number.is_integer() else number


def _serial(value: Any) -> Any:
    """`TASK-12` is number 12."""
    return _number(value.rpartition("-")[2]) if isinstance(value, str) else value


def _truth(value: Any) -> Any:
    word = str(value).lower()
    return word in TRUE if word in (*TRUE, *FALSE) else value


def _id(value: Any) -> Any:
    if value == "me":
        return value
    try:
        return page_id(value)
    except ValueError as error:
        raise Unfit(f"{value} is no id: people and relations are found by their ids") from error


def _sort(given: Any, schema: Schema) -> Json:
    if isinstance(given, str):
        is_down = given.startswith("-")
        given = {"property": given.lstrip("+-"), "direction": "descending" if is_down else "ascending"}
    asked = _object(given)
    said = str(asked.get("direction") or "ascending").lower()
    direction = DIRECTIONS.get(said, said)
    if direction not in DIRECTIONS.values():
        raise Unfit("a direction is ascending or descending")
    found = _found(schema, str(asked.get("timestamp") or asked.get("property") or ""))
    if isinstance(found, str):
        return {"timestamp": found, "direction": direction}
    return {"property": found.name, "direction": direction}


def _object(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise Unfit("each condition and each sort is an object")
    return given


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "number": _number,
    "unique_id": _serial,
    "checkbox": _truth,
    "people": _id,
    "relation": _id,
    "created_by": _id,
    "last_edited_by": _id,
}
