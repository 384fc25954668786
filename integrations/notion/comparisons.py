"""Tests of filters, by the type of the property, for the words that models write."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from integrations.json_object import Json
from integrations.notion.parsing import page_id
from integrations.notion.property_values import (
    FALSE,
    PAGE_IDS_NEEDED,
    TRUE,
    FindPerson,
    InvalidValue,
    parse_moment,
    parse_number,
    quote,
)
from integrations.notion.schema import PropertyDefinition
from integrations.text import one_line

EXACT, PART, EMPTY = ("equals", "does_not_equal"), ("contains", "does_not_contain"), ("is_empty", "is_not_empty")
COMPARISONS = ("greater_than", "less_than", "greater_than_or_equal_to", "less_than_or_equal_to")
TIME_COMPARISONS = ("after", "before", "on_or_after", "on_or_before")
PERIODS = ("this_week", "past_week", "past_month", "past_year", "next_week", "next_month", "next_year")
TEXTS = ("title", "rich_text", "url", "email", "phone_number")
DATES = ("date", "created_time", "last_edited_time")
PEOPLE = ("people", "created_by", "last_edited_by")
SEVERAL = ("multi_select", "relation", *PEOPLE)
RELATIVE = (
    *("today", "tomorrow", "yesterday", "one_week_ago", "one_week_from_now", "one_month_ago"),
    "one_month_from_now",
)
OPERATORS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(TEXTS, (*EXACT, *PART, "starts_with", "ends_with", *EMPTY)),
    **dict.fromkeys(("number", "unique_id"), (*EXACT, *COMPARISONS, *EMPTY)),
    **dict.fromkeys(("select", "status"), (*EXACT, *EMPTY)),
    **dict.fromkeys(SEVERAL, (*PART, *EMPTY)),
    **dict.fromkeys(DATES, ("equals", *TIME_COMPARISONS, *PERIODS, *EMPTY)),
    "checkbox": EXACT,
    "files": EMPTY,
    "verification": ("status", "does_not_equal"),
}
"""Notion's tests, by the type of the property."""
_SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(("eq", "=", "==", "is", "equal", "equal_to", "on"), "equals"),
    **dict.fromkeys(("ne", "neq", "!=", "<>", "not", "is_not", "not_equal", "not_equals"), "does_not_equal"),
    **dict.fromkeys(("gt", ">", "greater", "more_than"), "greater_than"),
    **dict.fromkeys(("lt", "<", "less", "less_than"), "less_than"),
    **dict.fromkeys(("gte", "ge", ">=", "greater_than_or_equal"), "greater_than_or_equal_to"),
    **dict.fromkeys(("lte", "le", "<=", "less_than_or_equal"), "less_than_or_equal_to"),
    **dict.fromkeys(("contain", "includes", "include", "has", "like", "in", "any_of"), "contains"),
    **dict.fromkeys(("not_contains", "not_contain", "does_not_include", "not_in", "none_of"), "does_not_contain"),
    **dict.fromkeys(("empty", "is_null"), "is_empty"),
    "not_empty": "is_not_empty",
    "begins_with": "starts_with",
    "since": "on_or_after",
    "until": "on_or_before",
}
_REPLACEMENTS: Mapping[str, tuple[str, ...]] = {
    **{test: (other,) for test, other in zip((*EXACT, *PART), (*PART, *EXACT), strict=True)},
    **{
        test: (other,)
        for test, other in zip((*COMPARISONS, *TIME_COMPARISONS), (*TIME_COMPARISONS, *COMPARISONS), strict=True)
    },
    "equals": ("contains", "status"),
}
"""The replacement for a test that a type does not have."""
A_MONTH = 'a month is {"on_or_after": "2026-11-01", "before": "2026-12-01"}'
_TESTS = frozenset(test for tests in OPERATORS.values() for test in tests) - {"status"}
NO_VALUE = "the value to compare with is missing"
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def is_test(name: str) -> bool:
    """Whether a word is a test; `status` is not, because it is usually the name of a type."""
    return _normalise(name) in _TESTS


def default_test(definition: PropertyDefinition) -> str:
    """The test for a bare value."""
    return "contains" if definition.kind in (*TEXTS, *SEVERAL) else "equals"


def conditions_on(definition: PropertyDefinition, tests: Mapping[str, Any], who: FindPerson) -> list[list[Json]]:
    """Lists of alternative conditions, one of which must hold. A condition of Notion has one test and one value."""
    try:
        return [
            alternatives for name, value in tests.items() for alternatives in _conditions(definition, name, value, who)
        ]
    except InvalidValue as invalid:
        raise InvalidValue(f"`{one_line(definition.name)}`: {invalid}") from invalid


