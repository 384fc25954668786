"""Filters and sorts that models write, and the errors for those that are not valid."""

from typing import Any

import pytest

from demo.services.notion.data import TASKS, TASKS_SOURCE
from demo.services.notion.store import ADA, GRACE
from integrations.notion.filters import to_notion_filter, to_notion_sorts
from integrations.notion.schema import PropertyDefinition, PropertySchema
from integrations.service_client import ToolFailed
from tests.integrations.notion.notion_tools import QUERY, NotionTools

ONE = "11111111-1111-4111-8111-111111111111"
SCHEMA = PropertySchema(
    (
        PropertyDefinition("Name", "title", "title"),
        PropertyDefinition("State", "status", "a", ("Open", "Done")),
        PropertyDefinition("Kind", "select", "b", ("Bug", "Idea")),
        PropertyDefinition("Sum", "rollup", "c"),
        PropertyDefinition("Age", "formula", "d"),
        PropertyDefinition("Size", "number", "e"),
        PropertyDefinition("Sure", "verification", "f"),
        PropertyDefinition("Who", "people", "g"),
        PropertyDefinition("Day", "date", "h"),
        PropertyDefinition("Tags", "multi_select", "i", ("Q3", "Q4")),
        PropertyDefinition("Scans", "files", "j"),
        PropertyDefinition("Author", "created_by", "k"),
        PropertyDefinition("Flag", "checkbox", "l"),
        PropertyDefinition("Odd", "of_the_future", "m"),
    )
)
DAY, LATER = "2026-12-01", "2026-12-05"


def of(name: str, kind: str, **test: object) -> dict[str, Any]:
    return {"property": name, kind: test}


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({"Kind": {"is_empty": True}}, of("Kind", "select", is_empty=True)),
        ({"Kind": {"is_empty": False}}, of("Kind", "select", is_not_empty=True)),
        ({"Sum": {"rollup": {"number": {"equals": 3}}}}, of("Sum", "rollup", number={"equals": 3})),
        (
            {"property": "age", "formula": {"string": {"contains": "x"}}},
            of("Age", "formula", string={"contains": "x"}),
        ),
        ({"property": "Sure", "verification": {"status": "verified"}}, of("Sure", "verification", status="verified")),
        ({"Sure": "verified"}, of("Sure", "verification", status="verified")),
        ({"created_time": {"past_week": {}}}, {"timestamp": "created_time", "created_time": {"past_week": {}}}),
        ({"and": [{"or": [{"Kind": ["bug"]}]}]}, of("Kind", "select", equals="Bug")),
        ({"Odd": {"has": 1}}, of("Odd", "of_the_future", has=1)),
        ({"property": "Tags", "equals": "q4"}, of("Tags", "multi_select", contains="Q4")),
        ({"property": "Tags", "does_not_equal": "Q4"}, of("Tags", "multi_select", does_not_contain="Q4")),
        ({"property": "Kind", "contains": "Bug"}, of("Kind", "select", equals="Bug")),
        ({"Author": ONE}, of("Author", "created_by", contains=ONE)),
        ({"Scans": {"is_not_empty": True}}, of("Scans", "files", is_not_empty=True)),
        ({"Day": {"past_week": None}}, of("Day", "date", past_week={})),
        ({"Day": {"past_week": True}}, of("Day", "date", past_week={})),
        ({"Day": "this week"}, of("Day", "date", this_week={})),
        ({"Day": {"gte": "one week ago"}}, of("Day", "date", on_or_after="one_week_ago")),
        ({"property": "Day", "operator": "<=", "value": DAY}, of("Day", "date", on_or_before=DAY)),
        ({"property": "Size", "onOrAfter": "5"}, of("Size", "number", greater_than_or_equal_to=5)),
        ({"property": "State", "value": "done"}, of("State", "status", equals="Done")),
        ({"property": "State", "operator": "is_empty"}, of("State", "status", is_empty=True)),
        ({"property": "State", "status": {"equals": "Done"}}, of("State", "status", equals="Done")),
        ({"State": {"equals": None}}, of("State", "status", is_empty=True)),
        ({"property": "Tags", "not": None}, of("Tags", "multi_select", is_not_empty=True)),
        ({"Flag": None}, of("Flag", "checkbox", equals=False)),
        ({"Name": 7}, of("Name", "title", contains="7")),
        ({"Kind": {"name": "Bug", "equals": "Bug"}}, None),
    ],
)
def test_a_filter_is_converted_for_notion(arguments: dict[str, Any], sent: dict[str, Any] | None) -> None:
    if sent is None:
        with pytest.raises(ToolFailed, match="name is not a test of a select"):
            to_notion_filter(arguments, SCHEMA)
    else:
        assert to_notion_filter(arguments, SCHEMA) == sent


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        (
            {"Day": {"after": DAY, "before": LATER}},
            {"and": [of("Day", "date", after=DAY), of("Day", "date", before=LATER)]},
        ),
        (
            {"property": "Day", "date": {"after": DAY, "before": LATER}},
            {"and": [of("Day", "date", after=DAY), of("Day", "date", before=LATER)]},
        ),
        (
            {"timestamp": "created_time", "created_time": {"after": DAY, "before": LATER}},
            {
                "and": [
                    {"timestamp": "created_time", "created_time": {"after": DAY}},
                    {"timestamp": "created_time", "created_time": {"before": LATER}},
                ]
            },
        ),
        (
            {"property": "State", "in": ["Open", "Done"]},
            {"or": [of("State", "status", equals="Open"), of("State", "status", equals="Done")]},
        ),
        (
            {"property": "Tags", "not_in": ["Q3", "Q4"]},
            {
                "and": [
                    of("Tags", "multi_select", does_not_contain="Q3"),
                    of("Tags", "multi_select", does_not_contain="Q4"),
                ]
            },
        ),
        (
            {"State": "Open", "or": [{"Kind": "Bug"}, {"Size": 1}]},
            {
                "and": [
                    of("State", "status", equals="Open"),
                    {"or": [of("Kind", "select", equals="Bug"), of("Size", "number", equals=1)]},
                ]
            },
        ),
        (
            {"and": [{"Day": {"after": DAY, "before": LATER}}, {"and": [{"Size": 1}]}]},
            {
                "and": [
                    of("Day", "date", after=DAY),
                    of("Day", "date", before=LATER),
                    of("Size", "number", equals=1),
                ]
            },
        ),
    ],
)
def test_each_condition_has_one_operator_and_groups_are_kept(arguments: dict[str, Any], sent: dict[str, Any]) -> None:
    assert to_notion_filter(arguments, SCHEMA) == sent


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "it is empty"),
        ({"and": []}, "`and` is empty"),
        ({"Colour": "red"}, "`Colour`: this property does not exist"),
        ({"property": "Kind"}, "a property and a test"),
        ({"property": "Kind", "select": {"equals": "Bug"}, "status": {"equals": "Bug"}}, "a property and a test"),
        ({"Kind": "Chore"}, "`Kind`: the option Chore does not exist. Options: Bug, Idea"),
        ({"Kind": []}, "`Kind`: the value to compare with is missing"),
        ({"Day": {"this_month": {}}}, "this_month is not a test of a date. Tests: equals, after"),
        ({"Day": {"this_month": {}}}, 'a month is {"on_or_after": "2026-11-01", "before": "2026-12-01"}'),
        ({"Name": ""}, "`Name`: cannot be compared with an empty text"),
        ({"Size": {"operator": ">", "value": None}}, "`Size`: the value to compare with is missing"),
        ({"property": "State", "status": {"equals": "Done"}, "value": "Open"}, "a property and a test"),
        ({"Size": list(range(101))}, "more than 100 conditions and values"),
        ({"or": [{"Size": number} for number in range(101)]}, "more than 100 conditions and values"),
        ({"Sum": 3}, '`Sum` is a rollup: write the condition as {"property": "Sum", "rollup": '),
        (
            {"property": "Age", "equals": 3},
            '`Age` is a formula: write the condition as {"property": "Age", "formula": ',
        ),
        ({"Size": "big"}, "`Size`: big is not a number"),
        ({"Size": 10**400}, "is not a number"),
        ({"Flag": "perhaps"}, "`Flag`: must be true or false"),
        ({"and": ["Kind"]}, "must be an object"),
        ({"Day": {"near": DAY}}, "`Day`: near is not a test of a date. Tests: equals, after, before, on_or_after"),
        ({"Scans": {"equals": "a.pdf"}}, "equals is not a test of a files. Tests: is_empty, is_not_empty"),
        (
            {"Day": {"before": "30 Nov"}},
            "`Day`: 30 Nov is not a date: write 2026-12-01, or 2026-12-01T09:00:00Z, or one",
        ),
        ({"Day": "2026-11-31"}, "or one of today, tomorrow"),
        ({"Day": {"past_week": 3}}, "past_week takes no value"),
        (
            {"or": [{"and": [{"or": [{"Size": 1}, {"Size": 2}]}, {"Size": 3}]}, {"Size": 4}]},
            "not accept deeper filters",
        ),
    ],
)
def test_an_invalid_filter_is_refused(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ToolFailed, match="The filter is not valid") as raised:
        to_notion_filter(arguments, SCHEMA)

    assert complaint in raised.value.text


