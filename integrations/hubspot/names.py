"""What do the ids stand for that HubSpot gives for owners, stages and pipelines, and where does a record open?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from integrations.api import ToolFailed, taken_in
from integrations.hubspot.api import DETAILS, NOT_THERE, OWNERS, PIPELINES, HubSpotApi
from integrations.hubspot.kinds import BOOKKEEPING, OWNER, PIPELINE, STAGE, Kind
from integrations.hubspot.properties import Properties, Property, no_property, where_names_are
from integrations.reading import objects
from integrations.tool import Json

MOST_OWNERS = 500
"""In one answer."""

SHOWN = "HubSpot shows them."
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
            found[PIPELINE] = labels(results(pipelines))
            found[STAGE] = labels(stages_of(results(pipelines)))
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
        seen = {name for each in records for name in each.get("properties") or {}} | BOOKKEEPING
        if not records or seen.issuperset(chosen):
            return
        there = await self._properties(kind)
        told = [no_property(kind, name, there.values()) for name in chosen if name not in seen and name not in there]
        if there and len(told) == len(chosen):
            raise ToolFailed("invalid_arguments", " ".join([*told[:MOST_TOLD], where_names_are(kind)]))
        self.notes.extend(told[:MOST_TOLD])

    async def _properties(self, kind: Kind) -> Mapping[str, Property]:
        try:
            with taken_in(SHOWN):
                return await Properties(self.api, kind).all()
        except ToolFailed as failed:
            self.notes.append(f"Names of properties are missing here: {failed.text}")
            return {}

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
            with taken_in(SHOWN):
                found: Json = await self.api.get(path, query)
        except ToolFailed as failed:
            if failed.text != NOT_THERE:
                self.notes.append(f"{what} are missing here: {failed.text}")
            return {}
        return found


def stages_of(pipelines: list[Json]) -> list[Json]:
    return [stage for each in pipelines for stage in each.get("stages") or []]


def labels(found: list[Json]) -> dict[str, str]:
    return {str(each.get("id")): str(each.get("label")) for each in found}


def person(owner: Json) -> str:
    name = " ".join(filter(None, (owner.get("firstName"), owner.get("lastName"))))
    return name or str(owner.get("email") or owner["id"])


def results(body: Json) -> list[Json]:
    return objects(body.get("results"))


def next_cursor(body: Json) -> str | None:
    match body:
        case {"paging": {"next": {"after": after}}} if after:
            return str(after)
        case _:
            return None


def _values(records: list[Json], name: str) -> list[str]:
    return list(dict.fromkeys(value for each in records if (value := (each.get("properties") or {}).get(name))))
