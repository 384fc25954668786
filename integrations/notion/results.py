"""The results of Notion's tools, structured and as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal, TypeVar

from pydantic import Field

from integrations.json_object import Json
from integrations.notion.lookup import DataSource
from integrations.notion.markdown.rich_text import plain_text
from integrations.notion.parsing import ListPosition, address
from integrations.notion.property_values import readable_values, title_of
from integrations.notion.schema import MOST_PROPERTIES
from integrations.text import clip, more_follow, one_line
from integrations.tool import Result

MAX_VALUE = 500
MAX_READ_VALUE = 4000
MAX_LISTED = 25
"""The number of pages of a relation that Notion returns at once."""


def clip_value(value: Any, max_length: int, *, has_more: bool = False) -> Any:
    """Shorten a value, and mark what is left out."""
    if isinstance(value, str):
        return clip(value, max_length)
    if not isinstance(value, list):
        return value
    kept = value[:MAX_LISTED] if max_length == MAX_VALUE else value
    rest = [f"… ({len(value) - len(kept)} more)"] if len(kept) < len(value) else ["… (and more)"] if has_more else []
    return [*(clip_value(item, max_length) for item in kept), *rest]


def property_lines(properties: Json, indent: str) -> Iterator[str]:
    for name, value in properties.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else value
        text = ("yes" if text else "no") if isinstance(text, bool) else text
        yield f"{indent}- {one_line(name)}: {one_line(str(text))}"


def json_lines(response: Json | None) -> Iterator[str]:
    """Notion's own response, as JSON."""
    if response is not None:
        yield f"```json\n{json.dumps(response, ensure_ascii=False)}\n```"


def readable_time(time: str) -> str:
    """`2026-11-18 12:00 UTC`: Notion's times end with Z."""
    return f"{time[:10]} {time[11:16]} UTC" if time.endswith("Z") else one_line(time)


MAX_CHARS = 40_000
MORE = ", and more follow"
NO_CONTENT = "(No content.)"
NO_PAGES = "No page matches. `notion_read` of the data source shows its properties and options."
NO_MORE_RESULTS = "No more results: all of them are on the previous pages."
CLIPPED = "Some values are clipped: `notion_read` of the page shows more of them."
SAVED_CLIPPED = "Some values are clipped: `notion_read` of the page with `full` true returns all of them."
READ_CLIPPED = "Some values are clipped: `full` true returns all of them."
INCOMPLETE = "Notion did not search everything, so there may be more: use a narrower query."
NONE_SO_FAR = "Nothing was found, but Notion did not search everything: use a narrower query."
Kind = Literal["page", "database", "data_source", "block"]
ResultItem = TypeVar("ResultItem", bound=Result)


class PageResult(Result):
    id: str
    title: str
    url: str
    properties: Json = Field(default_factory=dict, description="Values by name, in plain words, without empty ones.")
    cut: list[str] | None = Field(default=None, description="The properties whose values are clipped.")
    created_time: str | None = None
    last_edited_time: str | None = None
    in_trash: bool | None = Field(default=None, description="Only if true.")
    object: Json | None = Field(default=None, description="Notion's own response, if `full` was true.")

    @classmethod
    def of(
        cls, page: Json, *, full: bool = False, only: Sequence[str] | None = None, most: int = MAX_VALUE
    ) -> PageResult:
        definitions: Json = dict(islice((page.get("properties") or {}).items(), MOST_PROPERTIES))
        values = readable_values({name: value for name, value in definitions.items() if only is None or name in only})
        kept = {name: clip_value(value, most, has_more=_has_more(definitions[name])) for name, value in values.items()}
        return cls(
            id=str(page["id"]),
            title=title_of(definitions),
            url=_url(page),
            properties=kept,
            cut=[name for name, value in kept.items() if value != values[name]] or None,
            created_time=page.get("created_time"),
            last_edited_time=page.get("last_edited_time"),
            in_trash=True if page.get("in_trash") else None,
            object=page if full else None,
        )

    def text(self) -> str:
        trash = " (in the trash)" if self.in_trash else ""
        head = f"**{one_line(self.title)}**{trash} {self.url}"  # the URL contains the id
        return "\n".join([head, *property_lines(self.properties, "  "), *json_lines(self.object)])


class Source(Result):
    id: str
    name: str
    url: str | None = None
    properties: Json = Field(description="The type of each property, and its options if it has any.")
    object: Json | None = None

    @classmethod
    def of(cls, source: DataSource, *, full: bool) -> Source:
        kinds: Json = {
            property_.name: {"type": property_.kind, "options": list(property_.options)}
            if property_.options
            else {"type": property_.kind}
            for property_ in source.schema.properties
        }
        url = source.url
        return cls(id=source.id, name=source.name, url=url, properties=kinds, object=source.response if full else None)

    def text(self) -> str:
        kinds = [
            f"  - {one_line(name)}: {value['type']}{_option_list(value.get('options'))}"
            for name, value in self.properties.items()
        ]
        return "\n".join([f"Data source **{one_line(self.name)}**, id: {self.id}", *kinds, *json_lines(self.object)])


