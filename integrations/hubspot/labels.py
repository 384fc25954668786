"""Names for the ids of owners, stages and pipelines, and URLs of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from integrations.hubspot.client import DETAILS, NOT_FOUND, OWNERS, PIPELINES, HubSpotApi
from integrations.hubspot.parsing import is_number
from integrations.hubspot.properties import Properties, Property, name_hint, unknown_property_text
from integrations.hubspot.record_kinds import BOOKKEEPING, OWNER, PIPELINE, STAGE, Kind
from integrations.json_object import Json
from integrations.service_client import ToolFailed, too_large_hint
from integrations.text import objects, one_line, shorten

MOST_OWNERS = 500
"""The maximum of owners in one response."""

VIEW_IN_HUBSPOT = "They can be seen in HubSpot."
MAX_SUGGESTIONS = 2
"""The number of unknown names for which similar ones are searched, because that takes time."""

MAX_LISTED = 10
"""The maximum of unknown properties that a note names."""

MAX_LENGTH = 200

Meanings = Mapping[str, Mapping[str, str]]
"""Labels by property name and value."""


@dataclass
class RecordLabels:
    """Names and links beside records; if they cannot be read, a note says so and the records are returned."""

    api: HubSpotApi
    notes: list[str] = field(default_factory=list)

    async def meanings(self, records: list[Json], shown: Iterable[str]) -> Meanings:
        values = {name: _values(records, name) for name in shown if name in (OWNER, STAGE, PIPELINE)}
        labels_by_property: dict[str, Mapping[str, str]] = {}
        if owners := values.get(OWNER):
            labels_by_property[OWNER] = await self._owners(owners)
        if values.get(STAGE) or values.get(PIPELINE):
            pipelines = await self._get(PIPELINES, "Names of stages")
            labels_by_property[PIPELINE] = labels(results(pipelines))
            labels_by_property[STAGE] = labels(stages_of(results(pipelines)))
        return labels_by_property

    async def url_prefix(self, kind: Kind, records: list[Json]) -> str:
        """The prefix of record URLs, or an empty text if HubSpot returns the URLs."""
        if not records or records[0].get("url"):
            return ""
        match await self._get(DETAILS, "Links"):
            case {"portalId": int(portal), "uiDomain": str(domain)}:
                return f"https://{domain}/contacts/{portal}/record/{kind.type_id}/"
            case _:
                return ""

    async def report_unknown(self, kind: Kind, records: list[Json], chosen: list[str]) -> None:
        """Report unknown properties, which HubSpot leaves out; properties without a value are null."""
        seen = {name for record in records for name in record.get("properties") or {}} | BOOKKEEPING
        if not records or seen.issuperset(chosen):
            return
        existing = await self._properties(kind)
        unknown = [name for name in chosen if name not in seen and name not in existing]
        notes = [
            unknown_property_text(kind, name, existing.values() if n < MAX_SUGGESTIONS else ())
            for n, name in enumerate(unknown)
        ]
        if existing and len(unknown) == len(chosen):
            raise ToolFailed("invalid_arguments", " ".join([*notes[:MAX_LISTED], name_hint(kind)]))
        self.notes.extend(notes[:MAX_LISTED])

    async def _properties(self, kind: Kind) -> Mapping[str, Property]:
        try:
            with too_large_hint(VIEW_IN_HUBSPOT):
                return await Properties(self.api, kind).all()
        except ToolFailed as failed:
            self.notes.append(f"Names of properties could not be read: {failed.text}")
            return {}

    async def _owners(self, ids: list[str]) -> Mapping[str, str]:
        """Names by owner id; owners who have left are marked, because records keep their ids."""
        names = await self._people(ids)
        missing = [owner_id for owner_id in ids if owner_id not in names]
        former = await self._people(missing, archived=True) if missing and not self.notes else {}
        return {**{owner_id: f"{name}, has left" for owner_id, name in former.items()}, **names}

    async def _people(self, ids: list[str], *, archived: bool = False) -> Mapping[str, str]:
        query = {"archived": archived or None}
        if len(ids) == 1 and not is_number(ids[0]):
            return {}
        if len(ids) == 1:
            owner = await self._get(f"{OWNERS}/{ids[0]}", "Names of owners", query)
            return {ids[0]: person(owner)} if owner else {}
        page = await self._get(OWNERS, "Names of owners", {**query, "limit": MOST_OWNERS})
        return {str(owner.get("id")): person(owner) for owner in results(page)}

    async def _get(self, path: str, what: str, query: Mapping[str, object] | None = None) -> Json:
        try:
            with too_large_hint(VIEW_IN_HUBSPOT):
                body: Json = await self.api.get(path, query)
        except ToolFailed as failed:
            if failed.text != NOT_FOUND:
                self.notes.append(f"{what} could not be read: {failed.text}")
            return {}
        return body


def stages_of(pipelines: list[Json]) -> list[Json]:
    return [stage for pipeline in pipelines for stage in objects(pipeline.get("stages"))]


def labels(items: list[Json]) -> dict[str, str]:
    return {short_text(item.get("id")): short_text(item.get("label")) for item in items}


def person(owner: Json) -> str:
    name = " ".join(filter(None, (short_text(owner.get("firstName")), short_text(owner.get("lastName")))))
    return name or short_text(owner.get("email") or owner.get("id"))


def short_text(value: object) -> str:
    """A short value of a response on one line, so that it cannot pass for other lines of the result."""
    return one_line(shorten(str(value), MAX_LENGTH)) if isinstance(value, str | int) else ""


def properties_of(record: Json) -> Mapping[str, str]:
    """The properties that have a value."""
    properties = record.get("properties")
    items = properties.items() if isinstance(properties, Mapping) else ()
    return {name: str(value) for name, value in items if isinstance(value, str | int | float) and value != ""}


def results(body: Json) -> list[Json]:
    return objects(body.get("results"))


def next_cursor(body: Json) -> str | None:
    match body:
        case {"paging": {"next": {"after": after}}} if after:
            return short_text(after) or None
        case _:
            return None


def _values(records: list[Json], name: str) -> list[str]:
    return list(dict.fromkeys(value for record in records if (value := properties_of(record).get(name))))
