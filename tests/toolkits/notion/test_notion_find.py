from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import OAuthProvider
from demo.services.notion.data import TASKS, TASKS_SOURCE, WORKSPACE, task_id
from demo.services.notion.store import ADA, Json, id_of
from tests.harness import Plugboard
from tests.toolkits.notion.connected_notion import QUERY, SEARCH, Notion, connected_notion


@pytest.fixture
def notion(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[Notion]:
    with connected_notion(plugboard, provider) as service:
        yield service


def crowd(notion: Notion, number: int, title: str = "Note") -> None:
    for each in range(number):
        notion.fake.store.plain_page(id_of("crowd", str(each)), WORKSPACE, f"{title} {each}")


def rows(notion: Notion, **args: object) -> list[str]:
    return [result["title"] for result in notion.tools.result(QUERY, databaseId=TASKS, **args)["results"]]


def filtered(notion: Notion) -> Json:
    """As it was sent."""
    result: Json = notion.bodies_sent(f"/data_sources/{TASKS_SOURCE}/query")[-1]["filter"]
    return result


@pytest.mark.parametrize("kind", ["database", "databases", "data_source", {"property": "object", "value": "database"}])
def test_databases_are_searched_as_data_sources(notion: Notion, kind: object) -> None:
    result = notion.tools.result(SEARCH, filter=kind)["results"]

    assert [item["title"] for item in result] == ["Tasks", "Accounts", "Leads"]
    assert result[0]["databaseId"] == TASKS


def test_a_search_accepts_notions_sort_object(notion: Notion) -> None:
    args = {"q": "launch", "sort": {"direction": "ascending", "timestamp": "last_edited_time"}, "limit": "5"}

    titles = [result["title"] for result in notion.tools.result(SEARCH, **args)["results"]]

    assert titles == ["Write the launch announcement", "Launch plan"]


def test_a_search_is_paged_to_its_end(notion: Notion) -> None:
    crowd(notion, 130)

    parts = notion.pages(SEARCH, query="Note", pageSize=50)

    assert [len(part["results"]) for part in parts] == [50, 50, 30]
    assert len({result["id"] for part in parts for result in part["results"]}) == 130
    assert [part["hasMore"] for part in parts] == [True, True, False]


def test_a_search_that_notion_gave_up_is_reported_as_incomplete(notion: Notion) -> None:
    notion.fake.incomplete = True

    text = "Notion did not search everything, so there may be more: use a narrower query."
    assert text in notion.text(SEARCH, query="launch")
    assert text in notion.text(QUERY, databaseId=TASKS)


def test_large_results_are_returned_in_parts(notion: Notion) -> None:
    """Whole objects of a hundred pages are more than goes into one answer."""
    crowd(notion, 100, title="x" * 1500)

    parts = notion.pages(SEARCH, query="xxx", pageSize=100, full=True)

    assert sum(len(part["results"]) for part in parts) == 100
    assert len({result["id"] for part in parts for result in part["results"]}) == 100
    assert len(parts) > 3
    assert all("object" in result for part in parts for result in part["results"])


@pytest.mark.parametrize(
    ("value", "sent", "count"),
    [
        ({"Status": "done"}, {"property": "Status", "status": {"equals": "Done"}}, 3),
        ({"property": "Status", "select": {"equals": "Done"}}, {"property": "Status", "status": {"equals": "Done"}}, 3),
        ({"property": "status", "equals": "Done"}, {"property": "Status", "status": {"equals": "Done"}}, 3),
        ('{"Status": "Done"}', {"property": "Status", "status": {"equals": "Done"}}, 3),
        ({"Points": "8"}, {"property": "Points", "number": {"equals": 8}}, 2),
        ({"Urgent": "yes"}, {"property": "Urgent", "checkbox": {"equals": True}}, 2),
        ({"No.": "TASK-12"}, {"property": "No.", "unique_id": {"equals": 12}}, 1),
        ({"title": "launch"}, {"property": "Task", "title": {"contains": "launch"}}, 1),
        ({"Due": None}, {"property": "Due", "date": {"is_empty": True}}, 1),
        ({"Owner": ADA.replace("-", "")}, {"property": "Owner", "people": {"contains": ADA}}, 6),
        ({"Due": {"before": "2026-11-12"}}, {"property": "Due", "date": {"before": "2026-11-12"}}, 2),
        (
            {"Tags": ["Hiring", "Finance"]},
            {
                "or": [
                    {"property": "Tags", "multi_select": {"contains": "Hiring"}},
                    {"property": "Tags", "multi_select": {"contains": "Finance"}},
                ]
            },
            5,
        ),
        (
            {"Status": "Done", "Tags": "Q4"},
            {
                "and": [
                    {"property": "Status", "status": {"equals": "Done"}},
                    {"property": "Tags", "multi_select": {"contains": "Q4"}},
                ]
            },
            1,
        ),
        (
            {"or": [{"Status": "Done"}, {"property": "Points", "number": {"greater_than": 8}}]},
            {
                "or": [
                    {"property": "Status", "status": {"equals": "Done"}},
                    {"property": "Points", "number": {"greater_than": 8}},
                ]
            },
            4,
        ),
        (
            {"timestamp": "last_edited_time", "last_edited_time": {"after": "2026-11-10T12:00:00Z"}},
            {"timestamp": "last_edited_time", "last_edited_time": {"after": "2026-11-10T12:00:00Z"}},
            2,
        ),
        (
            {"property": "last_edited_time", "after": "2026-11-10T12:00:00Z"},
            {"timestamp": "last_edited_time", "last_edited_time": {"after": "2026-11-10T12:00:00Z"}},
            2,
        ),
    ],
)
def test_a_filter_is_parsed_in_every_form(notion: Notion, value: object, sent: Json, count: int) -> None:
    assert len(rows(notion, filter=value)) == count
    assert filtered(notion) == sent


@pytest.mark.parametrize(
    ("sorts", "first"),
    [
        (["-Points"], "Close the books of October"),
        ([{"property": "points", "direction": "desc"}], "Close the books of October"),
        ({"property": "Due", "direction": "ascending"}, "Renew the domain"),
        ([{"timestamp": "last_edited_time", "direction": "descending"}], "Prepare the board meeting"),
        ("-last_edited_time", "Prepare the board meeting"),
    ],
)
def test_an_order_is_parsed_in_every_form(notion: Notion, sorts: object, first: str) -> None:
    assert rows(notion, sorts=sorts)[0] == first


def test_a_query_is_paged_to_its_end(notion: Notion) -> None:
    parts = notion.pages(QUERY, databaseId=TASKS, pageSize=5, sorts=["No."])

    titles = [result["title"] for part in parts for result in part["results"]]
    assert [len(part["results"]) for part in parts] == [5, 5, 2]
    assert titles[0] == "Write the launch announcement"
    assert titles[-1] == "Prepare the board meeting"


def test_rows_with_long_values_are_returned_in_parts(notion: Notion) -> None:
    for number in range(1, 13):
        for name in ("Notes", "Link"):
            stored = notion.fake.store.objects[task_id(number)]["properties"][name]
            stored |= {
                "type": "multi_select",
                "multi_select": [{"name": f"{'x' * 400} {number}"} for number in range(20)],
            }

    parts = notion.pages(QUERY, databaseId=TASKS, pageSize=12)

    assert [len(part["results"]) for part in parts] == [2] * 6
    assert len({result["id"] for part in parts for result in part["results"]}) == 12


def test_a_long_value_is_shortened_and_marked(notion: Notion) -> None:
    notes = notion.fake.store.objects[task_id(1)]["properties"]["Notes"]
    notes["rich_text"][0]["plain_text"] = "x" * 5000

    shown = notion.tools.result(QUERY, databaseId=TASKS, filter={"No.": 1})["results"][0]["properties"]["Notes"]

    assert shown == f"{'x' * 500}… [4,500 more characters]"


def test_a_long_list_is_shortened_and_marked(notion: Notion) -> None:
    tags = notion.fake.store.objects[task_id(1)]["properties"]["Tags"]
    tags["multi_select"] = [{"name": f"Tag {number}"} for number in range(40)]

    shown = notion.tools.result(QUERY, databaseId=TASKS, filter={"No.": 1})["results"][0]["properties"]["Tags"]

    assert shown == [*(f"Tag {number}" for number in range(25)), "… (15 more)"]


def test_a_query_first_reads_the_properties_of_its_database(notion: Notion) -> None:
    rows(notion)

    assert notion.requests() == [
        f"GET /data_sources/{TASKS}",
        f"GET /databases/{TASKS}",
        f"GET /data_sources/{TASKS_SOURCE}",
        f"POST /data_sources/{TASKS_SOURCE}/query",
    ]


def test_a_linked_database_says_where_its_source_is(notion: Notion) -> None:
    notion.fake.store.objects[TASKS]["data_sources"] = []

    assert "it is a view of another database" in notion.failure_text(QUERY, "upstream_refused", databaseId=TASKS)