@pytest.mark.parametrize(
    ("value", "complaint"), [([{"property": "Size", "direction": "up"}], "ascending or descending"), ([3], "an object")]
)
def test_an_invalid_order_is_refused(value: list[Any], complaint: str) -> None:
    with pytest.raises(ToolFailed, match=complaint):
        to_notion_sorts(value, SCHEMA)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ({"Due": {"after": "2026-11-20", "before": "2026-12-05"}}, 4),
        ({"property": "Tags", "equals": "Q4"}, 4),
        ({"Due": {"past_week": True}}, 1),
        ({"Due": "this_week"}, 1),
        ({"Due": {"<": "today"}}, 3),
        ({"Owner": "Ada"}, 6),
        ({"property": "Owner", "does_not_contain": "ada lovelace"}, 6),
        ({"Owner": ["Ada Lovelace", GRACE]}, 12),
        ({"Points": {"gte": 5, "lte": 8}}, 5),
        ([{"Status": "Done"}, {"Tags": "Q4"}], 1),
        ("all", 12),
        ({}, 12),
    ],
)
def test_notion_accepts_every_converted_filter(notion: NotionTools, value: object, count: int) -> None:
    assert len(notion.structured(QUERY, databaseId=TASKS, filter=value)["results"]) == count


def test_users_are_listed_only_for_a_filter_by_name(notion: NotionTools) -> None:
    notion.call(QUERY, databaseId=TASKS_SOURCE, filter={"Owner": ADA})
    assert [request.path for request in notion.tenant.requests_to("api") if request.path.endswith("/users")] == []

    notion.call(QUERY, databaseId=TASKS_SOURCE, filter={"Owner": "ada@acme.example.com"})
    assert notion.bodies_sent(f"/data_sources/{TASKS_SOURCE}/query")[-1]["filter"] == of(
        "Owner", "people", contains=ADA
    )
