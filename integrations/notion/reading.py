"""Reading of a page, database or block, with as much content as fits into one response."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from integrations.errors import UnreadableResponse
from integrations.json_object import Json
from integrations.notion.client import MAX_PAGE, NotionClient
from integrations.notion.errors import INVALID_CURSOR
from integrations.notion.lookup import DataSource, data_sources, find_object
from integrations.notion.markdown.rendering import BlockNode, block_address, render
from integrations.notion.markdown.rich_text import plain_text
from integrations.notion.params import ReadPage
from integrations.notion.parsing import ListPosition
from integrations.notion.results import (
    MAX_READ_VALUE,
    READ_CLIPPED,
    Kind,
    PageResult,
    ReadResult,
    Source,
    clip_value,
    location_of,
)
from integrations.service_client import ToolFailed, too_large_hint
from integrations.text import one_line, shorten

MAX_CHARS = 30_000
MAX_BLOCK_CHARS = 40_000
"""The limit for a single block: a response contains at least one."""
MAX_REQUESTS = 60
"""Notion allows a connection about 180 requests a minute."""
CONCURRENCY = 4
SPARE_SECONDS = 2.0
"""A partial result is worth more than a call that has timed out."""
MAX_DEPTH = 12
SEPARATE_KINDS = ("child_page", "child_database", "unsupported")
"""Blocks whose content is not part of the page."""
SMALL_PAGE = 5
"""The page size if the response with more blocks was too large."""
BLOCKS_TOO_LARGE = "Its blocks are too large to be read together: read them in Notion."
TOO_MUCH = "it is too much for one response."


@dataclass(frozen=True)
class PageContent:
    text: str
    next_cursor: str | None


@dataclass(frozen=True)
class BlockList:
    """One page of Notion's list of blocks."""

    blocks: list[Json]
    next_cursor: str | None


class BlockReader:
    """A reader of one page for one response, with a limited number of requests."""

    def __init__(self, api: NotionClient) -> None:
        self._api = api
        self._left = MAX_REQUESTS
        self._gate = asyncio.Semaphore(CONCURRENCY)

    async def content(self, object_id: str, cursor: str | None, *, with_ids: bool) -> PageContent:
        nodes, size = list[BlockNode](), 0
        async with aclosing(self._nodes(object_id, ListPosition.read(cursor))) as numbered_nodes:
            async for position, node in numbered_nodes:
                size += len(render([node])) if node else 0
                if nodes and (node is None or size > MAX_CHARS or not node.is_complete):
                    return _content(nodes, str(position), with_ids=with_ids)
                nodes += [node] if node else []
        if cursor and not nodes:
            raise ToolFailed("invalid_arguments", INVALID_CURSOR)
        return _content(nodes, None, with_ids=with_ids)

    async def _nodes(
        self, object_id: str, position: ListPosition
    ) -> AsyncGenerator[tuple[ListPosition, BlockNode | None], None]:
        """Each node with its position; None if no time or no requests were left to read it."""
        while True:
            page = await self._children(object_id, position.cursor)
            for index in range(position.skip, len(page.blocks), CONCURRENCY):
                if index > position.skip and self._is_over():
                    yield ListPosition(index, position.cursor), None
                    return
                for offset, node in enumerate(await self._trees(page.blocks[index : index + CONCURRENCY])):
                    yield ListPosition(index + offset, position.cursor), node
            if page.next_cursor is None:
                return
            position = ListPosition(0, page.next_cursor)

    def _is_over(self) -> bool:
        return self._left <= 0 or self._api.seconds_left() < SPARE_SECONDS

    async def _trees(self, blocks: Sequence[Json]) -> list[BlockNode]:
        return await _gather([self._tree(block, 1) for block in blocks])

    async def _tree(self, block: Json, depth: int) -> BlockNode:
        if not block.get("has_children") or block.get("type") in SEPARATE_KINDS:
            return BlockNode(block)
        if self._is_over() or depth > MAX_DEPTH:
            return BlockNode(block, note=_cut_note(block, TOO_MUCH), is_cut=depth <= MAX_DEPTH)
        try:
            inner, is_complete = await self._all_children(str(block["id"]))
        except ToolFailed as failed:  # the blocks around it are still useful
            return BlockNode(block, note=_cut_note(block, failed.text))
        nodes = await _gather([self._tree(block, depth + 1) for block in inner])
        return BlockNode(block, nodes, "" if is_complete else _cut_note(block, TOO_MUCH), is_cut=not is_complete)

    async def _all_children(self, object_id: str) -> tuple[list[Json], bool]:
        blocks, cursor = list[Json](), None
        while True:
            page = await self._children(object_id, cursor)
            blocks += page.blocks
            cursor = page.next_cursor
            if cursor is None or self._is_over():
                return blocks, cursor is None

    async def _children(self, object_id: str, cursor: str | None) -> BlockList:
        try:
            response = await self._request(object_id, cursor, MAX_PAGE)
        except UnreadableResponse:
            with too_large_hint(BLOCKS_TOO_LARGE):
                response = await self._request(object_id, cursor, SMALL_PAGE)
        next_cursor = response.get("next_cursor") if response.get("has_more") else None
        return BlockList(list(response.get("results", [])), next_cursor)

    async def _request(self, object_id: str, cursor: str | None, size: int) -> Json:
        self._left -= 1
        async with self._gate:
            return await self._api.read(f"/v1/blocks/{object_id}/children", {"page_size": size, "start_cursor": cursor})


