"""Filters and sorts the pages of a data source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from demo.services.notion.store import NOW, Json, plain

TODAY = date.fromisoformat(NOW[:10])
DAYS: Mapping[str, int] = {
    "today": 0,
    "tomorrow": 1,
    "yesterday": -1,
    "one_week_ago": -7,
    "one_week_from_now": 7,
    "one_month_ago": -30,
    "one_month_from_now": 30,
}
WEEK, MONTH, YEAR = 7, 30, 365
MONDAY = -TODAY.weekday()
PERIODS: Mapping[str, tuple[int, int]] = {
    "this_week": (MONDAY, MONDAY + 6),
    **{f"past_{name}": (-days, 0) for name, days in (("week", WEEK), ("month", MONTH), ("year", YEAR))},
    **{f"next_{name}": (0, days) for name, days in (("week", WEEK), ("month", MONTH), ("year", YEAR))},
}

TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "equals": lambda value, wanted: value == wanted,
    "does_not_equal": lambda value, wanted: value != wanted,
    "contains": lambda value, wanted: wanted in (value or ""),
    "does_not_contain": lambda value, wanted: wanted not in (value or ""),
    "starts_with": lambda value, wanted: str(value or "").startswith(wanted),
    "ends_with": lambda value, wanted: str(value or "").endswith(wanted),
    "is_empty": lambda value, _: not value,
    "is_not_empty": lambda value, _: bool(value),
    "greater_than": lambda value, wanted: value is not None and value > wanted,
    "less_than": lambda value, wanted: value is not None and value < wanted,
    "greater_than_or_equal_to": lambda value, wanted: value is not None and value >= wanted,
    "less_than_or_equal_to": lambda value, wanted: value is not None and value <= wanted,
    "before": lambda value, wanted: bool(value) and value < wanted,
    "after": lambda value, wanted: bool(value) and value > wanted,
    "on_or_before": lambda value, wanted: bool(value) and value <= wanted,
    "on_or_after": lambda value, wanted: bool(value) and value >= wanted,
}
READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("title", "rich_text"), plain),
    **dict.fromkeys(("select", "status"), lambda value: value["name"]),
    **dict.fromkeys(("people", "relation"), lambda value: [item["id"] for item in value]),
    **dict.fromkeys(("created_by", "last_edited_by"), lambda value: [value["id"]]),
    "multi_select": lambda value: [item["name"] for item in value],
    "date": lambda value: value["start"],
    "unique_id": lambda value: value["number"],
}


def matching(pages: Sequence[Json], wanted: Json | None, sorts: Sequence[Json]) -> list[Json]:
    found = [page for page in pages if wanted is None or _matches(page, wanted)]
    for item in reversed(sorts):
        name = item.get("property") or item["timestamp"]
        full = [page for page in found if _value(page, name) is not None]
        full.sort(key=lambda page: _value(page, name), reverse=item["direction"] == "descending")
        found = full + [page for page in found if _value(page, name) is None]
    return found


def _matches(page: Json, wanted: Json) -> bool:
    if "and" in wanted:
        return all(_matches(page, item) for item in wanted["and"])
    if "or" in wanted:
        return any(_matches(page, item) for item in wanted["or"])
    name = wanted.get("timestamp") or wanted["property"]
    kind = wanted.get("timestamp") or page["properties"][name]["type"]
    ((test, requested),) = wanted[kind].items()
    value = _value(page, name)
    if test in PERIODS:
        first, last = (_day(days) for days in PERIODS[test])
        return bool(value) and first <= value[:10] <= last
    if kind in ("date", "created_time", "last_edited_time") and value and test not in ("is_empty", "is_not_empty"):
        requested = _day(DAYS[requested]) if requested in DAYS else requested
        value = value[: len(requested)]  # a day is compared with a day
    return TESTS[test](value, requested)


def _day(days: int) -> str:
    return (TODAY + timedelta(days=days)).isoformat()


def _value(page: Json, name: str) -> Any:
    if name in ("created_time", "last_edited_time") and name not in page["properties"]:
        return page[name]
    result = page["properties"][name]
    read, value = READERS.get(result["type"]), result[result["type"]]
    return read(value) if read and value else value
