"""Notion's tools. Their docstrings are the descriptions that models read."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence

from integrations.json_object import Json
from integrations.notion.client import NotionClient
from integrations.notion.filters import to_notion_filter, to_notion_sorts
from integrations.notion.lookup import data_source, parent_of
from integrations.notion.markdown.blocks import Draft, draft_from_parts
from integrations.notion.params import (
    LONGEST_CONTENT,
    AppendBlocks,
    CreateDatabasePage,
    CreatePage,
    QueryDatabase,
    ReadPage,
    SearchTitles,
    UpdateDatabasePage,
    UpdatePage,
)
from integrations.notion.parsing import ListPosition
from integrations.notion.people_lookup import with_people
from integrations.notion.reading import read_object
from integrations.notion.results import (
    NO_MORE_RESULTS,
    NO_PAGES,
    AppendedBlocks,
    PageResult,
    QueryResults,
    ReadResult,
    SavedPage,
    SearchHit,
    SearchResults,
    notes_on_pages,
    notes_on_response,
    page_of_results,
)
from integrations.notion.writing import append_blocks, create_page, update_page
from integrations.service_client import ToolFailed, too_large_hint
from integrations.tool import ServiceTool, tool

API = NotionClient
MAX_PAGE_SIZE = 100
ASK_FOR_FEWER = "Ask for fewer at a time: `pageSize` 5."
MOST_BLOCKS = 2000
TOO_MANY = "The content makes {:,} blocks; one call accepts at most 2,000: send it in parts."
TOO_LONG = "The content is longer than 200,000 characters: send it in parts."
NOTHING_FOUND = (
    "Nothing was found. Search covers only titles, and only what is shared with this connection; a page that was just "
    "shared may still be missing. Try fewer words, or read the page by its URL with `notion_read`."
)


@tool("Read a page")
async def notion_read(api: NotionClient, params: ReadPage) -> ReadResult:
    """Read a Notion page by its id or URL: its properties and its whole content as Markdown, with nested blocks.

    Use it after notion_search, or for any Notion link. For a database or a data source it returns the properties of
    its pages with types and options: check them before you query or write. For a block it returns the block's content.

    A long page comes in parts: call again with `nextCursor` as `startCursor`. Subpages and databases on a page are
    links: read them with calls of their own. Links to files stored in Notion expire after an hour. Only what is shared
    with the connection is found.
    """
    return await read_object(api, params)


@tool("Search by title")
async def notion_search(api: NotionClient, params: SearchTitles) -> SearchResults:
    """Find pages and data sources (the tables of databases) by words in their titles; without a query, list all.

    Use it to get ids for the other tools: notion_read for a page, notion_query_database for a data source. To find
    pages of a database by their properties, use notion_query_database instead: it is exact.

    It searches only titles, not content, and only what is shared with the connection. Very recent shares and changes
    may be missing. For more results, call again with `nextCursor` as `startCursor`.
    """
    position = ListPosition.read(params.start_cursor)
    body: Json = {"page_size": min(params.page_size + position.skip, MAX_PAGE_SIZE)}
    if params.query:
        body["query"] = params.query
    if params.filter:
        body["filter"] = {"property": "object", "value": params.filter}
    if params.sort:
        body["sort"] = {"timestamp": "last_edited_time", "direction": params.sort}
    if position.cursor:
        body["start_cursor"] = position.cursor
    with too_large_hint(ASK_FOR_FEWER):
        response = await api.query("/v1/search", body)
    hits, cursor = page_of_results(
        response, position, params.page_size, lambda result: SearchHit.of(result, full=params.full)
    )
    notes = notes_on_response(
        response, if_empty="" if hits or cursor else NO_MORE_RESULTS if params.start_cursor else NOTHING_FOUND
    )
    return SearchResults(results=hits, has_more=cursor is not None, next_cursor=cursor, notes=notes)


@tool("Create a page", writes=True)
async def notion_create(api: NotionClient, params: CreatePage) -> SavedPage:
    """Create a page with a title (`name`) and content in Markdown, below a page, in a database, or at the top.

    `parent` is the id or URL of a page or a database (if the database has several data sources, the id of one of
    them). Without it the page is created at the top of the workspace, visible only to the person who connected. In a
    database, `properties` takes values by name, as in notion_create_database_page; other pages have only a title.

    Returns the page's id and URL. Long content is sent in several requests; if one fails, the error says how much was
    added. If the error says that the request may have been carried out, search for the title before you try again.
    """
    parent = await parent_of(api, params.parent)
    return await create_page(
        api,
        parent,
        params.name,
        params.properties or {},
        await _create_draft(params.content, params.children),
        params.icon,
        full=params.full,
    )


@tool("Update a page", writes=True, repeatable=True, destroys=True)
async def notion_update(api: NotionClient, params: UpdatePage) -> SavedPage:
    """Change a page's title (`name`), properties or icon, or move it to the trash and back (`archived`).

    Only what you pass is changed; the previous values are lost. Properties are values by name, as in
    notion_update_database_page; null clears one. `archived` false restores a page from the trash.

    It does not change the content: notion_append_blocks adds to it. Returns the updated page.
    """
    return await update_page(
        api, params.page_id, params.properties or {}, params.name, params.archived, params.icon, full=params.full
    )


@tool("Query a database")
async def notion_query_database(api: NotionClient, params: QueryDatabase) -> QueryResults:
    """List the pages of a database that match a filter, sorted, with their properties.

    Pass the id or URL of a database or of a data source. If a database has several data sources, the error lists
    them: choose one. The error for a wrong property name lists the existing names, types and options.

    `filter` takes values by name ({"Status": "Done"}), conditions ({"property": "Due", "before": "2026-12-01"}), or
    Notion's own filters with and/or; people by name or id, relations by id. `sorts` takes ["Due", "-created_time"].

    Returns each page's id, URL, title and values; notion_read returns its content. For more, call again with the same
    arguments and `nextCursor` as `startCursor`.
    """
    source = await data_source(api, params.database_id)
    position = ListPosition.read(params.start_cursor)
    body: Json = {"page_size": min(params.page_size + position.skip, MAX_PAGE_SIZE)}
    if params.filter:
        filter_ = params.filter
        body["filter"] = await with_people(api, lambda who: to_notion_filter(filter_, source.schema, who))
    if params.sorts:
        body["sorts"] = to_notion_sorts(params.sorts, source.schema)
    if position.cursor:
        body["start_cursor"] = position.cursor
    only = source.schema.names(params.properties) if params.properties else None
    with too_large_hint(ASK_FOR_FEWER):
        response = await api.query(f"/v1/data_sources/{source.id}/query", body)
    pages, cursor = page_of_results(
        response, position, params.page_size, lambda result: PageResult.of(result, full=params.full, only=only)
    )
    if_empty = "" if pages or cursor else NO_MORE_RESULTS if params.start_cursor else NO_PAGES
    return QueryResults(
        data_source_id=source.id,
        data_source_name=source.name,
        results=pages,
        has_more=cursor is not None,
        next_cursor=cursor,
        notes=[*notes_on_response(response, if_empty=if_empty), *notes_on_pages(pages)],
    )


@tool("Create a page in a database", writes=True)
async def notion_create_database_page(api: NotionClient, params: CreateDatabasePage) -> SavedPage:
    """Add a page to a database, with values for its properties and, optionally, content in Markdown.

    Pass the id or URL of the database (or of a data source, if it has several), and values by property name:
    {"Name": "Report", "Status": "In progress", "Due": "2026-12-01", "Tags": ["Q4"], "Done": false}. People are passed
    by name or id, relations by id. A status must be one of its options; a select gets new ones. If a value is not
    valid, the error lists the existing names, types and options, and nothing is created.

    Returns the page's id and URL. If the error says that the request may have been carried out, query for the page
    before you repeat it.
    """
    draft = await _create_draft(params.content)
    source = await parent_of(api, {"data_source_id": params.database_id})
    return await create_page(api, source, params.name, params.properties or {}, draft, params.icon, full=params.full)


@tool("Update a page in a database", writes=True, repeatable=True, destroys=True)
async def notion_update_database_page(api: NotionClient, params: UpdateDatabasePage) -> SavedPage:
    """Change the values of a page in a database; properties that you do not name stay unchanged.

    Values by property name: text, number, true/false, the name of an option, a date `2026-12-01` or a range
    `2026-12-01/2026-12-05`, lists of option names, of page ids (relation) or of people's names or ids. A list
    replaces the previous list; null clears a value. Formulas, rollups and times of edits cannot be set.

    Returns the updated page. If a value is not valid, the error lists the existing properties.
    """
    return await update_page(api, params.page_id, params.properties, None, None, None, full=params.full)


@tool("Add to a page", writes=True)
async def notion_append_blocks(api: NotionClient, params: AppendBlocks) -> AppendedBlocks:
    """Add content to the end of a page or inside a block: Markdown as `content`, or Notion's own blocks as `children`.

    Pass `after` to insert it after a block instead of at the end; notion_read with `withBlockIds` shows the ids.
    Existing content does not change.

    Long content is sent in several requests; if one fails, the error says how much was added. If it says that the
    request may have been carried out, read the page before you try again, or the content may be added twice.
    """
    draft = await _create_draft(params.content, params.children)
    if not draft.blocks:
        raise ToolFailed("invalid_arguments", "`content` is empty: there is nothing to add.")
    return await append_blocks(api, params.page_id, draft, params.after)


async def _create_draft(content: str | None, children: Sequence[object] | None = None) -> Draft:
    """Convert in a thread, since long texts take seconds. A text among the children is Markdown."""
    items = [content or "", *(children or ())]
    sections = [item for item in items if isinstance(item, str | dict)]
    if len(sections) < len(items):
        raise ToolFailed("invalid_arguments", "`children`: each must be a block or a text in Markdown.")
    if sum(len(section) for section in sections if isinstance(section, str)) > LONGEST_CONTENT:
        raise ToolFailed("invalid_arguments", TOO_LONG)
    draft = await to_thread(draft_from_parts, sections)
    if len(draft.blocks) > MOST_BLOCKS:
        raise ToolFailed("invalid_arguments", TOO_MANY.format(len(draft.blocks)))
    return draft


TOOLS: Sequence[ServiceTool] = (
    notion_read,
    notion_search,
    notion_create,
    notion_update,
    notion_query_database,
    notion_create_database_page,
    notion_update_database_page,
    notion_append_blocks,
)
