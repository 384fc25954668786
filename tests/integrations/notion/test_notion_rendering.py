"""Results say what was left out, what was created, and where."""

import re
from typing import Any

import pytest

from demo.services.notion.data import PLAN, TASKS, TASKS_SOURCE, WIKI, task_id
from demo.services.notion.store import id_of
from integrations.notion.schema import PropertyDefinition, PropertySchema
from tests.integrations.notion.notion_tools import (
    APPEND,
    CREATE,
    CREATE_ROW,
    QUERY,
    READ,
    SEARCH,
    UPDATE,
    UPDATE_ROW,
    NotionTools,
    problems,
)

IN_PART = "Some values are clipped: `notion_read` of the page shows more of them."
SAVED_IN_PART = "Some values are clipped: `notion_read` of the page with `full` true returns all of them."


def values(notion: NotionTools) -> dict[str, Any]:
    stored: dict[str, Any] = notion.fake.store.objects[task_id(1)]["properties"]
    return stored


def steps(number: int) -> str:
    return "\n".join(f"{'  ' * level}- x" for level in range(number))


def relate(notion: NotionTools, number: int) -> list[str]:
    every = [{"id": id_of("related", str(index))} for index in range(number)]
    values(notion)["Blocks"] |= {"has_more": number > 25, "relation": every[:25], "all": every}
    return [item["id"] for item in every]


@pytest.mark.parametrize(
    ("tool", "args", "note"),
    [
        (QUERY, {"databaseId": TASKS, "filter": {"No.": 1}}, IN_PART),
        (UPDATE_ROW, {"pageId": task_id(1), "properties": {"Points": 1}}, SAVED_IN_PART),
        (UPDATE, {"pageId": task_id(1), "icon": {"type": "emoji", "emoji": "🚀"}}, SAVED_IN_PART),
    ],
)
def test_a_truncated_relation_is_marked_as_incomplete(
    notion: NotionTools, tool: str, args: dict[str, Any], note: str
) -> None:
    ids = relate(notion, 40)

    result = notion.call(tool, **args)
    content = result.structured()
    page = content["results"][0] if tool == QUERY else content["page"]

    assert page["properties"]["Blocks"] == [*ids[:25], "… (and more)"]
    assert page["cut"] == ["Blocks"]
    assert content["notes"] == [note]
    assert result.text().endswith(note)
    assert "cut" not in notion.structured(READ, pageId=task_id(1))["page"]


def test_a_cut_value_can_be_read_completely_as_its_note_says(notion: NotionTools) -> None:
    values(notion)["Notes"]["rich_text"][0]["plain_text"] = "x" * 5000

    row = notion.structured(QUERY, databaseId=TASKS, filter={"No.": 1})
    read = notion.structured(READ, pageId=task_id(1))
    full = notion.structured(READ, pageId=task_id(1), full=True)

    assert row["results"][0]["properties"]["Notes"] == f"{'x' * 500}… [4,500 more characters]"
    assert row["notes"] == [IN_PART]
    assert read["page"]["properties"]["Notes"] == f"{'x' * 4000}… [1,000 more characters]"
    assert read["notes"] == ["Some values are clipped: `full` true returns all of them."]
    assert full["page"]["object"]["properties"]["Notes"]["rich_text"][0]["plain_text"] == "x" * 5000


@pytest.mark.parametrize(("size", "head"), [(3, "3 pages, and more follow: **Tasks**"), (12, "12 pages: **Tasks**")])
def test_the_count_of_one_page_is_not_shown_as_the_total(notion: NotionTools, size: int, head: str) -> None:
    text = notion.text(QUERY, databaseId=TASKS, pageSize=size)

    assert text.startswith(head)
    more = "More follow: call again with the same arguments and `startCursor` "
    assert (more in text) is (size == 3)


def test_an_incomplete_search_is_reported_in_plain_words(notion: NotionTools) -> None:
    notion.fake.incomplete = True

    text = "Notion did not search everything, so there may be more: use a narrower query."
    assert notion.structured(SEARCH, query="launch")["notes"] == [text]
    assert notion.structured(QUERY, databaseId=TASKS)["notes"] == [text]


