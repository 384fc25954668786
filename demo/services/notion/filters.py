"""Validation of filters: each condition is one test of one property, as in the types of Notion's SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from demo.services.notion.rules import check_array, check_id, is_date, require
from demo.services.notion.store import Json

MAX_NESTED = 2
EXACT, PART = frozenset({"equals", "does_not_equal"}), frozenset({"contains", "does_not_contain"})
EMPTY = frozenset({"is_empty", "is_not_empty"})
PEOPLE = ("people", "created_by", "last_edited_by")
TEXT = EXACT | PART | EMPTY | {"starts_with", "ends_with"}
SIZES = EXACT | EMPTY | {"greater_than", "less_than", "greater_than_or_equal_to", "less_than_or_equal_to"}
PERIODS = frozenset(
    {"this_week", *(f"{when}_{what}" for when in ("past", "next") for what in ("week", "month", "year"))}
)
DATES = EMPTY | PERIODS | {"equals", "before", "after", "on_or_before", "on_or_after"}
RELATIVE = frozenset(
    {"today", "tomorrow", "yesterday", "one_week_ago", "one_week_from_now", "one_month_ago", "one_month_from_now"}
)
OPERATORS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("title", "rich_text", "url", "email", "phone_number"), TEXT),
    **dict.fromkeys(("number", "unique_id"), SIZES),
    **dict.fromkeys(("select", "status"), EXACT | EMPTY),
    **dict.fromkeys(("multi_select", "relation", *PEOPLE), PART | EMPTY),
    **dict.fromkeys(("date", "created_time", "last_edited_time"), DATES),
    "checkbox": EXACT,
    "files": EMPTY,
}


def check_filter(object_: Json, properties: Mapping[str, Json], depth: int = 0) -> None:
    require(isinstance(object_, dict), "body failed validation: body.filter should be an object.")
    for word in ("and", "or"):
        if word in object_:
            require(depth < MAX_NESTED, f"body failed validation: body.filter.{word} should be not present.")
            require(len(object_) == 1, f"body failed validation: body.filter has more than `{word}`.")
            for item in check_array(object_[word], f"body.filter.{word}"):
                check_filter(item, properties, depth + 1)
            return
    kind = object_["timestamp"] if "timestamp" in object_ else _kind_of(object_, properties)
    _check_test(kind, object_.get(kind))


def _kind_of(object_: Json, properties: Mapping[str, Json]) -> str:
    known = properties.get(object_.get("property", ""))
    require(known, f"Could not find property with name or id: {object_.get('property')}")
    assert known
    kind = str(known["type"])
    wrong = next((name for name in object_ if name not in ("property", "type")), "")
    require(kind in object_, f"database property {kind} does not match filter {wrong}")
    return kind


def _check_test(kind: str, test: object) -> None:
    where = f"body failed validation: body.filter.{kind}"
    require(isinstance(test, dict) and len(test) == 1, f"{where} should be one condition, instead was `{test}`.")
    assert isinstance(test, dict)
    for name, value in test.items():
        require(name in OPERATORS[kind], f"{where}.{name} should be not present.")
        check, wanted = _check_of(kind, name)
        require(check(value), f"{where}.{name} should be {wanted}, instead was `{value!r}`.")


def _check_of(kind: str, name: str) -> Check:
    if name in EMPTY:
        return lambda value: value is True, "`true`"
    if name in PERIODS:
        return lambda value: value == {}, "an empty object"
    return CHECKS.get(kind, (lambda value: isinstance(value, str), "a string"))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_id(value: object) -> bool:
    check_id(value, "body.filter")
    return True


Check = tuple[Callable[[Any], object], str]
CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(("number", "unique_id"), (_is_number, "a number")),
    **dict.fromkeys(PEOPLE, (lambda value: value == "me" or _is_id(value), "an id")),
    **dict.fromkeys(("select", "status", "multi_select"), (lambda value: isinstance(value, str | list), "a string")),
    **dict.fromkeys(
        ("date", "created_time", "last_edited_time"),
        (lambda value: value in RELATIVE or is_date(value), "a valid ISO 8601 date string"),
    ),
    "checkbox": (lambda value: isinstance(value, bool), "a boolean"),
    "relation": (_is_id, "an id"),
}
