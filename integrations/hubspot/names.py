"""What do the ids stand for that HubSpot gives for owners, stages and pipelines, and where does a record open?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from integrations.api import ToolFailed
from integrations.hubspot.api import DETAILS, NOT_THERE, OWNERS, PIPELINES, HubSpotApi
from integrations.hubspot.kinds import BOOKKEEPING, OWNER, PIPELINE, STAGE, Kind
from integrations.reading import objects
from integrations.tool import Json

MOST_OWNERS = 500
"""In one answer."""

MOST_TOLD = 10
"""Properties that there are none of."""

Meanings = Mapping[str, Mapping[str, str]]
"""By the name of a property, what each of its values stands for."""


@dataclass
class Names:
    """Beside what was asked for: where it cannot be had, the answer says so and is given all the same."""

    api: HubSpotApi
    notes: list[str] = field(default_factory=list)

    async def meanings(self, records: list[Json], shown: Iterable[str]) -> Meanings:
        values = {name: _values(records, name) for name in shown if name in (OWNER, STAGE, PIPELINE)}
        found: dict[str, Mapping[str, str]] = {}
        if owners := values.get(OWNER):
            found[OWNER] = await self._owners(owners)
        if values.get(STAGE) or values.get(PIPELINE):
            pipelines = await self._asked(PIPELINES, "Names of stages")
            found[PIPELINE] = _labels(results(pipelines))
            found[STAGE] = _labels(_stages(results(pipelines)))
        return found

    async def url(self, kind: Kind, records: list[Json]) -> str:
        """What the URLs of records begin with; nothing where HubSpot says them itself."""
        if not records or records[0].get("url"):
            return ""
        match await self._asked(DETAILS, "Links"):
            case {"portalId": int(portal), "uiDomain": str(domain)}:
                return f"https://{domain}/contacts/{portal}/record/{kind.type_id}/"
            case _:
                return ""

    async def unknown(self, kind: Kind, records: list[Json], chosen: list[str]) -> None:
        """Tells of properties that there are none of: HubSpot leaves them out, and says null of what is empty."""
        there = {name for each in records for name in each.get("properties") or {}}
        unknown = [name for name in chosen if name not in there and name not in BOOKKEEPING] if records else []
        if not unknown:
            return
        known = [str(each.get("name")) for each in results(await self._asked(kind.definitions, "Names of properties"))]
        for name in unknown[:MOST_TOLD]:
            near = " or ".join(f"`{each}`" for each in get_close_matches(name, known))
            self.notes.append(f"There is no property `{name}` of {kind.many}{f': is it {near}?' if near else '.'}")

    async def _owners(self, ids: list[str]) -> Mapping[str, str]:
        """Those who have left are told apart; records keep their ids."""
        found = await self._people(ids)
        missing = [each for each in ids if each not in found]
        left = await self._people(missing, archived=True) if missing and not self.notes else {}
        return {**{number: f"{name}, has left" for number, name in left.items()}, **found}

    async def _people(self, ids: list[str], *, archived: bool = False) -> Mapping[str, str]:
        query = {"archived": archived or None}
        if len(ids) == 1:
            one = await self._asked(f"{OWNERS}/{ids[0]}", "Names of owners", query)
            return {ids[0]: person(one)} if one else {}
        found = await self._asked(OWNERS, "Names of owners", {**query, "limit": MOST_OWNERS})
        return {str(each.get("id")): person(each) for each in results(found)}

    async def _asked(self, path: str, what: str, query: Mapping[str, object] | None = None) -> Json:
        try:
            found: Json = await self.api.get(path, query)
        except ToolFailed as failed:
            if failed.text != NOT_THERE:
                self.notes.append(f"{what} are missing here: {failed.text}")
            return {}
        return found


async def stages(api: HubSpotApi, stage: str, pipeline: str) -> tuple[list[str], list[str]]:
    """The ids of the stages and of the pipelines that are called like that, or have that id."""
    if not stage and not pipeline:
        return [], []
    pipelines = results(await api.get(PIPELINES))
    chosen = _called(pipelines, pipeline, "pipeline") if pipeline else pipelines
    ids = list(_labels(_called(_stages(chosen), stage, "stage"))) if stage else []
    return ids, list(_labels(chosen)) if pipeline else []


def _stages(pipelines: list[Json]) -> list[Json]:
    return [stage for each in pipelines for stage in each.get("stages") or []]


def _labels(found: list[Json]) -> dict[str, str]:
    return {str(each.get("id")): str(each.get("label")) for each in found}


def _called(found: list[Json], name: str, what: str) -> list[Json]:
    """There may be several: every pipeline has stages of its own."""
    word = name.casefold()
    matching = [each for each in found if word in (str(each.get(key)).casefold() for key in ("id", "label"))]
    if not matching:
        there = ", ".join(f"{label} ({number})" for number, label in list(_labels(found).items())[:30])
        raise ToolFailed("invalid_arguments", f"There is no {what} “{name}”. These are there: {there}.")
    return matching


async def owner_id(api: HubSpotApi, owner: str) -> str:
    """Of an owner who is named by an email address."""
    if "@" not in owner:
        return owner
    found = results(await api.get(OWNERS, {"email": owner, "limit": 1}))
    if not found:
        raise ToolFailed(
            "invalid_arguments", f"No owner has the email address {owner}. hubspot_search_owners finds them by name."
        )
    return str(found[0]["id"])


def person(owner: Json) -> str:
    name = " ".join(filter(None, (owner.get("firstName"), owner.get("lastName"))))
    return name or str(owner.get("email") or owner["id"])


def results(body: Json) -> list[Json]:
    return objects(body.get("results"))


def _values(records: list[Json], name: str) -> list[str]:
    return list(dict.fromkeys(value for each in records if (value := (each.get("properties") or {}).get(name))))