def test_an_incomplete_search_without_hits_is_not_shown_as_empty(notion: NotionTools) -> None:
    notion.fake.incomplete = True

    text = "Nothing was found, but Notion did not search everything: use a narrower query."
    assert notion.structured(SEARCH, query="zzz")["notes"] == [text]
    assert notion.structured(QUERY, databaseId=TASKS, filter={"Points": 99})["notes"] == [text]


@pytest.mark.parametrize(("tool", "args"), [(SEARCH, {"query": "launch"}), (QUERY, {"databaseId": TASKS})])
def test_a_cursor_beyond_the_end_is_not_shown_as_empty(notion: NotionTools, tool: str, args: dict[str, Any]) -> None:
    result = notion.structured(tool, **args, startCursor="50.")

    assert result["results"] == []
    assert result["notes"] == ["No more results: all of them are on the previous pages."]


@pytest.mark.parametrize(
    ("parent", "message"),
    [
        (None, "Page created at the top of the workspace, visible only to the person who connected."),
        (WIKI, f"Page created below https://www.notion.so/{WIKI.replace('-', '')}."),
        ({"page_id": WIKI}, f"Page created below https://www.notion.so/{WIKI.replace('-', '')}."),
        (TASKS_SOURCE, "Page created in Tasks."),
    ],
)
def test_the_parent_of_a_new_page_is_named(notion: NotionTools, parent: object, message: str) -> None:
    assert notion.structured(CREATE, title="New", parent=parent)["message"] == message


def test_a_new_option_is_reported(notion: NotionTools) -> None:
    created = notion.structured(
        CREATE_ROW, databaseId=TASKS, name="x", properties={"Tags": ["q4", "Brand"], "Status": "done"}
    )
    changed = notion.structured(UPDATE_ROW, pageId=task_id(1), properties={"Tags": "Other"})

    assert created["notes"] == ["`Tags` has a new option: Brand."]
    assert changed["notes"] == ["`Tags` has a new option: Other."]


def test_new_options_are_reported_in_their_given_order() -> None:
    names = [f"Choice {number}" for number in range(12)]
    schema = PropertySchema(tuple(PropertyDefinition(name, "select", options=("Old",)) for name in names))

    text = schema.new_options(schema.to_notion_values(dict.fromkeys(reversed(names), "New")))

    assert text == [f"`{name}` has a new option: New." for name in reversed(names)]


def test_a_list_that_is_too_deep_is_refused_in_order(notion: NotionTools) -> None:
    deep = "- a\n  - b\n    - c\n      - d\n        - e\n    - f\n- g"

    added = notion.structured(APPEND, pageId=PLAN, content=deep)
    page = notion.structured(CREATE, title="x", parent=WIKI, content=deep)

    assert "deeper than three levels" in added["notes"][0]
    assert page["notes"] == added["notes"]
    content = notion.structured(READ, pageId=page["page"]["id"])["content"]
    assert content == "- a\n  - b\n    - c\n    - d\n    - e\n    - f\n- g"
    assert notion.structured(APPEND, pageId=PLAN, content="- a\n  - b\n    - c")["notes"] == []


def test_a_list_of_the_maximum_depth_is_accepted(notion: NotionTools) -> None:
    notion.call(APPEND, pageId=PLAN, content=steps(100))

    assert notion.structured(READ, pageId=PLAN)["content"].count("- x") == 100
    assert "can contain at most 100 blocks" in notion.failure_text(APPEND, pageId=PLAN, content=steps(400))


def test_the_first_ids_of_many_new_blocks_are_returned(notion: NotionTools) -> None:
    added = notion.structured(APPEND, pageId=PLAN, content="\n\n".join("x" * 30))

    assert added["message"] == "30 blocks added."
    assert len(added["blockIds"]) == 20
    assert added["notes"] == [
        "Only the first 20 ids are listed: `notion_read` with `withBlockIds` true shows the others."
    ]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"content": "- a\n" * 2001}, "The content makes 2,001 blocks; one call accepts at most 2,000"),
        ({"children": ["x" * 150_000] * 2}, "longer than 200,000 characters"),
    ],
)
def test_oversized_or_non_text_content_is_refused_before_any_request(
    notion: NotionTools, args: dict[str, Any], text: str
) -> None:
    assert text in notion.failure_text(APPEND, pageId=PLAN, **args)
    assert notion.fake.writes_done == []


