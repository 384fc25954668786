"""What does Notion show of that which an id names, be it a page, a database or a block?"""

from __future__ import annotations

from collections.abc import Mapping

from integrations.json_object import Json
from integrations.notion.client import MAX_PAGE, NotionApi
from integrations.notion.content import Content, Reader, parted
from integrations.notion.lookup import DataSource, data_sources, thing
from integrations.notion.markdown.rendering import Node, as_markdown, block_address
from integrations.notion.markdown.rich_text import plain
from integrations.notion.params import ReadPage
from integrations.notion.results import READ_IN_PART, Kind, Page, Read, Source, place_of
from integrations.notion.showing import MAX_READ_VALUE, bounded
from integrations.text import one_line, shortened

MOST_PAGES_OF_VALUES = 3
LONGEST_TITLE = 200
QUERY = "To see its pages, call `notion_query_database` with `databaseId` {}."
NO_SOURCES = "Notion shows no data source of it: it is a view of another database, which is where its pages are."


async def read_thing(api: NotionApi, ask: ReadPage) -> Read:
    kind, found = await thing(api, ask.page_id)
    match kind:
        case "page":
            return await _page(api, ask, found)
        case "database":
            sources = await data_sources(api, found)
            notes = [QUERY.format(each.id) for each in sources] or [NO_SOURCES]
            about = _titled(found, plain(found.get("title")), full=ask.full)
            where = place_of(found.get("parent"))
            return Read(kind="database", page=about, parent=where, data_sources=_shown(sources), notes=notes)
        case "data_source":
            source = DataSource.of(found)
            about = _titled(found, source.name, full=ask.full)
            notes = [QUERY.format(source.id)]
            where = place_of(found.get("parent"))
            return Read(kind="data_source", page=about, parent=where, data_sources=_shown([source]), notes=notes)
        case _:
            return await _block(api, ask, found)


async def _page(api: NotionApi, ask: ReadPage, found: Json) -> Read:
    properties, notes = await _with_all_values(api, found)
    content = await Reader(api).content(found["id"], ask.start_cursor, with_ids=ask.with_block_ids)
    page = Page.of({**found, "properties": properties}, full=ask.full, most=MAX_READ_VALUE)
    where = place_of(found.get("parent"))
    cut = [READ_IN_PART] if page.cut and not ask.full else []
    return _read("page", page, where, content, [*notes, *cut])


async def _block(api: NotionApi, ask: ReadPage, found: Json) -> Read:
    text = plain(Node(found).inside.get("rich_text"))
    title = shortened(one_line(text), LONGEST_TITLE) or str(found.get("type"))
    page, where = _titled(found, title, full=ask.full), place_of(found.get("parent"))
    if not found.get("has_children"):
        return _read("block", page, where, parted(as_markdown([Node(found)]), ask.start_cursor), [])
    content = await Reader(api).content(found["id"], ask.start_cursor, with_ids=ask.with_block_ids)
    if len(text) > LONGEST_TITLE and not ask.start_cursor:
        own = bounded(as_markdown([Node(found)]), MAX_READ_VALUE)
        content = Content(f"{own}\n\n{content.text}", content.next_cursor)
    return _read("block", page, where, content, [])


def _read(kind: Kind, page: Page, parent: str | None, content: Content, notes: list[str]) -> Read:
    cursor = content.next_cursor
    return Read(kind=kind, page=page, parent=parent, content=content.text, next_cursor=cursor, notes=notes)


def _titled(found: Json, title: str, *, full: bool) -> Page:
    return Page(
        id=str(found["id"]),
        title=title or "Untitled",
        url=one_line(str(found.get("url") or block_address(found))),
        created_time=found.get("created_time"),
        last_edited_time=found.get("last_edited_time"),
        in_trash=True if found.get("in_trash") else None,
        object=found if full else None,
    )


def _shown(sources: list[DataSource]) -> list[Source]:
    return [Source.of(each, full=False) for each in sources]


async def _with_all_values(api: NotionApi, page: Json) -> tuple[Mapping[str, Json], list[str]]:
    """A page tells no more than 25 of a relation; the others are asked for."""
    properties, notes = dict(page.get("properties") or {}), list[str]()
    for name, found in properties.items():
        if found.get("type") == "relation" and found.get("has_more"):
            related, is_all = await _related(api, page["id"], found["id"])
            properties[name] = {**found, "relation": related, "has_more": False}
            if not is_all:
                notes.append(f"`{one_line(name)}` has more than the {len(related)} that are shown.")
    return properties, notes


async def _related(api: NotionApi, page: str, of: str) -> tuple[list[Json], bool]:
    related, cursor = list[Json](), None
    for _ in range(MOST_PAGES_OF_VALUES):
        query = {"page_size": MAX_PAGE, "start_cursor": cursor}
        answer = await api.read(f"/v1/pages/{page}/properties/{of}", query)
        related += [each["relation"] for each in answer.get("results", []) if each.get("relation")]
        cursor = answer.get("next_cursor")
        if not answer.get("has_more"):
            return related, True
    return related, False
