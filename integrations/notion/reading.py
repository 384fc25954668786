"""Reads a page, a database or a block, with as much of its content as fits into one response."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from integrations.errors import UnreadableResponse
from integrations.json_object import Json
from integrations.notion.client import MAX_PAGE, NotionClient
from integrations.notion.errors import OLD_CURSOR
from integrations.notion.lookup import DataSource, data_sources, find_object
from integrations.notion.markdown.rendering import BlockNode, block_address, render
from integrations.notion.markdown.rich_text import plain_text
from integrations.notion.params import ReadPage
from integrations.notion.parsing import ListPosition
from integrations.notion.results import (
    MAX_READ_VALUE,
    READ_IN_PART,
    Kind,
    PageResult,
    ReadResult,
    Source,
    clip_value,
    location_of,
)
from integrations.service_client import ToolFailed, too_large_hint
from integrations.text import one_line, shortened

MAX_CHARS = 30_000
MOST_CHARS = 40_000
"""Of a single block: a response contains at least one."""
MAX_REQUESTS = 60
"""Notion allows a connection about 180 requests a minute."""
AT_ONCE = 4
SPARE_SECONDS = 2.0
"""A partial result is worth more than a call that has timed out."""
MAX_DEPTH = 12
ELSEWHERE = ("child_page", "child_database", "unsupported")
"""Blocks whose content is not part of the page."""
FEW = 5
"""At a time, if the response with more of them was too large."""
BY_ITSELF = "Its blocks are too large to be read together: read them in Notion."
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
    """Reads one page for one response, with a limited number of requests."""

    def __init__(self, api: NotionClient) -> None:
        self._api = api
        self._left = MAX_REQUESTS
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def content(self, of: str, cursor: str | None, *, with_ids: bool) -> PageContent:
        nodes, size = list[BlockNode](), 0
        async with aclosing(self._nodes(of, ListPosition.read(cursor))) as found:
            async for here, node in found:
                size += len(render([node])) if node else 0
                if nodes and (node is None or size > MAX_CHARS or not node.is_whole):
                    return _content(nodes, str(here), with_ids=with_ids)
                nodes += [node] if node else []
        if cursor and not nodes:
            raise ToolFailed("invalid_arguments", OLD_CURSOR)
        return _content(nodes, None, with_ids=with_ids)

    async def _nodes(self, of: str, place: ListPosition) -> AsyncGenerator[tuple[ListPosition, BlockNode | None], None]:
        """Each node with its position; None if no time or no requests were left to read it."""
        while True:
            found = await self._children(of, place.cursor)
            for at in range(place.skip, len(found.blocks), AT_ONCE):
                if at > place.skip and self._is_over():
                    yield ListPosition(at, place.cursor), None
                    return
                for step, node in enumerate(await self._trees(found.blocks[at : at + AT_ONCE])):
                    yield ListPosition(at + step, place.cursor), node
            if found.next_cursor is None:
                return
            place = ListPosition(0, found.next_cursor)

    def _is_over(self) -> bool:
        return self._left <= 0 or self._api.seconds_left() < SPARE_SECONDS

    async def _trees(self, blocks: Sequence[Json]) -> list[BlockNode]:
        return await _gather([self._tree(block, 1) for block in blocks])

    async def _tree(self, block: Json, depth: int) -> BlockNode:
        if not block.get("has_children") or block.get("type") in ELSEWHERE:
            return BlockNode(block)
        if self._is_over() or depth > MAX_DEPTH:
            return BlockNode(block, note=_left_out(block, TOO_MUCH), is_cut=depth <= MAX_DEPTH)
        try:
            inner, is_all = await self._all_children(str(block["id"]))
        except ToolFailed as failed:  # the blocks around it are still useful
            return BlockNode(block, note=_left_out(block, failed.text))
        nodes = await _gather([self._tree(block, depth + 1) for block in inner])
        return BlockNode(block, nodes, "" if is_all else _left_out(block, TOO_MUCH), is_cut=not is_all)

    async def _all_children(self, of: str) -> tuple[list[Json], bool]:
        blocks, cursor = list[Json](), None
        while True:
            found = await self._children(of, cursor)
            blocks += found.blocks
            cursor = found.next_cursor
            if cursor is None or self._is_over():
                return blocks, cursor is None

    async def _children(self, of: str, cursor: str | None) -> BlockList:
        try:
            answer = await self._asked(of, cursor, MAX_PAGE)
        except UnreadableResponse:
            with too_large_hint(BY_ITSELF):
                answer = await self._asked(of, cursor, FEW)
        more = answer.get("next_cursor") if answer.get("has_more") else None
        return BlockList(list(answer.get("results", [])), more)

    async def _asked(self, of: str, cursor: str | None, size: int) -> Json:
        self._left -= 1
        async with self._gate:
            return await self._api.read(f"/v1/blocks/{of}/children", {"page_size": size, "start_cursor": cursor})


def text_part(text: str, cursor: str | None) -> PageContent:
    """A part of the text of a block without children; the cursor counts the parts."""
    place = ListPosition.read(cursor)
    at, rest = place.skip, text[place.skip * MAX_CHARS :]
    if place.cursor or (at and not rest):
        raise ToolFailed("invalid_arguments", OLD_CURSOR)
    return PageContent(rest[:MAX_CHARS], str(ListPosition(at + 1)) if len(rest) > MAX_CHARS else None)


def _content(nodes: list[BlockNode], cursor: str | None, *, with_ids: bool) -> PageContent:
    text = render(nodes, with_ids=with_ids)
    if len(text) > MOST_CHARS:
        block = nodes[0].block
        text = f"{text[:MAX_CHARS]}\n\n{_left_out(block, TOO_MUCH)}"
    return PageContent(text, cursor)


def _left_out(block: Json, why: str) -> str:
    return f"[More blocks in here are not shown: {why} Call `notion_read` with `pageId` {block.get('id')} to read it.]"


async def _gather(works: Sequence[Coroutine[Any, Any, BlockNode]]) -> list[BlockNode]:
    """If one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