def test_a_lone_surrogate_is_refused_before_any_request(notion: NotionTools) -> None:
    error = notion.failure_text(UPDATE_ROW, pageId=task_id(1), properties={"Notes": "\ud800"})

    assert error.startswith("The text contains half of a character")
    assert notion.fake.writes_done == []


def test_a_block_is_shown_with_its_page_and_complete(notion: NotionTools) -> None:
    text = "Long " * 100
    block = notion.fake.store.block(PLAN, {"type": "toggle", "toggle": {"rich_text": text}})["id"]
    notion.fake.store.block(block, {"type": "paragraph", "paragraph": {"rich_text": "Inside"}})

    result = notion.structured(READ, pageId=block)

    assert result["page"]["url"] == f"https://www.notion.so/{PLAN.replace('-', '')}#{block.replace('-', '')}"
    assert len(result["page"]["title"]) == 200
    assert text.strip() in result["content"]
    assert result["content"].endswith("Inside")
    assert "In page https://www.notion.so/" in notion.text(READ, pageId=block)


def test_a_time_is_shown_with_its_zone(notion: NotionTools) -> None:
    assert "Last edited 2026-11-17 16:00 UTC." in notion.text(READ, pageId=PLAN)


@pytest.mark.parametrize(
    ("tool", "args", "sent"),
    [
        (UPDATE_ROW, {"pageId": task_id(1), "Status": "Done"}, {"Status": {"status": {"name": "Done"}}}),
        (UPDATE_ROW, {"pageId": task_id(1), "properties": {"Points": "3"}}, {"Points": {"number": 3}}),
    ],
)
def test_property_values_beside_other_parameters_are_accepted(
    notion: NotionTools, tool: str, args: dict[str, Any], sent: dict[str, Any]
) -> None:
    notion.call(tool, **args)

    assert notion.bodies_sent(f"/pages/{task_id(1)}")[0]["properties"] == sent


@pytest.mark.parametrize("args", [{"name": "New"}, {"title": "New", "properties": {}}, {"Task": "New"}])
def test_a_database_page_can_be_created_with_a_title(notion: NotionTools, args: dict[str, Any]) -> None:
    assert notion.structured(CREATE_ROW, databaseId=TASKS, **args)["page"]["title"] == "New"


def test_a_limit_over_the_maximum_is_reduced_to_it(notion: NotionTools) -> None:
    notion.call(QUERY, databaseId=TASKS_SOURCE, pageSize="500")

    assert notion.bodies_sent(f"/data_sources/{TASKS_SOURCE}/query")[0]["page_size"] == 100


def test_a_text_is_accepted_as_blocks(notion: NotionTools) -> None:
    notion.call(APPEND, pageId=PLAN, blocks="## More")

    assert notion.structured(READ, pageId=PLAN)["content"].endswith("## More")


@pytest.mark.parametrize(
    ("tool", "args", "text"),
    [
        (
            UPDATE,
            {"pageId": PLAN, "content": "x"},
            "`content`: this tool does not change the content; `notion_append_blocks`",
        ),
        (UPDATE, {"pageId": PLAN}, "At least one of `properties`, `name`, `archived` and `icon` is required"),
        (UPDATE, {"pageId": PLAN, "icon": "rocket"}, "`icon`: must be an emoji, such as 🚀"),
        (CREATE, {"parent": WIKI}, "Either `properties` or `name` is required"),
        (CREATE_ROW, {"databaseId": TASKS}, "Either `properties` or `name` is required"),
        (UPDATE_ROW, {"pageId": PLAN, "properties": {}}, "`properties`: must not be empty"),
        (
            UPDATE_ROW,
            {"pageId": PLAN, "properties": dict.fromkeys(map(str, range(101)))},
            "`properties`: must have 100 entries at most",
        ),
        (APPEND, {"pageId": PLAN}, "Pass either `content` or `children`"),
        (QUERY, {"databaseId": TASKS, "filter": "[" * 200_000}, "`filter`: must be an object"),
    ],
)
def test_conflicting_arguments_are_refused(tool: str, args: dict[str, Any], text: str) -> None:
    assert re.sub(r"\s+", " ", " ".join(problems(tool, **args))).startswith(text)
