"""Creating and updating of pages and appending of blocks; errors state how much was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from integrations.errors import StatusRefused
from integrations.json_object import Json
from integrations.notion.client import NotionClient
from integrations.notion.errors import ObjectNotFound
from integrations.notion.lookup import Parent, find_object
from integrations.notion.markdown.blocks import Draft, batches
from integrations.notion.markdown.rich_text import plain_rich_text
from integrations.notion.parsing import address
from integrations.notion.people_lookup import with_people
from integrations.notion.results import (
    MAX_READ_VALUE,
    SAVED_CLIPPED,
    AppendedBlocks,
    PageResult,
    SavedPage,
    notes_on_pages,
)
from integrations.notion.schema import PropertyDefinition, PropertySchema
from integrations.service_client import ToolFailed

CHECK_PAGE = "`notion_read` shows the page."
CHECK_END = "`notion_read` shows whether it is there."
CHECK_NEW_PAGE: Mapping[str, str] = {
    "page_id": "`notion_read` of the page above shows whether it is there.",
    "data_source_id": "`notion_query_database` shows whether it is there.",
    "workspace": "`notion_search` shows whether it is there, after a moment.",
}
NO_CONTENT = (
    "This is the id of a database, which contains pages, not blocks: `notion_create_database_page` adds a page. "
    "Nothing was added."
)
NOT_A_CHILD = (
    "`after` must be a direct child of `pageId`, not a nested block: `notion_read` with `withBlockIds` "
    "true shows their ids. Nothing was added."
)
MOST_IDS = 20
OTHER_IDS = "Only the first {} ids are listed: `notion_read` with `withBlockIds` true shows the others."
UPDATE_MESSAGES: Mapping[bool | None, str] = {
    None: "Page updated.",
    True: "Page moved to the trash.",
    False: "Page restored from the trash.",
}
OUT_OF_TIME = "The time limit of the call was reached."
CREDENTIALS_REJECTED = (
    "Notion no longer accepts this server's credentials. They must be entered again, or the server reconnected."
)
SPARE_SECONDS = 2.0
ONLY_A_TITLE = (
    "Outside a database a page has no properties except its title: pass `name`, and everything else as `content`."
)
PAGE_SCHEMA = PropertySchema((PropertyDefinition("title", "title"),))


async def create_page(
    api: NotionClient,
    parent: Parent,
    name: str | None,
    values: Mapping[str, Any],
    draft: Draft,
    icon: str | None,
    *,
    full: bool,
) -> SavedPage:
    schema = parent.schema
    properties = (
        await with_people(api, lambda who: schema.to_notion_values(values, who)) if schema else _title_values(values)
    )
    if name:
        properties[schema.title if schema else "title"] = {"title": plain_rich_text(name)}
    first, *others = list(batches(draft.blocks)) or [[]]
    body: Json = {"parent": parent.reference, "properties": properties}
    body |= ({"children": first} if first else {}) | _icon(icon)
    check = CHECK_NEW_PAGE[parent.reference["type"]]
    page = await api.write("POST", "/v1/pages", body, check=check, if_rejected="Nothing was created.")
    saved = PageResult.of(page, full=full, most=MAX_READ_VALUE)
    if others:
        await _send_batches(
            api, saved.id, others, None, f"The page was created, {saved.url} (id {saved.id}).", len(first)
        )
    new = schema.new_options(properties) if schema else []
    notes = [*new, *draft.notes, *notes_on_pages([saved], SAVED_CLIPPED)]
    return SavedPage(message=f"Page created {parent.location}.", page=saved, notes=notes)


async def update_page(
    api: NotionClient,
    page_id: str,
    values: Mapping[str, Any],
    name: str | None,
    archived: bool | None,
    icon: str | None,
    *,
    full: bool,
) -> SavedPage:
    body: Json = {} if archived is None else {"in_trash": archived}
    new: list[str] = []
    if values or name:
        page = await api.read(f"/v1/pages/{page_id}")  # for the names and types of its properties
        schema = await _schema(api, page) if values else PropertySchema.of(page.get("properties") or {})
        properties = await with_people(api, lambda who: schema.to_notion_values(values, who))
        body["properties"] = properties | ({schema.title: {"title": plain_rich_text(name)}} if name else {})
        new = schema.new_options(properties)
    body |= _icon(icon)
    page = await api.write("PATCH", f"/v1/pages/{page_id}", body, check=CHECK_PAGE, if_rejected="Nothing was changed.")
    saved = PageResult.of(page, full=full, most=MAX_READ_VALUE)
    return SavedPage(
        message=UPDATE_MESSAGES[archived], page=saved, notes=[*new, *notes_on_pages([saved], SAVED_CLIPPED)]
    )


async def append_blocks(api: NotionClient, block_id: str, draft: Draft, after: str | None) -> AppendedBlocks:
    try:
        ids = await _send_batches(api, block_id, list(batches(draft.blocks)), after, "", 0)
    except ToolFailed as failed:
        if isinstance(failed, ObjectNotFound) or (after and after in failed.text):
            await _explain_not_found(api, block_id, after)
        raise
    message = f"{len(ids)} block{'' if len(ids) == 1 else 's'} added."
    more = [OTHER_IDS.format(MOST_IDS)] if len(ids) > MOST_IDS else []
    return AppendedBlocks(message=message, block_ids=ids[:MOST_IDS], url=address(block_id), notes=[*draft.notes, *more])


async def _explain_not_found(api: NotionClient, block_id: str, after: str | None) -> None:
    """Raise an error with the reason for Notion's `not found`, if it can be determined."""
    try:
        kind, _ = await find_object(api, block_id)
    except ObjectNotFound:
        return
    if kind in ("database", "data_source"):
        raise ToolFailed("invalid_arguments", NO_CONTENT)
    if after:
        raise ToolFailed("invalid_arguments", NOT_A_CHILD)


