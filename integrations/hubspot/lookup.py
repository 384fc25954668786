"""Lookup of the id of an owner, stage, pipeline or record by its name or email address."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import quote

from integrations.hubspot.client import NOT_FOUND, OWNERS, PIPELINES, HubSpotApi
from integrations.hubspot.labels import MOST_OWNERS, labels, next_cursor, person, results, short_text, stages_of
from integrations.hubspot.parsing import is_email, is_number
from integrations.hubspot.properties import MAX_LISTED, MAX_SIMILAR
from integrations.hubspot.record_kinds import Kind
from integrations.json_object import Json
from integrations.service_client import ToolFailed
from integrations.similar_names import similar_names

MAX_NAME_LENGTH = 200
_WORDS = re.compile(r"\w+")
MAX_PAGES = 10
"""The maximum of pages of owners that are searched."""


class Lookup:
    """Lookups for one call. An unknown name is an error that lists existing ones, since HubSpot would find nothing."""

    def __init__(self, api: HubSpotApi) -> None:
        self._api = api
        self._pipelines: list[Json] | None = None

    async def owner(self, text: str) -> str:
        """The id of an owner, who may have left, because records keep the ids of such owners."""
        if is_number(text):
            exists = await self._is_owner(text)
            owners: list[Json] = [{"id": text}] if exists else []
        else:
            owners = await self._owners(text)
        if len(owners) == 1:
            return str(owners[0]["id"])
        if owners:
            message = f"Several owners are called “{text}”: {_owner_list(owners)}. Give the id of one."
            raise ToolFailed("invalid_arguments", message)
        everyone = [owner async for owner in all_owners(self._api)]
        raise ToolFailed("invalid_arguments", f"There is no owner “{text}”. {_owner_hint(text, everyone)}")

    async def stages(self, name: str, pipelines: list[str]) -> list[str]:
        """Ids of all stages with this name, since every pipeline has its own; `pipelines` restricts the pipelines."""
        searched = [pipeline for pipeline in await self._all() if not pipelines or str(pipeline.get("id")) in pipelines]
        in_pipelines = {
            str(stage.get("id")): str(pipeline.get("label")) for pipeline in searched for stage in stages_of([pipeline])
        }
        descriptions = {stage_id: f"{stage_id}, {in_pipelines[stage_id]}" for stage_id in in_pipelines}
        where = " in that pipeline" if pipelines else ""
        return _ids_by_label(labels(stages_of(searched)), name, "stage", where, descriptions)

    async def pipelines(self, name: str) -> list[str]:
        return _ids_by_label(labels(await self._all()), name, "pipeline", "", {})

    async def record(self, kind: Kind, text: str) -> str:
        """The id of a record; a contact may also be given by its email address."""
        if "@" not in text:
            return text
        try:
            path = f"{kind.path}/{quote(text, safe='')}"
            record: Json = await self._api.get(path, {"idProperty": "email", "properties": "email"})
        except ToolFailed as failed:
            raise _not_found_error(kind, text, failed) from failed
        return short_text(record.get("id"))

    async def require(self, kind: Kind, record_id: str) -> None:
        """Raise an error if the record does not exist, so that it is not mistaken for one without associations."""
        try:
            await self._api.get(f"{kind.path}/{record_id}", {"properties": "hs_object_id"})
        except ToolFailed as failed:
            raise _not_found_error(kind, record_id, failed) from failed

    async def _all(self) -> list[Json]:
        if self._pipelines is None:
            self._pipelines = results(await self._api.get(PIPELINES))
        return self._pipelines

    async def _is_owner(self, owner_id: str) -> bool:
        for archived in (None, True):
            try:
                await self._api.get(f"{OWNERS}/{owner_id}", {"archived": archived})
            except ToolFailed as failed:
                if failed.text != NOT_FOUND:
                    return True  # unknown, and the search works without knowing
            else:
                return True
        return False

    async def _owners(self, text: str) -> list[Json]:
        """Owners with exactly this name, including those who have left, else those whose names begin with its words."""
        if is_email(text):
            return await self._at(text, archived=False) or await self._at(text, archived=True)
        current = [owner async for owner in all_owners(self._api)]
        if exact_matches := _with_full_name(current, text):
            return exact_matches
        former = [owner async for owner in all_owners(self._api, archived=True)]
        words = set(_WORDS.findall(text[:MAX_NAME_LENGTH].casefold()))
        return _with_full_name(former, text) or _with_words(current, words) or _with_words(former, words)

    async def _at(self, email: str, *, archived: bool) -> list[Json]:
        return results(await self._api.get(OWNERS, {"email": email, "limit": 1, "archived": archived or None}))


async def all_owners(api: HubSpotApi, *, email: str | None = None, archived: bool = False) -> AsyncIterator[Json]:
    """All owners up to the page limit, or the owner with this email address."""
    after: str | None = None
    for _ in range(MAX_PAGES):
        query = {"limit": MOST_OWNERS, "email": email, "archived": archived or None, "after": after}
        body = await api.get(OWNERS, query)
        for result in results(body)[:MOST_OWNERS]:
            yield result
        after = next_cursor(body)
        if after is None:
            return


def _with_full_name(owners: list[Json], name: str) -> list[Json]:
    return [owner for owner in owners if person(owner).casefold() == name.casefold()]


def _with_words(owners: list[Json], words: set[str]) -> list[Json]:
    """Owners whose names begin with all words; none if there are no words."""
    return [owner for owner in owners if words and _match_words(_WORDS.findall(person(owner).casefold()), words)]


def _match_words(name_words: list[str], words: set[str]) -> bool:
    return all(any(name_word.startswith(word) for name_word in name_words) for word in words)


def _owner_hint(name: str, owners: list[Json]) -> str:
    if len(owners) <= MAX_LISTED:
        return f"The owners are: {_owner_list(owners)}."
    near = similar_names(name, (person(owner) for owner in owners), limit=MAX_SIMILAR)
    like = f"Similar owners: {_owner_list([owner for owner in owners if person(owner) in near])}. " if near else ""
    return f"{like}`hubspot_search_owners` finds owners by name."


def _owner_list(owners: list[Json]) -> str:
    return ", ".join(f"{person(owner)} ({short_text(owner.get('id'))})" for owner in owners[:MAX_LISTED]) or "none"


def _ids_by_label(
    labels_by_id: dict[str, str], name: str, what: str, where: str, descriptions: dict[str, str]
) -> list[str]:
    if name in labels_by_id:  # an id takes precedence over labels
        return [name]
    word = name.casefold()
    ids = [item_id for item_id, label in labels_by_id.items() if word in (item_id.casefold(), label.casefold())]
    if not ids:
        available = ", ".join(
            f"{label} ({descriptions.get(item_id, item_id)})"
            for item_id, label in list(labels_by_id.items())[:MAX_LISTED]
        )
        raise ToolFailed("invalid_arguments", f"There is no {what} “{name}”{where}. Available: {available}.")
    return ids


def _not_found_error(kind: Kind, record_id: str, failed: ToolFailed) -> ToolFailed:
    if failed.text != NOT_FOUND:
        return failed
    text = f"HubSpot has no {kind.singular} {record_id}. `hubspot_search_{kind.plural}` finds {kind.plural} by name."
    return ToolFailed("invalid_arguments", text)
