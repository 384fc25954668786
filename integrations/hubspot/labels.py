"""Names for the ids of owners, stages and pipelines, and URLs of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from integrations.hubspot.client import DETAILS, NOT_THERE, OWNERS, PIPELINES, HubSpotApi
from integrations.hubspot.parsing import is_number
from integrations.hubspot.properties import Properties, Property, no_property, where_names_are
from integrations.hubspot.record_kinds import BOOKKEEPING, OWNER, PIPELINE, STAGE, Kind
from integrations.json_object import Json
from integrations.service_client import ToolFailed, too_large_hint
from integrations.text import objects, one_line, shortened

MOST_OWNERS = 500
"""The maximum of owners in one response."""

SHOWN = "They can be seen in HubSpot."
MOST_GUESSED = 2
"""The number of unknown names for which similar ones are searched, because that takes time."""

MOST_TOLD = 10
"""The maximum of unknown properties that a note names."""

LONGEST_WORDS = 200

Meanings = Mapping[str, Mapping[str, str]]
"""Labels by property name and value."""


@dataclass
class Names:
    """Names and links beside records; if they cannot be read, a note says so and the records are returned."""

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
        """The prefix of record URLs, or an empty text if HubSpot returns the URLs."""
        if not records or records[0].get("url"):
            return ""
        match await self._asked(DETAILS, "Links"):
            case {"portalId": int(portal), "uiDomain": str(domain)}:
                return f"https://{domain}/contacts/{portal}/record/{kind.type_id}/"
            case _:
                return ""

    async def unknown(self, kind: Kind, records: list[Json], chosen: list[str]) -> None:
        """Report unknown properties, which HubSpot leaves out; properties without a value are null."""
        seen = {name for record in records for name in record.get("properties") or {}} | BOOKKEEPING
        if not records or seen.issuperset(chosen):
            return
        there = await self._properties(kind)
        none = [name for name in chosen if name not in seen and name not in there]
        told = [no_property(kind, name, there.values() if n < MOST_GUESSED else ()) for n, name in enumerate(none)]
        if there and len(none) == len(chosen):
            raise ToolFailed("invalid_arguments", " ".join([*told[:MOST_TOLD], where_names_are(kind)]))
        self.notes.extend(told[:MOST_TOLD])

    async def _properties(self, kind: Kind) -> Mapping[str, Property]:
        try:
            with too_large_hint(SHOWN):
                return await Properties(self.api, kind).all()
        except ToolFailed as failed:
            self.notes.append(f"Names of properties could not be read: {failed.text}")
            return {}

    async def _owners(self, ids: list[str]) -> Mapping[str, str]:
        """Names by owner id; owners who have left are marked, because records keep their ids."""
        found = await self._people(ids)
        missing = [record_id for record_id in ids if record_id not in found]
        left = await self._people(missing, archived=True) if missing and not self.notes else {}
        return {**{number: f"{name}, has left" for number, name in left.items()}, **found}

    async def _people(self, ids: list[str], *, archived: bool = False) -> Mapping[str, str]:
        query = {"archived": archived or None}
        if len(ids) == 1 and not is_number(ids[0]):
            return {}
        if len(ids) == 1:
            one = await self._asked(f"{OWNERS}/{ids[0]}", "Names of owners", query)
            return {ids[0]: person(one)} if one else {}
        found = await self._asked(OWNERS, "Names of owners", {**query, "limit": MOST_OWNERS})
        return {str(record.get("id")): person(record) for record in results(found)}

    async def _asked(self, path: str, what: str, query: Mapping[str, object] | None = None) -> Json:
        try:
            with too_large_hint(SHOWN):
                found: Json = await self.api.get(path, query)
        except ToolFailed as failed:
            if failed.text != NOT_THERE:
                self.notes.append(f"{what} could not be read: {failed.text}")
            return {}
        return found


def stages_of(pipelines: list[Json]) -> list[Json]:
    return [stage for pipeline in pipelines for stage in objects(pipeline.get("stages"))]


def labels(found: list[Json]) -> dict[str, str]:
    return {said(item.get("id")): said(item.get("label")) for item in found}


def person(owner: Json) -> str:
    name = " ".join(filter(None, (said(owner.get("firstName")), said(owner.get("lastName")))))
    return name or said(owner.get("email") or owner.get("id"))


def said(found: object) -> str:
    """A short value of a response on one line, so that it cannot pass for other lines of the result."""
    return one_line(shortened(str(found), LONGEST_WORDS)) if isinstance(found, str | int) else ""


def properties_of(record: Json) -> Mapping[str, str]:
    """The properties that have a value."""
    there = record.get("properties")
    told = there.items() if isinstance(there, Mapping) else ()
    return {name: str(value) for name, value in told if isinstance(value, str | int | float) and value != ""}


def results(body: Json) -> list[Json]:
    return objects(body.get("results"))


def next_cursor(body: Json) -> str | None:
    match body:
        case {"paging": {"next": {"after": after}}} if after:
            return said(after) or None
        case _:
            return None


def _values(records: list[Json], name: str) -> list[str]:
    return list(dict.fromkeys(value for record in records if (value := properties_of(record).get(name))))