async def _send_batches(
    api: NotionClient,
    block_id: str,
    all_batches: Sequence[Sequence[Json]],
    after: str | None,
    prefix: str,
    sent_count: int,
) -> list[str]:
    """Send the batches in order. The error of a later batch states how many blocks were added."""
    ids: list[str] = []
    total = sent_count + sum(map(len, all_batches))
    for batch in all_batches:
        body: Json = {"children": list(batch)} | ({"after": after} if after else {})
        done = sent_count + len(ids)
        try:
            response = await _append_batch(api, block_id, body, has_begun=bool(done))
        except (ToolFailed, StatusRefused) as error:
            if not done:
                raise
            failed = error if isinstance(error, ToolFailed) else ToolFailed("reconnect_required", CREDENTIALS_REJECTED)
            text = f"{prefix} {done} of {total} blocks were added; send only the others. {failed.text}".strip()
            raise failed.with_text(text) from error
        new = [str(block["id"]) for block in response.get("results", [])[: len(batch)]]
        ids += new
        after = new[-1] if after and new else None
    return ids


async def _append_batch(api: NotionClient, block_id: str, body: Json, *, has_begun: bool) -> Json:
    """Send one batch; fail before the call times out, so that the error can state what was added."""
    if has_begun and api.seconds_left() < SPARE_SECONDS:
        raise ToolFailed("timeout", OUT_OF_TIME)
    if_rejected = "" if has_begun else "Nothing was added."
    return await api.write("PATCH", f"/v1/blocks/{block_id}/children", body, check=CHECK_END, if_rejected=if_rejected)


def _icon(emoji: str | None) -> Json:
    return {"icon": {"type": "emoji", "emoji": emoji}} if emoji else {}


def _title_values(values: Mapping[str, Any]) -> Json:
    if any(name.lower() not in ("title", "name") for name in values):
        raise ToolFailed("invalid_arguments", ONLY_A_TITLE)
    return PAGE_SCHEMA.to_notion_values(values)


async def _schema(api: NotionClient, page: Json) -> PropertySchema:
    """The schema of the page's data source, which has options; the page's own if there is none or it is not shared."""
    source = (page.get("parent") or {}).get("data_source_id")
    try:
        response = await api.read(f"/v1/data_sources/{source}") if source else page
    except ObjectNotFound:
        response = page
    return PropertySchema.of(response.get("properties") or {})
