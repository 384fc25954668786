"""Lookup of objects by id, of the data source of a database, and of the parent of a new page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from integrations.json_object import Json
from integrations.notion.client import NotionClient
from integrations.notion.errors import NOT_FOUND, OTHER_KIND_TEXTS, ObjectNotFound
from integrations.notion.markdown.rich_text import plain_text
from integrations.notion.parsing import address, database_id, page_id
from integrations.notion.schema import PropertySchema
from integrations.service_client import ToolFailed
from integrations.text import one_line

MOST_SOURCES = 5
NO_SOURCE = (
    "Notion shows no data source of this database: it is a view of another database, which contains the pages. "
    "Share the original with this connection; then `notion_search` finds it."
)
NO_PARENT = (
    "`parent` is not valid. Omit it for the top of the workspace, or pass the id or URL of a page or "
    'database, or one of {"page_id": …}, {"data_source_id": …}, {"database_id": …}, {"workspace": true}.'
)
BELOW_BLOCK = 'A page cannot be created below a block: pass the page that contains the block as {"page_id": …}.'


@dataclass(frozen=True)
class DataSource:
    id: str
    name: str
    url: str | None
    schema: PropertySchema
    response: Json

    @classmethod
    def of(cls, response: Json) -> DataSource:
        schema = PropertySchema.of(response.get("properties") or {})
        return cls(
            str(response["id"]), plain_text(response.get("title")) or "Untitled", response.get("url"), schema, response
        )


async def data_source(api: NotionClient, object_id: str) -> DataSource:
    """The data source with this id, or the only one of the database with this id."""
    try:
        return await _data_source(api, object_id)
    except ObjectNotFound:
        database = await _database(api, object_id)
    return await _data_source(api, _only_source(database))


async def _database(api: NotionClient, object_id: str) -> Json:
    try:
        return await api.read(f"/v1/databases/{object_id}")
    except ObjectNotFound as missing:
        if missing.text == NOT_FOUND:
            await api.read(f"/v1/pages/{object_id}")
            raise ObjectNotFound(OTHER_KIND_TEXTS["page"], "invalid_arguments") from missing
        raise


async def data_sources(api: NotionClient, database: Json) -> list[DataSource]:
    """The first data sources of a database."""
    return [await _data_source(api, str(source["id"])) for source in database.get("data_sources", [])[:MOST_SOURCES]]


async def _data_source(api: NotionClient, object_id: str) -> DataSource:
    return DataSource.of(await api.read(f"/v1/data_sources/{object_id}"))


def _only_source(database: Json) -> str:
    sources = database.get("data_sources") or []
    if not sources:
        raise ToolFailed("upstream_refused", NO_SOURCE)
    if len(sources) > 1:
        names = ", ".join(f"{one_line(source.get('name')) or 'Untitled'} = {source['id']}" for source in sources)
        raise ToolFailed(
            "invalid_arguments",
            f"This database has {len(sources)} data sources. Choose one and pass its id instead: {names}.",
        )
    return str(sources[0]["id"])


async def find_object(api: NotionClient, object_id: str) -> tuple[str, Json]:
    """The object and its kind, which URLs do not contain."""
    for kind, path in (("page", "pages"), ("database", "databases"), ("data_source", "data_sources")):
        try:
            return kind, await api.read(f"/v1/{path}/{object_id}")
        except ObjectNotFound:
            continue
    return "block", await api.read(f"/v1/blocks/{object_id}")


@dataclass(frozen=True)
class Parent:
    reference: Json
    """The parent in the form of Notion's API."""
    location: str
    schema: PropertySchema | None = None
    """The properties of its pages, if it is a data source."""


AT_THE_TOP = Parent(
    {"type": "workspace", "workspace": True}, "at the top of the workspace, visible only to the person who connected"
)


async def parent_of(api: NotionClient, value: Any) -> Parent:
    match value:
        case None | "" | "workspace" | {"type": "workspace"} | {"workspace": _}:
            return AT_THE_TOP
        case str():
            return await _found_parent(api, _id(value))
        case Mapping():
            return await _named_parent(api, value)
        case _:
            raise ToolFailed("invalid_arguments", NO_PARENT)


async def _named_parent(api: NotionClient, reference: Mapping[str, Any]) -> Parent:
    values = {name.lower().replace("_", ""): value for name, value in reference.items()}
    for name, find in _PARENTS.items():
        if isinstance(value := values.get(name), str):
            return await find(api, value)
    kind = str(values.get("type", "")).lower().replace("_", "")
    value = values.get("id")
    if kind in _PARENTS and isinstance(value, str):
        return await _PARENTS[kind](api, value)
    raise ToolFailed("invalid_arguments", NO_PARENT)


async def _found_parent(api: NotionClient, object_id: str) -> Parent:
    kind, response = await find_object(api, object_id)
    match kind:
        case "page":
            return _below(str(response["id"]))
        case "database":
            return await _source_parent(api, _only_source(response))
        case "data_source":
            return _parent(DataSource.of(response))
        case _:
            raise ToolFailed("invalid_arguments", BELOW_BLOCK)


async def _page_parent(api: NotionClient, object_id: str) -> Parent:  # noqa: ARG001  the other functions send requests
    return _below(_id(object_id))


async def _source_parent(api: NotionClient, object_id: str) -> Parent:
    return _parent(await data_source(api, _id(object_id, database_id)))


async def _block_parent(api: NotionClient, object_id: str) -> Parent:  # noqa: ARG001
    raise ToolFailed("invalid_arguments", BELOW_BLOCK)


async def _any_parent(api: NotionClient, object_id: str) -> Parent:
    return await _found_parent(api, _id(object_id))


def _below(page: str) -> Parent:
    return Parent({"type": "page_id", "page_id": page}, f"below {address(page)}")


def _parent(source: DataSource) -> Parent:
    reference = {"type": "data_source_id", "data_source_id": source.id}
    return Parent(reference, f"in {one_line(source.name)}", source.schema)


def _id(text: str, read: Callable[[object], str] = page_id) -> str:
    try:
        return read(text)
    except ValueError as error:
        raise ToolFailed("invalid_arguments", f"`parent`: {error}.") from error


_PARENTS: Mapping[str, Callable[[NotionClient, str], Awaitable[Parent]]] = {
    "pageid": _page_parent,
    "datasourceid": _source_parent,
    "databaseid": _source_parent,
    "blockid": _block_parent,
    "id": _any_parent,
}
