from typing import Any

import pytest

from integrations.hubspot.search_params import Filter
from integrations.hubspot.tools_owners import hubspot_get_owner, hubspot_list_owners
from integrations.hubspot.tools_records import hubspot_list_deals, hubspot_search_deals
from integrations.tool import ServiceTool


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ({"property": "Amount", "value": 5}, ("Amount", "EQ", "5", "", [])),
        ({"field": "amount", "op": ">=", "value": "5"}, ("amount", "GTE", "5", "", [])),
        ({"name": "amount", "operator": "between", "value": 1, "high_value": 2}, ("amount", "BETWEEN", "1", "2", [])),
        ({"name": "amount", "operator": "BETWEEN", "values": [1, 2]}, ("amount", "BETWEEN", "1", "2", [])),
        ({"name": "amount", "operator": "BETWEEN", "value": [1, 2]}, ("amount", "BETWEEN", "1", "2", [])),
        ({"name": "stage", "operator": "in", "values": ["a", "b"]}, ("stage", "IN", "", "", ["a", "b"])),
        ({"name": "stage", "operator": "in", "value": ["a", "b"]}, ("stage", "IN", "", "", ["a", "b"])),
        ({"name": "stage", "operator": "IN", "values": "a"}, ("stage", "IN", "", "", ["a"])),
        ({"name": "stage", "operator": "not in", "value": "a"}, ("stage", "NOT_IN", "", "", ["a"])),
        ({"name": "email", "operator": "exists", "value": "x"}, ("email", "HAS_PROPERTY", "x", "", [])),
        ({"name": "done", "value": True}, ("done", "EQ", "true", "", [])),
    ],
    ids=str,
)
def test_a_filter_is_parsed_in_every_form(arguments: dict[str, Any], read: tuple[object, ...]) -> None:
    one = Filter.model_validate(arguments)

    assert (one.property_name, one.operator, one.value, one.high_value, one.values) == read


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"value": "1"}, "`filters.0.propertyName` is required."),
        ({"propertyName": ["a", "b"], "value": "1"}, "`filters.0.propertyName`: must be a text."),
        ({"propertyName": "amount"}, "`filters.0`: EQ needs `value`."),
        ({"propertyName": "amount", "operator": "IN"}, "`filters.0`: IN needs `values`, a list."),
        ({"propertyName": "amount", "operator": "BETWEEN", "value": "1"}, "`filters.0`: BETWEEN needs `highValue`."),
        ({"propertyName": "amount", "operator": "BETWEEN", "values": [1]}, "`filters.0`: BETWEEN needs `value`."),
        ({"propertyName": "", "value": "1"}, "`filters.0.propertyName`: must not be empty."),
        ({"propertyName": "amount", "value": ["1", "2"]}, "`filters.0.value`: must be a text."),
    ],
)
def test_an_invalid_filter_is_refused_with_the_reason(arguments: dict[str, Any], problem: str) -> None:
    problems = hubspot_search_deals.parse({"filters": [arguments]})

    assert isinstance(problems, list)
    assert problems[0].startswith(problem)


@pytest.mark.parametrize(
    "value",
    [
        [{"propertyName": "amount", "value": "1"}],
        {"propertyName": "amount", "value": "1"},
        [{"filters": [{"propertyName": "amount", "value": "1"}]}],
        {"filters": [{"propertyName": "amount", "value": "1"}]},
    ],
    ids=str,
)
def test_filters_may_be_single_listed_or_grouped(value: object) -> None:
    for name in ("filters", "filterGroups"):
        params = hubspot_search_deals.parse({name: value})
        assert [filter_["propertyName"] for filter_ in params.model_dump(by_alias=True)["filters"]] == ["amount"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "order"),
    [
        ("closedate", "closedate"),
        ("-CloseDate", "-CloseDate"),
        ("closedate desc", "-closedate"),
        ("Close Date", "Close Date"),
        ("Close Date DESCENDING", "-Close Date"),
        ("closedate:asc", "closedate"),
        (["-closedate"], "-closedate"),
        ([{"propertyName": "closedate", "direction": "DESCENDING"}, {"propertyName": "amount"}], "-closedate"),
        ({"property": "closedate"}, "closedate"),
        ("", ""),
    ],
    ids=str,
)
def test_an_order_is_parsed_in_every_form(value: object, order: str) -> None:
    params = hubspot_search_deals.parse({"query": "looms", "sort": value})

    assert params.sort == order  # type: ignore[union-attr]


def test_a_search_needs_more_than_a_limit() -> None:
    assert not isinstance(hubspot_search_deals.parse({"sort": "-amount"}), list)
    assert hubspot_search_deals.parse({"limit": 5, "archived": False}) == [
        "Give a `query`, a `sort` or a condition to search by; `hubspot_list_deals` lists all deals."
    ]


@pytest.mark.parametrize(
    ("tool", "args", "advice"),
    [
        (hubspot_list_deals, {"query": "looms"}, "A list does not accept `query`; `hubspot_search_deals` does."),
        (hubspot_list_deals, {"orderBy": "-amount"}, "A list does not accept `orderBy`; `hubspot_search_deals` does."),
        (hubspot_list_owners, {"name": "Grace"}, "A list does not accept `name`; `hubspot_search_owners` does."),
        (
            hubspot_search_deals,
            {"query": "looms", "archived": "true"},
            "A search never finds deleted records; `hubspot_list_deals` with `archived: true` lists them.",
        ),
    ],
    ids=str,
)
def test_a_parameter_of_another_tool_is_refused_with_that_tools_name(
    tool: ServiceTool, args: dict[str, Any], advice: str
) -> None:
    assert tool.parse(args) == [advice]


@pytest.mark.parametrize(
    "arguments", [{"userId": 9002}, {"user_id": "9002"}, {"ownerId": 9002, "idProperty": "userId"}]
)
def test_an_owner_may_be_given_as_user(arguments: dict[str, Any]) -> None:
    params = hubspot_get_owner.parse(arguments)

    assert (params.owner_id, params.id_property) == ("9002", "userId")  # type: ignore[union-attr]
