"""Creates and changes pages and appends blocks, and reports how much was done if a request fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from integrations.errors import StatusRefused
from integrations.json_object import Json
from integrations.notion.client import NotionClient
from integrations.notion.errors import ObjectNotFound
from integrations.notion.lookup import Parent, find_object
from integrations.notion.markdown.blocks import Draft, batches
from integrations.notion.markdown.rich_text import unformatted
from integrations.notion.parsing import address
from integrations.notion.people_lookup import with_people
from integrations.notion.results import (
    MAX_READ_VALUE,
    SAVED_IN_PART,
    AppendedBlocks,
    PageResult,
    SavedPage,
    notes_on_pages,
)
from integrations.notion.schema import PropertyDefinition, PropertySchema
from integrations.service_client import ToolFailed

LOOK_AT_PAGE = "`notion_read` shows the page."
LOOK_AT_END = "`notion_read` shows whether it is there."
LOOK_FOR_PAGE: Mapping[str, str] = {
    "page_id": "`notion_read` of the page above shows whether it is there.",
    "data_source_id": "`notion_query_database` shows whether it is there.",
    "workspace": "`notion_search` shows whether it is there, after a moment.",
}
NO_CONTENT = (
    "This is the id of a database, which contains pages, not blocks: `notion_create_database_page` adds a page. "
    "Nothing was added."
)
NOT_AMONG = (
    "`after` must be a direct child of `pageId`, not a nested block: `notion_read` with `withBlockIds` "
    "true shows their ids. Nothing was added."
)
MOST_IDS = 20
OTHER_IDS = "Only the first {} ids are listed: `notion_read` with `withBlockIds` true shows the others."
DONE: Mapping[bool | None, str] = {
    None: "Page updated.",
    True: "Page moved to the trash.",
    False: "Page restored from the trash.",
}
OUT_OF_TIME = "The time for the call was over."
NOT_ACCEPTED = (
    "Notion no longer accepts this server's credentials. They must be entered again, or the server reconnected."
)
SPARE_SECONDS = 2.0
ONLY_A_TITLE = (
    "Outside a database a page has no properties except its title: pass `name`, and everything else as `content`."
)
OF_A_PAGE = PropertySchema((PropertyDefinition("title", "title"),))


async def create_page(
    api: NotionClient,
    parent: Parent,
    name: str | None,
    given: Mapping[str, Any],
    draft: Draft,
    icon: str | None,
    *,
    full: bool,
) -> SavedPage:
    schema = parent.schema
    properties = await with_people(api, lambda who: schema.fitted(given, who)) if schema else _outside(given)
    if name:
        properties[schema.title if schema else "title"] = {"title": unformatted(name)}
    first, *others = list(batches(draft.blocks)) or [[]]
    body: Json = {"parent": parent.said, "properties": properties}
    body |= ({"children": first} if first else {}) | _icon(icon)
    look = LOOK_FOR_PAGE[parent.said["type"]]
    page = await api.write("POST", "/v1/pages", body, look=look, none="Nothing was created.")
    saved = PageResult.of(page, full=full, most=MAX_READ_VALUE)
    if others:
        await _send_batches(
            api, saved.id, others, None, f"The page was created, {saved.url} (id {saved.id}).", len(first)
        )
    new = schema.new_options(properties) if schema else []
    notes = [*new, *draft.notes, *notes_on_pages([saved], SAVED_IN_PART)]
    return SavedPage(message=f"Page created {parent.where}.", page=saved, notes=notes)


async def update_page(
    api: NotionClient,
    page_id: str,
    given: Mapping[str, Any],
    name: str | None,
    archived: bool | None,
    icon: str | None,
    *,
    full: bool,
) -> SavedPage:
    body: Json = {} if archived is None else {"in_trash": archived}
    new: list[str] = []
    if given or name:
        page = await api.read(f"/v1/pages/{page_id}")  # for the names and types of its properties
        schema = await _schema(api, page) if given else PropertySchema.of(page.get("properties") or {})
        properties = await with_people(api, lambda who: schema.fitted(given, who))
        body["properties"] = properties | ({schema.title: {"title": unformatted(name)}} if name else {})
        new = schema.new_options(properties)
    body |= _icon(icon)
    page = await api.write("PATCH", f"/v1/pages/{page_id}", body, look=LOOK_AT_PAGE, none="Nothing was changed.")
    saved = PageResult.of(page, full=full, most=MAX_READ_VALUE)
    return SavedPage(message=DONE[archived], page=saved, notes=[*new, *notes_on_pages([saved], SAVED_IN_PART)])


async def append_blocks(api: NotionClient, to: str, draft: Draft, after: str | None) -> AppendedBlocks:
    try:
        ids = await _send_batches(api, to, list(batches(draft.blocks)), after, "", 0)
    except ToolFailed as failed:
        if isinstance(failed, ObjectNotFound) or (after and after in failed.text):
            await _say_why(api, to, after)
        raise
    message = f"{len(ids)} block{'' if len(ids) == 1 else 's'} added."
    more = [OTHER_IDS.format(MOST_IDS)] if len(ids) > MOST_IDS else []
    return AppendedBlocks(message=message, block_ids=ids[:MOST_IDS], url=address(to), notes=[*draft.notes, *more])


async def _say_why(api: NotionClient, to: str, after: str | None) -> None:
    """Replaces Notion's \"not found\" by the reason, where it can be found."""
    try:
        kind, _ = await find_object(api, to)
    except ObjectNotFound:
        return
    if kind in ("database", "data_source"):
        raise ToolFailed("invalid_arguments", NO_CONTENT)
    if after:
        raise ToolFailed("invalid_arguments", NOT_AMONG)


