"""Errors say what to do instead, and that nothing was changed."""

from typing import Any

import pytest

from demo.oauth_provider.server import Fault
from demo.services.notion.data import GUIDE, PLAN, TASKS, TASKS_SOURCE, WIKI, task_id
from demo.services.notion.store import id_of
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
)

IN_TRASH = "is in the trash and cannot be changed. Restore it first: `notion_update` with `archived` false."


@pytest.mark.parametrize(
    ("tool", "args", "none"),
    [
        (APPEND, {"pageId": PLAN, "content": "New"}, "Nothing was added."),
        (APPEND, {"pageId": id_of("block", PLAN, "0"), "content": "New"}, "Nothing was added."),
        (UPDATE, {"pageId": PLAN, "name": "New"}, "Nothing was changed."),
        (CREATE, {"name": "New", "parent": PLAN}, "Nothing was created."),
    ],
)
def test_a_page_in_the_trash_must_be_restored_first(
    notion: NotionTools, tool: str, args: dict[str, Any], none: str
) -> None:
    notion.call(UPDATE, pageId=PLAN, archived=True)

    error = notion.failure_text(tool, "upstream_refused", **args)
    notion.call(UPDATE, pageId=PLAN, archived=False)

    assert error == f"This page or its parent {IN_TRASH} {none}"
    notion.call(tool, **args)


@pytest.mark.parametrize(
    ("tool", "args", "text"),
    [
        (QUERY, {"databaseId": WIKI}, "the id of a page, not of a database. `notion_read` reads the page"),
        (CREATE_ROW, {"databaseId": WIKI, "properties": {"Task": "x"}}, "the id of a page, not of a database."),
        (UPDATE, {"pageId": TASKS, "archived": True}, "the id of a database, not of a page. `notion_query_database`"),
        (APPEND, {"pageId": TASKS, "content": "x"}, "`notion_create_database_page` adds a page. Nothing was added."),
        (APPEND, {"pageId": TASKS_SOURCE, "content": "x"}, "`notion_create_database_page` adds a page."),
    ],
)
def test_the_id_of_another_object_is_recognised(
    notion: NotionTools, tool: str, args: dict[str, Any], text: str
) -> None:
    assert text in notion.failure_text(tool, **args)
    assert notion.fake.writes_done == []


@pytest.mark.parametrize("after", [task_id(1), id_of("block", id_of("block", GUIDE, "5"), "0")])
def test_a_block_to_insert_after_must_be_a_direct_child_of_the_page(notion: NotionTools, after: str) -> None:
    error = notion.failure_text(APPEND, pageId=GUIDE, content="x", after=after)

    assert error.startswith("`after` must be a direct child of `pageId`")
    assert error.endswith("Nothing was added.")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (SEARCH, {"startCursor": id_of("nowhere")}),
        (QUERY, {"databaseId": TASKS, "startCursor": id_of("nowhere")}),
        (READ, {"pageId": PLAN, "startCursor": id_of("nowhere")}),
        (READ, {"pageId": PLAN, "startCursor": "50."}),
        (READ, {"pageId": id_of("block", PLAN, "0"), "startCursor": "1."}),
        (READ, {"pageId": id_of("block", PLAN, "0"), "startCursor": id_of("nowhere")}),
    ],
)
def test_an_unknown_cursor_is_refused(notion: NotionTools, tool: str, args: dict[str, Any]) -> None:
    error = notion.failure_text(tool, **args)

    assert error == "`startCursor` is not a valid cursor. Start again without it."


def test_a_refused_write_is_reported_as_unchanged(notion: NotionTools) -> None:
    error = notion.failure_text(
        UPDATE_ROW, pageId=task_id(1), properties={"Link": {"url": "x"}, "Tags": [{"name": "a,b"}]}
    )

    assert error.startswith("Notion rejected the request: ")
    assert error.endswith("Nothing was changed.")


def test_a_credential_rejected_midway_does_not_hide_what_was_added(notion: NotionTools) -> None:
    notion.tenant.inject_fault("api", Fault("slow", seconds=0))
    notion.tenant.inject_fault("api", Fault("down", status=401), times=2)

    error = notion.failure_text(APPEND, "reconnect_required", pageId=PLAN, content="\n\n".join(["Line"] * 250))

    assert error.startswith("100 of 250 blocks were added; send only the others. Notion no longer accepts")
