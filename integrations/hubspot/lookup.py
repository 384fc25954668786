"""Lookup of the id of an owner, stage, pipeline or record by its name or email address."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import quote

from integrations.hubspot.client import NOT_THERE, OWNERS, PIPELINES, HubSpotApi
from integrations.hubspot.labels import MOST_OWNERS, labels, next_cursor, person, results, said, stages_of
from integrations.hubspot.parsing import is_email, is_number
from integrations.hubspot.properties import MOST_NEAR, MOST_TOLD
from integrations.hubspot.record_kinds import Kind
from integrations.json_object import Json
from integrations.service_client import ToolFailed
from integrations.similar_names import similar_names

LONGEST_NAME = 200
_WORDS = re.compile(r"\w+")
MOST_PAGES = 10
"""The maximum of pages of owners that are searched."""


class Meant:
    """Lookups for one call. An unknown name is an error that lists existing ones, since HubSpot would find nothing."""

    def __init__(self, api: HubSpotApi) -> None:
        self._api = api
        self._pipelines: list[Json] | None = None

    async def owner(self, given: str) -> str:
        """The id of an owner, who may have left, because records keep the ids of such owners."""
        if is_number(given):
            is_there = await self._is_owner(given)
            found: list[Json] = [{"id": given}] if is_there else []
        else:
            found = await self._owners(given)
        if len(found) == 1:
            return str(found[0]["id"])
        if found:
            told = f"Several owners are called “{given}”: {_people(found)}. Give the id of one."
            raise ToolFailed("invalid_arguments", told)
        there = [owner async for owner in everybody(self._api)]
        raise ToolFailed("invalid_arguments", f"There is no owner “{given}”. {_who_is_there(given, there)}")

    async def stages(self, name: str, pipelines: list[str]) -> list[str]:
        """Ids of all stages with this name, since every pipeline has its own; `pipelines` restricts the pipelines."""
        there = [pipeline for pipeline in await self._all() if not pipelines or str(pipeline.get("id")) in pipelines]
        in_pipelines = {
            str(stage.get("id")): str(pipeline.get("label")) for pipeline in there for stage in stages_of([pipeline])
        }
        told = {number: f"{number}, {in_pipelines[number]}" for number in in_pipelines}
        where = " in that pipeline" if pipelines else ""
        return _called(labels(stages_of(there)), name, "stage", where, told)

    async def pipelines(self, name: str) -> list[str]:
        return _called(labels(await self._all()), name, "pipeline", "", {})

    async def record(self, kind: Kind, given: str) -> str:
        """The id of a record; a contact may also be given by its email address."""
        if "@" not in given:
            return given
        try:
            path = f"{kind.path}/{quote(given, safe='')}"
            found: Json = await self._api.get(path, {"idProperty": "email", "properties": "email"})
        except ToolFailed as failed:
            raise _none_of(kind, given, failed) from failed
        return said(found.get("id"))

    async def there(self, kind: Kind, number: str) -> None:
        """Raise an error if the record does not exist, so that it is not mistaken for one without associations."""
        try:
            await self._api.get(f"{kind.path}/{number}", {"properties": "hs_object_id"})
        except ToolFailed as failed:
            raise _none_of(kind, number, failed) from failed

    async def _all(self) -> list[Json]:
        if self._pipelines is None:
            self._pipelines = results(await self._api.get(PIPELINES))
        return self._pipelines

    async def _is_owner(self, number: str) -> bool:
        for archived in (None, True):
            try:
                await self._api.get(f"{OWNERS}/{number}", {"archived": archived})
            except ToolFailed as failed:
                if failed.text != NOT_THERE:
                    return True  # unknown, and the search works without knowing
            else:
                return True
        return False

    async def _owners(self, given: str) -> list[Json]:
        """Owners with exactly this name, including those who have left, else those whose names begin with its words."""
        if is_email(given):
            return await self._at(given, archived=False) or await self._at(given, archived=True)
        here = [owner async for owner in everybody(self._api)]
        if exactly := _called_just(here, given):
            return exactly
        left = [owner async for owner in everybody(self._api, archived=True)]
        words = set(_WORDS.findall(given[:LONGEST_NAME].casefold()))
        return _called_just(left, given) or _beginning(here, words) or _beginning(left, words)

    async def _at(self, email: str, *, archived: bool) -> list[Json]:
        return results(await self._api.get(OWNERS, {"email": email, "limit": 1, "archived": archived or None}))


async def everybody(api: HubSpotApi, *, email: str | None = None, archived: bool = False) -> AsyncIterator[Json]:
    """All owners up to the page limit, or the owner with this email address."""
    after: str | None = None
    for _ in range(MOST_PAGES):
        query = {"limit": MOST_OWNERS, "email": email, "archived": archived or None, "after": after}
        body = await api.get(OWNERS, query)
        for result in results(body)[:MOST_OWNERS]:
            yield result
        after = next_cursor(body)
        if after is None:
            return


def _called_just(owners: list[Json], given: str) -> list[Json]:
    return [owner for owner in owners if person(owner).casefold() == given.casefold()]


def _beginning(owners: list[Json], words: set[str]) -> list[Json]:
    """Owners whose names begin with all words; none if there are no words."""
    return [owner for owner in owners if words and _has_all(_WORDS.findall(person(owner).casefold()), words)]


def _has_all(there: list[str], words: set[str]) -> bool:
    return all(any(owner.startswith(word) for owner in there) for word in words)


def _who_is_there(given: str, there: list[Json]) -> str:
    if len(there) <= MOST_TOLD:
        return f"The owners are: {_people(there)}."
    near = similar_names(given, (person(owner) for owner in there), limit=MOST_NEAR)
    like = f"Similar owners: {_people([each for each in there if person(each) in near])}. " if near else ""
    return f"{like}`hubspot_search_owners` finds owners by name."


def _people(owners: list[Json]) -> str:
    return ", ".join(f"{person(owner)} ({said(owner.get('id'))})" for owner in owners[:MOST_TOLD]) or "none"


def _called(there: dict[str, str], name: str, what: str, where: str, told: dict[str, str]) -> list[str]:
    if name in there:  # an id takes precedence over labels
        return [name]
    word = name.casefold()
    found = [number for number, label in there.items() if word in (number.casefold(), label.casefold())]
    if not found:
        listed = ", ".join(f"{label} ({told.get(number, number)})" for number, label in list(there.items())[:MOST_TOLD])
        raise ToolFailed("invalid_arguments", f"There is no {what} “{name}”{where}. Available: {listed}.")
    return found


def _none_of(kind: Kind, given: str, failed: ToolFailed) -> ToolFailed:
    if failed.text != NOT_THERE:
        return failed
    told = f"HubSpot has no {kind.one} {given}. `hubspot_search_{kind.many}` finds {kind.many} by name."
    return ToolFailed("invalid_arguments", told)