def text_part(text: str, cursor: str | None) -> PageContent:
    """A part of the text of a block without children; the cursor counts the parts."""
    position = ListPosition.read(cursor)
    index, rest = position.skip, text[position.skip * MAX_CHARS :]
    if position.cursor or (index and not rest):
        raise ToolFailed("invalid_arguments", INVALID_CURSOR)
    return PageContent(rest[:MAX_CHARS], str(ListPosition(index + 1)) if len(rest) > MAX_CHARS else None)


def _content(nodes: list[BlockNode], cursor: str | None, *, with_ids: bool) -> PageContent:
    text = render(nodes, with_ids=with_ids)
    if len(text) > MAX_BLOCK_CHARS:
        block = nodes[0].block
        text = f"{text[:MAX_CHARS]}\n\n{_cut_note(block, TOO_MUCH)}"
    return PageContent(text, cursor)


def _cut_note(block: Json, reason: str) -> str:
    return (
        f"[More blocks in here are not shown: {reason} Call `notion_read` with `pageId` {block.get('id')} to read it.]"
    )


async def _gather(coroutines: Sequence[Coroutine[Any, Any, BlockNode]]) -> list[BlockNode]:
    """The results in order; if one coroutine fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


MOST_PAGES_OF_VALUES = 3
LONGEST_TITLE = 200
QUERY = "To see its pages, call `notion_query_database` with `databaseId` {}."
NO_SOURCES = "Notion shows no data source of it: it is a view of another database, which is where its pages are."


async def read_object(api: NotionClient, params: ReadPage) -> ReadResult:
    kind, response = await find_object(api, params.page_id)
    match kind:
        case "page":
            return await _page(api, params, response)
        case "database":
            sources = await data_sources(api, response)
            notes = [QUERY.format(source.id) for source in sources] or [NO_SOURCES]
            page = _without_properties(response, plain_text(response.get("title")), full=params.full)
            location = location_of(response.get("parent"))
            return ReadResult(
                kind="database", page=page, parent=location, data_sources=_source_results(sources), notes=notes
            )
        case "data_source":
            source = DataSource.of(response)
            page = _without_properties(response, source.name, full=params.full)
            notes = [QUERY.format(source.id)]
            location = location_of(response.get("parent"))
            return ReadResult(
                kind="data_source", page=page, parent=location, data_sources=_source_results([source]), notes=notes
            )
        case _:
            return await _block(api, params, response)


async def _page(api: NotionClient, params: ReadPage, response: Json) -> ReadResult:
    properties, notes = await _with_all_values(api, response)
    content = await BlockReader(api).content(response["id"], params.start_cursor, with_ids=params.with_block_ids)
    page = PageResult.of({**response, "properties": properties}, full=params.full, most=MAX_READ_VALUE)
    location = location_of(response.get("parent"))
    cut = [READ_CLIPPED] if page.cut and not params.full else []
    return _read("page", page, location, content, [*notes, *cut])


async def _block(api: NotionClient, params: ReadPage, block: Json) -> ReadResult:
    text = plain_text(BlockNode(block).inside.get("rich_text"))
    title = shorten(one_line(text), LONGEST_TITLE) or str(block.get("type"))
    page, location = _without_properties(block, title, full=params.full), location_of(block.get("parent"))
    if not block.get("has_children"):
        return _read("block", page, location, text_part(render([BlockNode(block)]), params.start_cursor), [])
    content = await BlockReader(api).content(block["id"], params.start_cursor, with_ids=params.with_block_ids)
    if len(text) > LONGEST_TITLE and not params.start_cursor:
        own_text = clip_value(render([BlockNode(block)]), MAX_READ_VALUE)
        content = PageContent(f"{own_text}\n\n{content.text}", content.next_cursor)
    return _read("block", page, location, content, [])


def _read(kind: Kind, page: PageResult, parent: str | None, content: PageContent, notes: list[str]) -> ReadResult:
    cursor = content.next_cursor
    return ReadResult(kind=kind, page=page, parent=parent, content=content.text, next_cursor=cursor, notes=notes)


def _without_properties(response: Json, title: str, *, full: bool) -> PageResult:
    return PageResult(
        id=str(response["id"]),
        title=title or "Untitled",
        url=one_line(str(response.get("url") or block_address(response))),
        created_time=response.get("created_time"),
        last_edited_time=response.get("last_edited_time"),
        in_trash=True if response.get("in_trash") else None,
        object=response if full else None,
    )


def _source_results(sources: list[DataSource]) -> list[Source]:
    return [Source.of(source, full=False) for source in sources]


async def _with_all_values(api: NotionClient, page: Json) -> tuple[Mapping[str, Json], list[str]]:
    """A page contains at most 25 pages of a relation; the others are fetched."""
    properties, notes = dict(page.get("properties") or {}), list[str]()
    for name, value in properties.items():
        if value.get("type") == "relation" and value.get("has_more"):
            related, is_complete = await _related(api, page["id"], value["id"])
            properties[name] = {**value, "relation": related, "has_more": False}
            if not is_complete:
                notes.append(f"`{one_line(name)}` has more pages than the {len(related)} that are shown.")
    return properties, notes


async def _related(api: NotionClient, page: str, property_id: str) -> tuple[list[Json], bool]:
    related, cursor = list[Json](), None
    for _ in range(MOST_PAGES_OF_VALUES):
        query = {"page_size": MAX_PAGE, "start_cursor": cursor}
        response = await api.read(f"/v1/pages/{page}/properties/{property_id}", query)
        related += [item["relation"] for item in response.get("results", []) if item.get("relation")]
        cursor = response.get("next_cursor")
        if not response.get("has_more"):
            return related, True
    return related, False