MOST_PAGES_OF_VALUES = 3
LONGEST_TITLE = 200
QUERY = "To see its pages, call `notion_query_database` with `databaseId` {}."
NO_SOURCES = "Notion shows no data source of it: it is a view of another database, which is where its pages are."


async def read_object(api: NotionClient, ask: ReadPage) -> ReadResult:
    kind, found = await find_object(api, ask.page_id)
    match kind:
        case "page":
            return await _page(api, ask, found)
        case "database":
            sources = await data_sources(api, found)
            notes = [QUERY.format(source.id) for source in sources] or [NO_SOURCES]
            about = _titled(found, plain_text(found.get("title")), full=ask.full)
            where = location_of(found.get("parent"))
            return ReadResult(kind="database", page=about, parent=where, data_sources=_shown(sources), notes=notes)
        case "data_source":
            source = DataSource.of(found)
            about = _titled(found, source.name, full=ask.full)
            notes = [QUERY.format(source.id)]
            where = location_of(found.get("parent"))
            return ReadResult(kind="data_source", page=about, parent=where, data_sources=_shown([source]), notes=notes)
        case _:
            return await _block(api, ask, found)


async def _page(api: NotionClient, ask: ReadPage, found: Json) -> ReadResult:
    properties, notes = await _with_all_values(api, found)
    content = await BlockReader(api).content(found["id"], ask.start_cursor, with_ids=ask.with_block_ids)
    page = PageResult.of({**found, "properties": properties}, full=ask.full, most=MAX_READ_VALUE)
    where = location_of(found.get("parent"))
    cut = [READ_IN_PART] if page.cut and not ask.full else []
    return _read("page", page, where, content, [*notes, *cut])


async def _block(api: NotionClient, ask: ReadPage, found: Json) -> ReadResult:
    text = plain_text(BlockNode(found).inside.get("rich_text"))
    title = shortened(one_line(text), LONGEST_TITLE) or str(found.get("type"))
    page, where = _titled(found, title, full=ask.full), location_of(found.get("parent"))
    if not found.get("has_children"):
        return _read("block", page, where, text_part(render([BlockNode(found)]), ask.start_cursor), [])
    content = await BlockReader(api).content(found["id"], ask.start_cursor, with_ids=ask.with_block_ids)
    if len(text) > LONGEST_TITLE and not ask.start_cursor:
        own = clip_value(render([BlockNode(found)]), MAX_READ_VALUE)
        content = PageContent(f"{own}\n\n{content.text}", content.next_cursor)
    return _read("block", page, where, content, [])


def _read(kind: Kind, page: PageResult, parent: str | None, content: PageContent, notes: list[str]) -> ReadResult:
    cursor = content.next_cursor
    return ReadResult(kind=kind, page=page, parent=parent, content=content.text, next_cursor=cursor, notes=notes)


def _titled(found: Json, title: str, *, full: bool) -> PageResult:
    return PageResult(
        id=str(found["id"]),
        title=title or "Untitled",
        url=one_line(str(found.get("url") or block_address(found))),
        created_time=found.get("created_time"),
        last_edited_time=found.get("last_edited_time"),
        in_trash=True if found.get("in_trash") else None,
        object=found if full else None,
    )


def _shown(sources: list[DataSource]) -> list[Source]:
    return [Source.of(source, full=False) for source in sources]


async def _with_all_values(api: NotionClient, page: Json) -> tuple[Mapping[str, Json], list[str]]:
    """A page contains at most 25 pages of a relation; the others are fetched."""
    properties, notes = dict(page.get("properties") or {}), list[str]()
    for name, found in properties.items():
        if found.get("type") == "relation" and found.get("has_more"):
            related, is_all = await _related(api, page["id"], found["id"])
            properties[name] = {**found, "relation": related, "has_more": False}
            if not is_all:
                notes.append(f"`{one_line(name)}` has more pages than the {len(related)} that are shown.")
    return properties, notes


async def _related(api: NotionClient, page: str, of: str) -> tuple[list[Json], bool]:
    related, cursor = list[Json](), None
    for _ in range(MOST_PAGES_OF_VALUES):
        query = {"page_size": MAX_PAGE, "start_cursor": cursor}
        answer = await api.read(f"/v1/pages/{page}/properties/{of}", query)
        related += [item["relation"] for item in answer.get("results", []) if item.get("relation")]
        cursor = answer.get("next_cursor")
        if not answer.get("has_more"):
            return related, True
    return related, False