class ReadResult(Result):
    kind: Kind
    page: PageResult
    parent: str | None = Field(default=None, description="The parent: its kind, and its id or URL.")
    content: str = Field(default="", description="Markdown, with nested blocks.")
    data_sources: list[Source] = Field(default_factory=list, description="Of a database: the properties of its pages.")
    next_cursor: str | None = Field(default=None, description="Pass it as `startCursor` to get the next part.")
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        page = self.page
        times = f"Last edited {readable_time(page.last_edited_time)}." if page.last_edited_time else ""
        trash = "It is in the trash." if page.in_trash else ""
        location = f"In {one_line(self.parent)}." if self.parent else ""
        facts = " ".join(filter(None, (location, times, trash)))
        head = [f"# {one_line(page.title)}", f"{self.kind.replace('_', ' ').capitalize()} {page.url}", facts]
        paragraphs = [
            "\n".join(filter(None, head)),
            "\n".join(property_lines(page.properties, "")),
            *(source.text() for source in self.data_sources),
            f"---\n\n{self.content}" if self.content else NO_CONTENT if self.kind in ("page", "block") else "",
            "\n".join(json_lines(page.object)),
            *self.notes,
            _next_note(self.next_cursor),
        ]
        return "\n\n".join(filter(None, paragraphs))


class SearchHit(Result):
    kind: Kind
    id: str
    title: str
    url: str
    last_edited_time: str | None = None
    database_id: str | None = Field(default=None, description="Of a data source: its database.")
    object: Json | None = None

    @classmethod
    def of(cls, item: Json, *, full: bool) -> SearchHit:
        is_page = item.get("object") == "page"
        title = title_of(item.get("properties") or {}) if is_page else plain_text(item.get("title")) or "Untitled"
        return cls(
            kind="page" if is_page else "data_source",
            id=str(item["id"]),
            title=title,
            url=_url(item),
            last_edited_time=item.get("last_edited_time"),
            database_id=None if is_page else (item.get("parent") or {}).get("database_id"),
            object=item if full else None,
        )

    def text(self) -> str:
        kind = "page" if self.kind == "page" else "data source"
        day = f", edited {self.last_edited_time[:10]}" if self.last_edited_time else ""
        id_text = "" if self.kind == "page" else f" id: {self.id}"  # its URL is that of the database
        return "\n".join([f"- {one_line(self.title)} ({kind}{day}){id_text} {self.url}", *json_lines(self.object)])


class SearchResults(Result):
    results: list[SearchHit]
    has_more: bool
    next_cursor: str | None = Field(default=None, description="Pass it as `startCursor` to get the next part.")
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        rows = "\n".join(result.text() for result in self.results)
        return "\n\n".join(filter(None, (rows, *self.notes, _next_note(self.next_cursor))))


class QueryResults(Result):
    data_source_id: str
    data_source_name: str
    results: list[PageResult]
    has_more: bool
    next_cursor: str | None = Field(default=None, description="Pass it as `startCursor` to get the next part.")
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        count = f"{len(self.results)} page{'' if len(self.results) == 1 else 's'}{MORE if self.has_more else ''}"
        head = f"{count}: **{one_line(self.data_source_name)}** (data source {self.data_source_id})"
        return "\n\n".join(
            filter(None, (head, *map(PageResult.text, self.results), *self.notes, _next_note(self.next_cursor)))
        )


class SavedPage(Result):
    message: str
    page: PageResult
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        return "\n\n".join([self.message, self.page.text(), *self.notes])


class AppendedBlocks(Result):
    message: str
    block_ids: list[str] = Field(
        description="Ids of the new top-level blocks in order; only the first if there are many."
    )
    url: str
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        ids = f"{self.message} {self.url}\nIds of the new blocks: {', '.join(self.block_ids)}"
        return "\n\n".join([ids, *self.notes])


def page_of_results(
    response: Json, position: ListPosition, size: int, parse: Callable[[Json], ResultItem]
) -> tuple[list[ResultItem], str | None]:
    """The items that fit into one response, and the cursor for the next."""
    items: list[ResultItem] = []
    length = 0
    results = list(response.get("results", []))[position.skip : position.skip + size]
    for result in results:
        item = parse(result)
        length += max(len(item.text()), len(json.dumps(item.structured(), ensure_ascii=False)))
        if items and length > MAX_CHARS:
            return items, str(ListPosition(position.skip + len(items), position.cursor))
        items.append(item)
    return items, str(response["next_cursor"]) if response.get("has_more") and response.get("next_cursor") else None


def notes_on_response(response: Json, *, if_empty: str) -> list[str]:
    """`if_empty`: the note if nothing was found; empty otherwise."""
    status = response.get("request_status") or {}
    if status.get("type") != "incomplete":
        return [if_empty] if if_empty else []
    return [NONE_SO_FAR if if_empty else INCOMPLETE]


def notes_on_pages(pages: Iterable[PageResult], note: str = CLIPPED) -> list[str]:
    return [note] if any(page.cut for page in pages) else []


def location_of(parent: Json | None) -> str | None:
    """A text that names the parent of a page or a database."""
    match parent:
        case {"type": "workspace"}:
            return "the workspace, at the top"
        case {"data_source_id": str(object_id)}:
            return f"data source {object_id}"
        case {"page_id": str(object_id)}:
            return f"page {address(object_id)}"
        case {"database_id": str(object_id)}:
            return f"database {address(object_id)}"
        case {"block_id": str(object_id)}:
            return f"block {address(object_id)}"
        case _:
            return None


def _next_note(cursor: str | None) -> str:
    return more_follow("startCursor", cursor) if cursor else ""


def _has_more(value: Json) -> bool:
    return value.get("type") == "relation" and value.get("has_more") is True


def _option_list(options: Sequence[str] | None) -> str:
    return f" ({', '.join(map(one_line, options))})" if options else ""


def _url(response: Json) -> str:
    return one_line(str(response.get("url") or address(str(response["id"]))))