def _conditions(definition: PropertyDefinition, name: str, value: Any, who: FindPerson) -> list[list[Json]]:
    if definition.kind not in OPERATORS:
        return [[{name: value}]]
    test = _find_test(definition, name)
    if not isinstance(value, list):
        return [[_condition(definition, test, value, who)]]
    if not value:
        raise InvalidValue(NO_VALUE)
    conditions = [_condition(definition, test, item, who) for item in value]
    return [[condition] for condition in conditions] if test.startswith("does_not") else [conditions]


def _normalise(name: str) -> str:
    plain = re.sub(r"[\s-]+", "_", _HUMPS.sub("_", name.strip())).lower()
    return _SYNONYMS.get(plain, plain)


def _find_test(definition: PropertyDefinition, name: str) -> str:
    test, tests = _normalise(name), OPERATORS[definition.kind]
    for spelling in (test, *_REPLACEMENTS.get(test, ())):
        if spelling in tests:
            return spelling
    month = f"; {A_MONTH}" if definition.kind in DATES else ""
    raise InvalidValue(f"{quote(name)} is not a test of a {definition.kind}. Tests: {', '.join(tests)}{month}")


def _condition(definition: PropertyDefinition, test: str, value: Any, who: FindPerson) -> Json:
    if test in PERIODS:
        return _period(test, value)
    if value is None and test in (*COMPARISONS, *TIME_COMPARISONS):
        raise InvalidValue(NO_VALUE)
    if value is None and EMPTY[0] in OPERATORS[definition.kind]:
        return {EMPTY[test.startswith("does_not") or test == EMPTY[1]]: True}
    if test in EMPTY:
        is_true = str(value).lower() not in FALSE or value in ({}, "")
        return {test if is_true else EMPTY[1 - EMPTY.index(test)]: True}
    if definition.kind in DATES:
        word = _normalise(value) if isinstance(value, str) else ""
        return (
            {word: {}}
            if word in PERIODS and test == "equals"
            else {test: word if word in RELATIVE else _day_or_word(value)}
        )
    return {
        test: _option(definition, value) if definition.options else _READERS.get(definition.kind, _text)(value, who)
    }


def _period(test: str, value: Any) -> Json:
    if value not in ({}, True, None, "", "true"):
        raise InvalidValue(f"{test} takes no value, only {{}}")
    return {test: {}}


def _day_or_word(value: Any) -> str:
    start = value.get("start") if isinstance(value, dict) else value
    try:
        return parse_moment(start)
    except InvalidValue as invalid:
        month = f"; {A_MONTH}" if "month" in str(start).lower() else ""
        raise InvalidValue(f"{invalid}, or one of {', '.join(RELATIVE)}{month}") from invalid


def _option(definition: PropertyDefinition, value: Any) -> Any:
    """The option in its own spelling: Notion finds nothing for `done` if the option is Done."""
    name = value.get("name") if isinstance(value, dict) else value
    if name in definition.options:
        return name
    options = [option for option in definition.options if option.lower() == str(name).lower()]
    if not options:
        raise InvalidValue(f"the option {quote(name)} does not exist. Options: {definition.all_options}")
    return options[0]


def _number(value: Any, _: FindPerson) -> float | int:
    return parse_number(value)


def _serial(value: Any, _: FindPerson) -> float | int:
    """`TASK-12` is number 12."""
    return parse_number(value.rpartition("-")[2] if isinstance(value, str) else value)


def _checkbox(value: Any, _: FindPerson) -> bool:
    word = str(value).lower()
    if word not in (*TRUE, *FALSE):
        raise InvalidValue("must be true or false")
    return word in TRUE


def _page(value: Any, _: FindPerson) -> str:
    try:
        return page_id(value)
    except ValueError as error:
        raise InvalidValue(PAGE_IDS_NEEDED) from error


def _person(value: Any, who: FindPerson) -> str:
    return who(str(value))


def _text(value: Any, _: FindPerson) -> Any:
    if value == "":
        raise InvalidValue("cannot be compared with an empty text; use null to find empty values")
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


_READERS: Mapping[str, Callable[[Any, FindPerson], Any]] = {
    "number": _number,
    "unique_id": _serial,
    "checkbox": _checkbox,
    "relation": _page,
    **dict.fromkeys(PEOPLE, _person),
}
