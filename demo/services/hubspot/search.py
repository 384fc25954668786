"""HubSpot's search: filters, sorting, and the searches that it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from demo.oauth_provider.http import Json
from demo.services.hubspot.data import ASSOCIATIONS
from demo.services.hubspot.properties import DATETIME, NUMBER, STRING, types

REACHABLE = 10_000
PLURALS = {"contact": "contacts", "company": "companies", "deal": "deals"}
SEARCHED_PROPERTIES = {
    "contacts": ("firstname", "lastname", "email", "phone", "company"),
    "companies": ("name", "domain", "phone", "website"),
    "deals": ("dealname", "pipeline", "dealstage", "description"),
}
OPERANDS: Mapping[str, set[str]] = {
    **{name: {"value"} for name in ("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "CONTAINS_TOKEN", "NOT_CONTAINS_TOKEN")},
    **{name: {"values"} for name in ("IN", "NOT_IN")},
    **{name: set() for name in ("HAS_PROPERTY", "NOT_HAS_PROPERTY")},
    "BETWEEN": {"value", "highValue"},
}
COMPARES: Mapping[str, Callable[[float, float], bool]] = {
    "LT": lambda has, value: has < value,
    "LTE": lambda has, value: has <= value,
    "GT": lambda has, value: has > value,
    "GTE": lambda has, value: has >= value,
}


UNSPECIFIC_ERROR = "There was a problem with the request."
"""HubSpot's error message for most invalid searches, which gives no reason."""


class BadSearch(Exception):
    pass


def search(records: list[Json], kind: str, body: Json) -> tuple[list[Json], int, str | None]:
    """The page, the total, and the position of the next page."""
    limit, start = _limits(body)
    there_are = types(kind, records)
    groups = _groups(body.get("filterGroups", []), there_are)
    if any(item["propertyName"] not in there_are for item in body.get("sorts", [])):
        raise BadSearch(UNSPECIFIC_ERROR)
    words = [item.lower() for item in re.findall(r"\w+", _query(body))]
    there = [record for record in records if not record["archived"] and _contains_words(record, kind, words)]
    found = [
        record
        for record in there
        if not groups or any(_matches_group(record, kind, group, there_are) for group in groups)
    ]
    for order in body.get("sorts", [])[:1]:
        found = _sorted(found, order["propertyName"], order["direction"])
    after = str(start + limit) if len(found) > start + limit else None
    return found[start : start + limit], len(found), after


def _limits(body: Json) -> tuple[int, int]:
    limit, after = body.get("limit", 10), body.get("after", "0")
    if not isinstance(limit, int) or not 1 <= limit <= 200:
        raise BadSearch("limit has to be a number from 1 to 200.")
    if not isinstance(after, str) or not after.isdecimal():
        raise BadSearch("after has to be an integer, as a string.")
    if int(after) + limit > REACHABLE:
        raise BadSearch(f"Paging through results stops at {REACHABLE}.")
    return limit, int(after)


def _query(body: Json) -> str:
    query = body.get("query", "")
    if not isinstance(query, str) or len(query) > 3000:
        raise BadSearch("query has at most 3000 characters.")
    return query


def _groups(groups: list[Json], there_are: Mapping[str, str]) -> list[list[Json]]:
    if len(groups) > 5 or any(len(group.get("filters", ())) > 6 for group in groups):
        raise BadSearch("There may be 5 groups of 6 filters.")
    for item in (one for group in groups for one in group["filters"]):
        _check(item, there_are)
    return [group["filters"] for group in groups]


def _check(one: Json, there_are: Mapping[str, str]) -> None:
    operator, name = one.get("operator"), one.get("propertyName")
    if operator not in OPERANDS:
        raise BadSearch(f"{operator} is no operator.")
    if name not in there_are and name not in (f"associations.{plural}" for plural in PLURALS):
        raise BadSearch(UNSPECIFIC_ERROR)
    if one.keys() - {"operator", "propertyName"} != OPERANDS[operator]:
        raise BadSearch(f"{operator} takes {sorted(OPERANDS[operator])}.")
    values = [*one.get("values", ()), *(one[item] for item in ("value", "highValue") if item in one)]
    if there_are.get(name) in (NUMBER, DATETIME) and not all(re.fullmatch(r"-?[0-9.]+", value) for value in values):
        raise BadSearch(UNSPECIFIC_ERROR)


def _contains_words(record: Json, kind: str, words: list[str]) -> bool:
    there = " ".join(record["properties"].get(name) or "" for name in SEARCHED_PROPERTIES[kind]).lower()
    tokens = re.findall(r"\w+", there)
    return all(any(token.startswith(word) for token in tokens) for word in words)


def _matches_group(record: Json, kind: str, filters: list[Json], there_are: Mapping[str, str]) -> bool:
    return all(
        _matches_filter(record, kind, filter_, there_are.get(filter_["propertyName"], "")) for filter_ in filters
    )


def _matches_filter(record: Json, kind: str, one: Json, of_type: str) -> bool:
    name, operator = one["propertyName"], one["operator"]
    if name.startswith("associations."):
        ids = ASSOCIATIONS(kind, record["id"], PLURALS[name.partition(".")[2]])
        return bool({one.get("value"), *one.get("values", ())} & set(ids))
    has = record["properties"].get(name)
    if operator in ("HAS_PROPERTY", "NOT_HAS_PROPERTY"):
        return bool(has) == (operator == "HAS_PROPERTY")
    if operator in ("NEQ", "NOT_IN", "NOT_CONTAINS_TOKEN"):
        return not _compare(has, operator.replace("NEQ", "EQ").removeprefix("NOT_"), one, of_type)
    return _compare(has, operator, one, of_type)


def _compare(has: str | None, operator: str, one: Json, of_type: str) -> bool:
    """For texts, EQ ignores case and IN expects lower case; ids must match exactly."""
    if not has:
        return False
    match operator:
        case "EQ" | "IN":
            wanted = one["values"] if operator == "IN" else [one["value"]]
            if of_type in (NUMBER, DATETIME):
                return _number(has) in map(_number, wanted)
            is_text = of_type == STRING
            return (has.lower() if is_text else has) in [
                item.lower() if is_text and operator == "EQ" else item for item in wanted
            ]
        case "CONTAINS_TOKEN":
            pattern = re.escape(one["value"].lower()).replace(r"\*", r"\w*")
            return re.search(rf"\b{pattern}\b", has.lower()) is not None
        case "BETWEEN":
            return _number(one["value"]) <= _number(has) <= _number(one["highValue"])
        case _:
            return COMPARES[operator](_number(has), _number(one["value"]))


def _number(text: str) -> float:
    """Times are compared as milliseconds; only stored values may be dates."""
    try:
        return float(text)
    except ValueError:
        return datetime.fromisoformat(text).timestamp() * 1000


def _sorted(records: list[Json], name: str, direction: str) -> list[Json]:
    """Records without a value come last in both directions."""
    full = [record for record in records if record["properties"].get(name)]
    full.sort(key=lambda value: _sort_key(value, name), reverse=direction == "DESCENDING")
    return full + [record for record in records if not record["properties"].get(name)]


def _sort_key(record: Json, name: str) -> Any:
    value = record["properties"].get(name) or ""
    return (0, float(value), "") if re.fullmatch(r"[0-9.]+", value) else (1, 0.0, value)
