from typing import Any

import pytest

from integrations.hubspot.deals import hubspot_search_deals
from integrations.hubspot.filters import Filter, sorts


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"property": "Amount", "value": 5}, {"propertyName": "amount", "operator": "EQ", "value": "5"}),
        (
            {"field": "amount", "op": ">=", "value": "5"},
            {"propertyName": "amount", "operator": "GTE", "value": "5"},
        ),
        (
            {"name": "closedate", "operator": "lt", "value": "2026-11-30"},
            {"propertyName": "closedate", "operator": "LT", "value": "1795996800000"},
        ),
        (
            {"name": "closedate", "operator": "GT", "value": "2026-11-30T01:00:00+01:00"},
            {"propertyName": "closedate", "operator": "GT", "value": "1795996800000"},
        ),
        (
            {"propertyName": "closedate", "operator": "between", "value": "1", "high_value": "2026-11-30"},
            {"propertyName": "closedate", "operator": "BETWEEN", "value": "1", "highValue": "1795996800000"},
        ),
        (
            {"propertyName": "batch", "operator": "EQ", "value": "2026-11-30"},
            {"propertyName": "batch", "operator": "EQ", "value": "2026-11-30"},
        ),
        (
            {"propertyName": "stage", "operator": "in", "values": ["a", "b"]},
            {"propertyName": "stage", "operator": "IN", "values": ["a", "b"]},
        ),
        (
            {"propertyName": "stage", "operator": "not in", "value": "a"},
            {"propertyName": "stage", "operator": "NOT_IN", "values": ["a"]},
        ),
        (
            {"propertyName": "email", "operator": "exists", "value": "whatever"},
            {"propertyName": "email", "operator": "HAS_PROPERTY"},
        ),
        (
            {"propertyName": "done", "value": True},
            {"propertyName": "done", "operator": "EQ", "value": "true"},
        ),
    ],
    ids=str,
)
def test_a_filter_is_sent_as_hubspot_wants_it_however_it_was_meant(given: dict[str, Any], sent: dict[str, Any]) -> None:
    assert Filter.model_validate(given).sent() == sent


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"value": "1"}, "`filters.0.propertyName` is required."),
        ({"propertyName": ["a"], "value": "1"}, "`filters.0.propertyName`: must be a text."),
        ({"propertyName": "amount"}, "`filters.0`: EQ needs `value`."),
        ({"propertyName": "amount", "operator": "IN"}, "`filters.0`: IN needs `values`, a list."),
        ({"propertyName": "closedate", "operator": "GT", "value": "2026-02-30"}, "`filters.0`: day is out of range"),
        ({"propertyName": "the amount", "value": "1"}, "`filters.0.propertyName`: an internal name has letters"),
        ({"propertyName": "amount", "value": ["1"]}, "`filters.0.value`: must be a text."),
    ],
)
def test_of_a_filter_that_cannot_be_it_is_told_why(given: dict[str, Any], problem: str) -> None:
    problems = hubspot_search_deals.parsed({"filters": [given]})

    assert isinstance(problems, list)
    assert problems[0].startswith(problem)


@pytest.mark.parametrize(
    "given",
    [
        [{"propertyName": "amount", "value": "1"}],
        {"propertyName": "amount", "value": "1"},
        [{"filters": [{"propertyName": "amount", "value": "1"}]}],
        {"filters": [{"propertyName": "amount", "value": "1"}]},
    ],
    ids=str,
)
def test_filters_may_be_one_or_many_and_in_a_group(given: object) -> None:
    for name in ("filters", "filterGroups"):
        asked = hubspot_search_deals.parsed({name: given})
        assert [each["propertyName"] for each in asked.model_dump(by_alias=True)["filters"]] == ["amount"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ("closedate", [{"propertyName": "closedate", "direction": "ASCENDING"}]),
        ("-CloseDate", [{"propertyName": "closedate", "direction": "DESCENDING"}]),
        ("closedate desc", [{"propertyName": "closedate", "direction": "DESCENDING"}]),
        (["-closedate"], [{"propertyName": "closedate", "direction": "DESCENDING"}]),
        (
            [{"propertyName": "closedate", "direction": "DESCENDING"}, {"propertyName": "amount"}],
            [{"propertyName": "closedate", "direction": "DESCENDING"}],
        ),
        ({"property": "closedate"}, [{"propertyName": "closedate", "direction": "ASCENDING"}]),
        ("", []),
    ],
    ids=str,
)
def test_one_order_is_understood_in_many_ways(given: object, order: list[dict[str, str]]) -> None:
    asked = hubspot_search_deals.parsed({"query": "looms", "sort": given})

    assert sorts(asked.sort) == order  # type: ignore[union-attr]
