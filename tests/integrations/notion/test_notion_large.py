"""Responses that are larger than the limit."""

import asyncio
from typing import Any

import pytest

from demo.services.notion.data import GUIDE, PLAN, demo_store
from integrations.errors import UnreadableResponse
from integrations.notion.client import NotionClient
from integrations.notion.params import ReadPage, SearchTitles
from integrations.notion.reading import read_object
from integrations.notion.tools import notion_search
from integrations.service_client import ToolFailed
from tests.integrations.notion.notion_tools import APPEND, READ, NotionTools
from tests.integrations.scripted_http import ScriptedResponse, ScriptedVendor

LARGE = UnreadableResponse("Larger than is taken in.")
PAGE: Any = demo_store().objects[PLAN]
BLOCKS = {"object": "list", "results": demo_store().blocks_in(PLAN), "has_more": False, "next_cursor": None}


class ScriptedNotion(ScriptedVendor[NotionClient]):
    kind = NotionClient
    origin = "https://api.notion.com"


def read(script: ScriptedNotion) -> str:
    return asyncio.run(read_object(script.api, ReadPage.model_validate({"pageId": PLAN}))).content


def test_blocks_that_are_too_large_together_are_read_in_smaller_pages() -> None:
    script = ScriptedNotion(ScriptedResponse(200, PAGE), LARGE, ScriptedResponse(200, BLOCKS))

    assert read(script) == "Nothing is written here yet."
    assert [request.partition("page_size=")[2] for request in script.requests[1:]] == ["100", "5"]


def test_a_block_that_is_too_large_alone_is_reported() -> None:
    with pytest.raises(ToolFailed, match="read them in Notion"):
        read(ScriptedNotion(ScriptedResponse(200, PAGE), LARGE, LARGE))


def test_a_result_that_is_too_large_suggests_a_smaller_one() -> None:
    with pytest.raises(ToolFailed, match="Ask for fewer at a time: `pageSize` 5"):
        asyncio.run(notion_search.run(ScriptedNotion(LARGE).api, SearchTitles()))


def long_block(notion: NotionTools) -> str:
    """Of 100,000 characters, on a page."""
    text = [{"type": "text", "text": {"content": item * 2000}} for item in "abcde" * 10]
    block: Any = notion.fake.store.block(PLAN, {"type": "paragraph", "paragraph": {"rich_text": text}})
    return str(block["id"])


def test_a_block_with_too_long_text_is_returned_in_parts(notion: NotionTools) -> None:
    block, cursor, parts = long_block(notion), None, list[str]()
    while cursor or not parts:
        result = notion.structured(READ, pageId=block, startCursor=cursor)
        cursor = result.get("nextCursor")
        parts.append(result["content"])

    assert "".join(parts) == "".join(item * 2000 for item in "abcde" * 10)
    assert max(map(len, parts)) == 30_000


def test_a_block_with_long_text_shows_its_beginning_before_its_children(notion: NotionTools) -> None:
    block = long_block(notion)
    notion.fake.store.block(block, {"type": "paragraph", "paragraph": {"rich_text": "Inside"}})

    content = notion.structured(READ, pageId=block)["content"]

    assert content.endswith("… [96,000 more characters]\n\nInside")


def test_a_missing_object_is_reported_as_unchanged(notion: NotionTools) -> None:
    notion.fake.store.hidden.add(GUIDE)

    error = notion.failure_text(APPEND, "upstream_refused", pageId=GUIDE, content="x")

    assert error.startswith("Notion finds nothing with that id")
    assert error.endswith("Nothing was added.")
