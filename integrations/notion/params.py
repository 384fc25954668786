"""Parameters of Notion's tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from integrations.argument_coercion import from_json_text, plain_name
from integrations.json_object import Json
from integrations.notion.parsing import (
    MOST_AT_ONCE,
    BlockId,
    DatabaseId,
    PageId,
    as_emoji,
    as_filter,
    as_kind,
    as_list,
    as_object,
    as_order,
    cap_size,
    either,
)
from integrations.paging import paging_aliases
from integrations.tool import Params

LONGEST_CONTENT = 200_000
MOST_CHILDREN = 100
MOST_VALUES = 100
CONTENT = ("content", "markdown", "body", "text", "children", "blocks")


AnyObject = Annotated[Any, BeforeValidator(from_json_text)]
Cursor = Annotated[
    str | None,
    Field(
        max_length=2000, description="`nextCursor` of the previous response, to continue from there. Omit it at first."
    ),
]
PageSize = Annotated[
    int,
    Field(ge=1, le=MOST_AT_ONCE, description="Maximum number of results in one response."),
    BeforeValidator(cap_size),
]
Full = Annotated[bool, Field(description="Also return Notion's own response, which is long.")]
Content = Annotated[
    str | None,
    Field(
        max_length=LONGEST_CONTENT,
        description="Markdown: headings, lists (nested, `1.`, `- [ ]`), quotes, code, tables, links, images by URL.",
        examples=["## Agenda\n\n- [ ] Numbers\n- [ ] Hiring"],
    ),
]
Icon = Annotated[str | None, BeforeValidator(as_emoji), Field(max_length=100, description="An emoji.")]
VALUES_FIELD = Field(
    description=(
        "Values by the property's name: text, number, true/false, option name(s), date `2026-12-01` or "
        "`2026-12-01/2026-12-05`, people's names, page ids; null clears a value. Notion's own property objects are "
        "accepted too."
    ),
    examples=[{"Name": "Write the report", "Status": "In progress", "Due": "2026-12-01", "Tags": ["Q4"]}],
)
Values = Annotated[Json, Field(max_length=MOST_VALUES), BeforeValidator(as_object), VALUES_FIELD]
RequiredValues = Annotated[Json, Field(min_length=1, max_length=MOST_VALUES), BeforeValidator(as_object), VALUES_FIELD]
PageParam = Annotated[PageId, Field(description="The page: its id or its URL.")]
DatabaseParam = Annotated[
    DatabaseId, Field(description="A database or one of its data sources: the id, or the URL of the database.")
]
_PAGE: Mapping[str, str] = dict.fromkeys(("id", "page", "url", "pageurl", "blockid"), "page_id")
_DATABASE: Mapping[str, str] = dict.fromkeys(
    ("id", "database", "datasource", "datasourceid", "url", "databaseurl", "parent"), "database_id"
)
_VALUES: Mapping[str, str] = {"props": "properties", "values": "properties"}
_TEXT: Mapping[str, str] = dict.fromkeys(("markdown", "body", "text"), "content")
_NEXT = paging_aliases(cursor="start_cursor")
_SIZE = paging_aliases(size="page_size")


class OfDatabase(Params):
    database_id: DatabaseParam

    @model_validator(mode="before")
    @classmethod
    def _prefer_data_source(cls, args: object) -> object:
        """Use the data source if both a database and a data source are passed."""
        if not isinstance(args, dict):
            return args
        names = {name.lower().replace("_", ""): name for name in args if isinstance(name, str)}
        has_data_source = args.get(names.get("datasourceid", ""))
        return {
            name: value for name, value in args.items() if not (has_data_source and name == names.get("databaseid"))
        }


class WithValues(Params):
    @model_validator(mode="before")
    @classmethod
    def _gather_values(cls, args: object) -> object:
        """Accept values beside the other parameters instead of in `properties`."""
        if not isinstance(args, dict):
            return args
        known_names = {plain_name(name) for name in cls.model_fields} | cls.aliases.keys()
        values = {name: value for name, value in args.items() if plain_name(str(name)) not in known_names}
        has_values = any(plain_name(str(name)) in ("properties", *_VALUES) for name in args)
        if has_values or not values:
            return args
        return {name: value for name, value in args.items() if name not in values} | {"properties": values}


class ReadPage(Params):
    aliases: ClassVar = {**_PAGE, **_NEXT, "databaseid": "page_id", "datasourceid": "page_id"}
    page_id: PageParam
    start_cursor: Cursor = None
    with_block_ids: Annotated[
        bool, Field(description="Show the id of each block, for `after` of notion_append_blocks.")
    ] = False
    full: Full = False


class SearchTitles(Params):
    aliases: ClassVar = {**_NEXT, **_SIZE, "q": "query", "text": "query", "type": "filter", "object": "filter"}
    query: Annotated[
        str | None, Field(max_length=500, description="Words of the title. If omitted: everything that is shared.")
    ] = None
    filter: Annotated[
        Literal["page", "data_source"] | None,
        BeforeValidator(as_kind),
        Field(description="Only pages, or only data sources (the tables of databases)."),
    ] = None
    sort: Annotated[
        Literal["ascending", "descending"] | None,
        BeforeValidator(as_order),
        Field(description="By the time of the last edit. If omitted: the best match first."),
    ] = None
    start_cursor: Cursor = None
    page_size: PageSize = 25
    full: Full = False


class CreatePage(Params):
    aliases: ClassVar = {
        **_VALUES,
        **_TEXT,
        "title": "name",
        "blocks": "children",
        **dict.fromkeys(("parentid", "pageid", "parentpageid", "databaseid", "datasourceid"), "parent"),
    }
    name: Annotated[str | None, Field(max_length=2000, description="The page's title.")] = None
    content: Content = None
    parent: Annotated[
        AnyObject,
        Field(
            description=(
                'The parent: the id or URL of a page or database, or {"page_id": …}, {"data_source_id": …}, '
                '{"workspace": true}. If omitted: the top of the workspace, visible only to the person who connected.'
            ),
            json_schema_extra=either,
        ),
    ] = None
    properties: Values | None = None
    children: Annotated[
        list[Any] | None,
        BeforeValidator(as_list),
        Field(max_length=1000, description="Notion's own block objects, for what Markdown cannot express."),
    ] = None
    icon: Icon = None
    full: Full = False

    @model_validator(mode="after")
    def _require_content(self) -> Self:
        if not (self.name or self.properties):
            raise ValueError("Either `properties` or `name` is required")
        return self


class UpdatePage(Params):
    aliases: ClassVar = {
        **_PAGE,
        **_VALUES,
        "title": "name",
        **dict.fromkeys(("intrash", "trash", "trashed", "delete", "archive", "isarchived"), "archived"),
    }
    page_id: PageParam
    name: Annotated[str | None, Field(max_length=2000, description="The new title.")] = None
    properties: Values | None = None
    archived: Annotated[bool | None, Field(description="true moves the page to the trash, false restores it.")] = None
    icon: Icon = None
    full: Full = False

    @model_validator(mode="before")
    @classmethod
    def _reject_content(cls, args: object) -> object:
        names = [name for name in args if str(name).lower() in CONTENT] if isinstance(args, dict) else []
        if names:
            raise ValueError(f"`{names[0]}`: this tool does not change the content; `notion_append_blocks` adds to it")
        return args

    @model_validator(mode="after")
    def _require_change(self) -> Self:
        if self.archived is None and not (self.name or self.properties or self.icon):
            raise ValueError("At least one of `properties`, `name`, `archived` and `icon` is required")
        return self


class QueryDatabase(OfDatabase):
    aliases: ClassVar = {
        **_DATABASE,
        **_NEXT,
        **_SIZE,
        "where": "filter",
        "filters": "filter",
        **dict.fromkeys(("sort", "orderby", "order"), "sorts"),
    }
    filter: Annotated[
        Json | None,
        BeforeValidator(as_filter),
        Field(
            description=(
                'Short, values by property: {"Status": "Done", "Tags": ["Q4", "Q3"]}. A condition: {"property": "Due", '
                '"before": "2026-12-01"}, or {"Due": {"after": "today", "before": "one_month_from_now"}}. '
                'Several: {"and": […]} or {"or": […]}. Filters in the form of Notion are accepted too.'
            ),
            examples=[{"Status": "In progress"}, {"property": "Due", "on_or_before": "2026-12-01"}],
        ),
    ] = None
    sorts: Annotated[
        list[Any] | None,
        BeforeValidator(lambda value: [value] if isinstance(value := from_json_text(value), str | dict) else value),
        Field(
            max_length=100,
            description='For example [{"property": "Due", "direction": "ascending"}], or ["-created_time"].',
        ),
    ] = None
    properties: Annotated[
        list[str] | None,
        BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value),
        Field(max_length=100, description="The names of the properties to return. If omitted: all that have a value."),
    ] = None
    start_cursor: Cursor = None
    page_size: PageSize = 25
    full: Full = False


class CreateDatabasePage(WithValues, OfDatabase):
    aliases: ClassVar = {**_DATABASE, **_VALUES, **_TEXT, "title": "name"}
    properties: Values | None = None
    name: Annotated[str | None, Field(max_length=2000, description="The title, if not in `properties`.")] = None
    content: Content = None
    icon: Icon = None
    full: Full = False

    @model_validator(mode="after")
    def _require_content(self) -> Self:
        if not (self.name or self.properties):
            raise ValueError("Either `properties` or `name` is required")
        return self


class UpdateDatabasePage(WithValues, Params):
    aliases: ClassVar = {**_PAGE, **_VALUES}
    page_id: PageParam
    properties: RequiredValues
    full: Full = False


class AppendBlocks(Params):
    aliases: ClassVar = {**_PAGE, **_TEXT, "blocks": "children", "afterblock": "after", "afterblockid": "after"}
    page_id: Annotated[PageId, Field(description="The page or block to add to: its id or its URL.")]
    content: Content = None
    children: Annotated[
        list[Any] | None,
        BeforeValidator(as_list),
        Field(
            min_length=1,
            max_length=MOST_CHILDREN,
            description="Notion's own block objects, for what Markdown cannot express. At most 100.",
        ),
    ] = None
    after: Annotated[
        BlockId | None,
        Field(description="The block to insert after (notion_read withBlockIds shows ids). If omitted: at the end."),
    ] = None

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if (self.content is None) == (self.children is None):
            raise ValueError("Pass either `content` or `children`")
        return self
