"""Looks up the object that an id names, the data source of a database, and the parent of a new page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from integrations.json_object import Json
from integrations.notion.client import NotionClient
from integrations.notion.errors import NOT_THERE, OTHERS, ObjectNotFound
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
    found: Json

    @classmethod
    def of(cls, found: Json) -> DataSource:
        schema = PropertySchema.of(found.get("properties") or {})
        return cls(str(found["id"]), plain_text(found.get("title")) or "Untitled", found.get("url"), schema, found)


async def data_source(api: NotionClient, of: str) -> DataSource:
    """The data source with this id, or the only one of the database with this id."""
    try:
        return await _data_source(api, of)
    except ObjectNotFound:
        database = await _database(api, of)
    return await _data_source(api, _only_source(database))


async def _database(api: NotionClient, of: str) -> Json:
    try:
        return await api.read(f"/v1/databases/{of}")
    except ObjectNotFound as missing:
        if missing.text == NOT_THERE:
            await api.read(f"/v1/pages/{of}")
            raise ObjectNotFound(OTHERS["page"], "invalid_arguments") from missing
        raise


async def data_sources(api: NotionClient, database: Json) -> list[DataSource]:
    """The first data sources of a database."""
    return [await _data_source(api, str(source["id"])) for source in database.get("data_sources", [])[:MOST_SOURCES]]


async def _data_source(api: NotionClient, of: str) -> DataSource:
    return DataSource.of(await api.read(f"/v1/data_sources/{of}"))


def _only_source(database: Json) -> str:
    sources = database.get("data_sources") or []
    if not sources:
        raise ToolFailed("upstream_refused", NO_SOURCE)
    if len(sources) > 1:
        named = ", ".join(f"{one_line(source.get('name')) or 'Untitled'} = {source['id']}" for source in sources)
        raise ToolFailed(
            "invalid_arguments",
            f"This database has {len(sources)} data sources. Choose one and pass its id instead: {named}.",
        )
    return str(sources[0]["id"])


async def find_object(api: NotionClient, of: str) -> tuple[str, Json]:
    """The object and its kind, which URLs do not contain."""
    for kind, path in (("page", "pages"), ("database", "databases"), ("data_source", "data_sources")):
        try:
            return kind, await api.read(f"/v1/{path}/{of}")
        except ObjectNotFound:
            continue
    return "block", await api.read(f"/v1/blocks/{of}")


@dataclass(frozen=True)
class Parent:
    said: Json
    """As Notion's API takes it."""
    where: str
    schema: PropertySchema | None = None
    """The properties of its pages, if it is a data source."""


AT_THE_TOP = Parent(
    {"type": "workspace", "workspace": True}, "at the top of the workspace, visible only to the person who connected"
)


async def parent_of(api: NotionClient, given: Any) -> Parent:
    match given:
        case None | "" | "workspace" | {"type": "workspace"} | {"workspace": _}:
            return AT_THE_TOP
        case str():
            return await _found_parent(api, _id(given))
        case Mapping():
            return await _named_parent(api, given)
        case _:
            raise ToolFailed("invalid_arguments", NO_PARENT)


async def _named_parent(api: NotionClient, given: Mapping[str, Any]) -> Parent:
    plainly = {name.lower().replace("_", ""): value for name, value in given.items()}
    for name, work in _PARENTS.items():
        if isinstance(value := plainly.get(name), str):
            return await work(api, value)
    said = str(plainly.get("type", "")).lower().replace("_", "")
    value = plainly.get("id")
    if said in _PARENTS and isinstance(value, str):
        return await _PARENTS[said](api, value)
    raise ToolFailed("invalid_arguments", NO_PARENT)


async def _found_parent(api: NotionClient, of: str) -> Parent:
    kind, found = await find_object(api, of)
    match kind:
        case "page":
            return _below(str(found["id"]))
        case "database":
            return await _source_parent(api, _only_source(found))
        case "data_source":
            return _parent(DataSource.of(found))
        case _:
            raise ToolFailed("invalid_arguments", BELOW_BLOCK)


async def _page_parent(api: NotionClient, given: str) -> Parent:  # noqa: ARG001  the other functions send requests
    return _below(_id(given))


async def _source_parent(api: NotionClient, given: str) -> Parent:
    return _parent(await data_source(api, _id(given, database_id)))


async def _block_parent(api: NotionClient, given: str) -> Parent:  # noqa: ARG001
    raise ToolFailed("invalid_arguments", BELOW_BLOCK)


async def _any_parent(api: NotionClient, given: str) -> Parent:
    return await _found_parent(api, _id(given))


def _below(page: str) -> Parent:
    return Parent({"type": "page_id", "page_id": page}, f"below {address(page)}")


def _parent(source: DataSource) -> Parent:
    said = {"type": "data_source_id", "data_source_id": source.id}
    return Parent(said, f"in {one_line(source.name)}", source.schema)


def _id(given: str, read: Callable[[object], str] = page_id) -> str:
    try:
        return read(given)
    except ValueError as error:
        raise ToolFailed("invalid_arguments", f"`parent`: {error}.") from error


_PARENTS: Mapping[str, Callable[[NotionClient, str], Awaitable[Parent]]] = {
    "pageid": _page_parent,
    "datasourceid": _source_parent,
    "databaseid": _source_parent,
    "blockid": _block_parent,
    "id": _any_parent,
}