async def _send_batches(
    api: NotionClient, to: str, parts: Sequence[Sequence[Json]], after: str | None, before: str, there: int
) -> list[str]:
    """One batch after the other. The error of a later batch says how many blocks were added."""
    ids: list[str] = []
    total = there + sum(map(len, parts))
    for part in parts:
        body: Json = {"children": list(part)} | ({"after": after} if after else {})
        done = there + len(ids)
        try:
            answer = await _append_batch(api, to, body, has_begun=bool(done))
        except (ToolFailed, StatusRefused) as stopped:
            if not done:
                raise
            failed = stopped if isinstance(stopped, ToolFailed) else ToolFailed("reconnect_required", NOT_ACCEPTED)
            told = f"{before} {done} of {total} blocks were added; send only the others. {failed.text}".strip()
            raise failed.with_text(told) from stopped
        new = [str(block["id"]) for block in answer.get("results", [])[: len(part)]]
        ids += new
        after = new[-1] if after and new else None
    return ids


async def _append_batch(api: NotionClient, to: str, body: Json, *, has_begun: bool) -> Json:
    """Stops before the call times out: then the caller could not be told what was added."""
    if has_begun and api.seconds_left() < SPARE_SECONDS:
        raise ToolFailed("timeout", OUT_OF_TIME)
    none = "" if has_begun else "Nothing was added."
    return await api.write("PATCH", f"/v1/blocks/{to}/children", body, look=LOOK_AT_END, none=none)


def _icon(emoji: str | None) -> Json:
    return {"icon": {"type": "emoji", "emoji": emoji}} if emoji else {}


def _outside(given: Mapping[str, Any]) -> Json:
    if any(name.lower() not in ("title", "name") for name in given):
        raise ToolFailed("invalid_arguments", ONLY_A_TITLE)
    return OF_A_PAGE.fitted(given)


async def _schema(api: NotionClient, page: Json) -> PropertySchema:
    """Of the data source, which has the options too; of the page itself if it has none or that is not shared."""
    source = (page.get("parent") or {}).get("data_source_id")
    try:
        found = await api.read(f"/v1/data_sources/{source}") if source else page
    except ObjectNotFound:
        found = page
    return PropertySchema.of(found.get("properties") or {})
