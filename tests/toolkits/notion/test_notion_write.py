from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import Fault, OAuthProvider
from demo.services.notion.data import GUIDE, PLAN, TASKS, TASKS_SOURCE, WIKI, task_id
from demo.services.notion.store import Json, id_of
from tests.harness import Plugboard
from tests.toolkits.notion.connected_notion import (
    APPEND,
    CREATE,
    CREATE_ROW,
    READ,
    UPDATE,
    UPDATE_ROW,
    Notion,
    connected_notion,
)
from tests.toolkits.notion.notion_texts import PASSES, WRONG_ROW

MINUTES = """# Minutes

We met **today**, at [the office](https://acme.example.com).

- Numbers
  - Revenue
    - by *region*
      - Norway
- [x] Hiring
1. First
2. Second

> Said Ada.

```py
print("hello")
```

| Who | What |
| --- | --- |
| Ada | `code` |

---

![Map](https://acme.example.com/map.png)
"""


@pytest.fixture
def notion(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[Notion]:
    with connected_notion(plugboard, provider) as service:
        yield service


def lines(number: int) -> str:
    return "\n".join(f"- Line {index}" for index in range(number))


def values(notion: Notion, page: str) -> Json:
    result: Json = notion.tools.result(READ, pageId=page)["page"]["properties"]
    return result


def test_markdown_round_trips(notion: Notion) -> None:
    page = notion.tools.result(CREATE, name="Minutes", parent={"page_id": WIKI}, content=MINUTES)["page"]

    content = notion.tools.result(READ, pageId=page["id"])["content"]

    flat = MINUTES.replace("      - Norway", "    - Norway")  # Notion takes no deeper list in one request
    assert content == flat.replace("```py", "```python").strip()


@pytest.mark.parametrize(
    ("parent", "sent"),
    [
        (None, {"type": "workspace", "workspace": True}),
        ("workspace", {"type": "workspace", "workspace": True}),
        ({"type": "workspace"}, {"type": "workspace", "workspace": True}),
        (WIKI, {"type": "page_id", "page_id": WIKI}),
        ({"pageId": WIKI.replace("-", "")}, {"type": "page_id", "page_id": WIKI}),
        (f'{{"page_id": "{WIKI}"}}', {"type": "page_id", "page_id": WIKI}),
        (f"https://www.notion.so/Wiki-{WIKI.replace('-', '')}", {"type": "page_id", "page_id": WIKI}),
        (TASKS, {"type": "data_source_id", "data_source_id": TASKS_SOURCE}),
        (TASKS_SOURCE, {"type": "data_source_id", "data_source_id": TASKS_SOURCE}),
        ({"database_id": TASKS}, {"type": "data_source_id", "data_source_id": TASKS_SOURCE}),
    ],
)
def test_a_parent_is_parsed_in_every_form(notion: Notion, parent: object, sent: Json) -> None:
    notion.tools.result(CREATE, name="New", parent=parent)

    assert notion.bodies_sent("/pages")[0]["parent"] == sent


def test_the_title_is_stored_in_the_title_property_of_the_database(notion: Notion) -> None:
    notion.tools.result(CREATE, title="New", parent_id=TASKS)

    assert notion.bodies_sent("/pages")[0]["properties"] == {
        "Task": {"title": [{"type": "text", "text": {"content": "New"}}]}
    }


def test_long_content_is_sent_in_ordered_parts(notion: Notion) -> None:
    page = notion.tools.result(CREATE, name="Long", parent={"page_id": WIKI}, content=lines(250))["page"]

    content = notion.tools.result(READ, pageId=page["id"])["content"]
    assert content.split("\n") == [f"- Line {number}" for number in range(250)]
    assert [request.partition(" ")[0] for request in notion.requests()[:3]] == ["POST", "PATCH", "PATCH"]


def test_content_inserted_after_a_block_stays_in_order(notion: Notion) -> None:
    block = id_of("block", GUIDE, "0")

    notion.tools.result(APPEND, pageId=GUIDE, content=lines(150), after=block)

    content = notion.tools.result(READ, pageId=GUIDE)["content"].split("\n")
    assert content[0] == "# Welcome"
    assert content[2:152] == [f"- Line {number}" for number in range(150)]


def test_an_interrupted_write_says_how_much_was_written(notion: Notion) -> None:
    notion.tenant.inject_fault("api", PASSES, times=2)
    notion.tenant.inject_fault("api", Fault("close", after=True))
    content = "\n\n".join(["Line"] * 250)
    error = notion.failure_text(CREATE, "upstream_unavailable", name="Long", parent={"page_id": WIKI}, content=content)

    assert "200 of 250 blocks were added; send only the others." in error
    assert len(notion.fake.writes_done) == 3


def test_a_write_that_runs_out_of_time_says_how_much_was_written(notion: Notion) -> None:
    notion.tools.change(timeoutSeconds=3)
    notion.tenant.inject_fault("api", Fault("slow", seconds=1.0))

    error = notion.failure_text(APPEND, "timeout", pageId=PLAN, content=lines(250))

    assert error == "Error: 100 of 250 blocks were added; send only the others. The time limit of the call was reached."
    assert notion.fake.writes_done == [f"PATCH /v1/blocks/{PLAN}/children"]


@pytest.mark.parametrize(
    ("parent", "complaint"),
    [
        (["here", "there"], "`parent` is not valid"),
        ("here", "`parent`: is not an id of Notion"),
        ({"id": id_of("block", GUIDE, "0")}, "cannot be created below a block"),
        ({"database_id": "here"}, "`parent`: is not an id of Notion"),
    ],
)
def test_an_invalid_parent_is_refused(notion: Notion, parent: object, complaint: str) -> None:
    assert complaint in notion.failure_text(CREATE, "invalid_arguments", name="New", parent=parent)
    assert notion.fake.writes_done == []


def test_a_child_that_is_neither_block_nor_text_is_refused(notion: Notion) -> None:
    error = notion.failure_text(APPEND, "invalid_arguments", pageId=PLAN, children=[7])

    assert error == "Error: `children`: each must be a block or a text in Markdown."


def test_a_page_is_trashed_and_restored(notion: Notion) -> None:
    notion.tools.result(UPDATE, pageId=task_id(2), archived=True)
    notion.tools.result(UPDATE, pageId=task_id(2), in_trash="false")

    assert notion.bodies_sent(f"/pages/{task_id(2)}") == [{"in_trash": True}, {"in_trash": False}]


def test_invalid_values_write_nothing(notion: Notion) -> None:
    notion.failure_text(CREATE_ROW, "invalid_arguments", databaseId=TASKS, properties=WRONG_ROW)

    assert notion.fake.writes_done == []


def test_notions_property_objects_are_accepted(notion: Notion) -> None:
    own = {
        "Task": {"title": [{"text": {"content": "Own"}}]},
        "Status": {"type": "status", "status": {"name": "Done"}},
        "Due": {"start": "2026-12-01"},
        "Tags": {"multi_select": [{"name": "Q4"}]},
    }

    page = notion.tools.result(CREATE_ROW, databaseId=TASKS, properties=own)["page"]

    assert page["title"] == "Own"
    assert page["properties"] | {"Status": "Done", "Due": "2026-12-01", "Tags": ["Q4"]} == page["properties"]


def test_values_can_be_cleared(notion: Notion) -> None:
    notion.tools.result(UPDATE_ROW, pageId=task_id(1), properties={"Due": None, "Tags": [], "Owner": None})

    assert values(notion, task_id(1)).keys().isdisjoint({"Due", "Tags", "Owner"})


def test_a_page_of_an_unshared_data_source_is_changed_by_its_own_properties(notion: Notion) -> None:
    notion.fake.store.hidden.add(TASKS_SOURCE)

    notion.tools.result(UPDATE_ROW, pageId=task_id(1), properties={"status": "Done"})

    assert values(notion, task_id(1))["Status"] == "Done"


def test_a_conflicting_change_is_retried(notion: Notion) -> None:
    notion.tenant.inject_fault("api", Fault("down", status=409))

    notion.tools.result(APPEND, pageId=PLAN, content="Once")

    assert notion.tools.result(READ, pageId=PLAN)["content"].count("Once") == 1


def test_a_rate_limited_creation_is_retried_and_creates_one_page(notion: Notion) -> None:
    notion.fake.overload(seconds=1)

    notion.tools.result(CREATE, name="Once", parent={"page_id": WIKI})

    assert notion.fake.writes_done == ["POST /v1/pages"]
    assert notion.requests() == ["POST /pages", "POST /pages"]


def test_tools_of_two_servers_with_one_name_stay_distinct_and_stable(notion: Notion) -> None:
    first, second = notion.tools, notion.tools.another("notion")
    first.enable(first, second)

    first.result(CREATE, name="Of the first", parent={"page_id": WIKI})
    second.result(CREATE, name="Of the second", parent={"page_id": WIKI})
    both = set(second.list_tools())
    second.enable(second)

    assert len(both) == 16
    assert set(second.list_tools()) == {name for name in both if name.endswith("_acme-2")}
    second.result(READ, pageId=PLAN)
