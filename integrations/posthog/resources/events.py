"""The tool that lists single events."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC
from typing import Annotated, ClassVar, Self
from urllib.parse import quote

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from integrations.json_object import Json
from integrations.paging import paging_aliases
from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.hogql_syntax import quote_literal
from integrations.posthog.objects import CUT_HERE, ENDED_EARLY, full_object, read
from integrations.posthog.params import MAX_LIMIT, Full, InProject, Name, from_link, is_uuid
from integrations.posthog.parsing import ALL, Moment, default_start, instant, next_instant, span
from integrations.posthog.resources.definitions import require_event
from integrations.posthog.resources.hogql_query import run
from integrations.posthog.resources.persons import find_person_uuid, require_person
from integrations.posthog.results import Line, Page, PostHogObject, clock, fitting, line
from integrations.posthog.truncation import fit, is_cut
from integrations.service_client import too_large_hint
from integrations.tool import tool

COLUMNS = ("uuid", "event", "timestamp", "distinct_id", "person.id", "properties")
SHOWN_PROPERTIES = ("$current_url", "$pathname", "$browser", "$os", "$device_type", "$geoip_country_name", "$lib")
"""PostHog's own properties that are shown with all of the project's own."""
SINCE = "-7d"
USUAL = 20
MOST_PROPERTIES, ROOM_OF_PROPERTIES = 25, 1_500
CURSOR_SEPARATOR = "~"
ASK_FOR_LESS = "Use a smaller `limit` or a shorter time range."
SEARCH_FURTHER = "`after` searches further back, such as `30d` or `all`."
REVERSED_RANGE = "`after` must be earlier than `before`"
_CURSOR = re.compile(r"(?P<before>[^~]+)~(?P<skip>[0-9]{1,5})|(?P<offset>[0-9]{1,5})")


def _cursor(text: str) -> str:
    match = _CURSOR.fullmatch(text)
    try:
        if match and match["before"]:
            instant(match["before"])
    except ValueError:
        match = None
    if not match:
        raise ValueError("must be the `nextCursor` of the previous page")
    return text


class ListEvents(InProject):
    aliases: ClassVar[Mapping[str, str]] = {
        **InProject.aliases,
        **paging_aliases(cursor="cursor", size="limit", counts=True),
        **dict.fromkeys(("since", "from", "datefrom", "start", "starttime"), "after"),
        **dict.fromkeys(("until", "to", "dateto", "end", "endtime"), "before"),
        **dict.fromkeys(("eventname", "name", "type", "events", "eventnames"), "event"),
        **dict.fromkeys(("person", "personuuid"), "person_id"),
        **dict.fromkeys(("userid", "user"), "distinct_id"),
    }
    event: Name | None = Field(
        default=None, max_length=400, description="Only events of this name.", examples=["$pageview"]
    )
    person_id: Annotated[Name, from_link("persons?")] | None = Field(
        default=None, max_length=400, description="Only events of this person: UUID, number, email address or link."
    )
    distinct_id: Name | None = Field(default=None, max_length=400, description="Only events of this distinct ID.")
    after: Moment = Field(
        default=SINCE,
        description="The start: a date, a time, how long ago, or `all`. The default time zone is the project's.",
        examples=["24h", "2026-11-01"],
    )
    before: Moment | None = Field(default=None, description="The end.", examples=["2026-11-17T09:00:00Z"])
    limit: int = Field(default=USUAL, ge=1, le=MAX_LIMIT, description="The maximum number of results.")
    cursor: Annotated[str, AfterValidator(_cursor)] | None = Field(
        default=None,
        max_length=100,
        description="For the next page: the `nextCursor` of the previous page, with the other arguments unchanged.",
    )
    full: Full = False

    @property
    def since(self) -> str:
        """The start; by default seven days before the end."""
        return default_start(self.before) if self.before and "after" not in self.model_fields_set else self.after

    @model_validator(mode="after")
    def _validate_range(self) -> Self:
        if self.before and self.before != ALL and _is_later(self.after, self.before):
            raise ValueError(REVERSED_RANGE)
        return self


class EventDetails(PostHogObject):
    separate_fields: ClassVar[tuple[str, ...]] = ("properties",)
    heading_fields: ClassVar[tuple[str, ...]] = ("id", "event", "timestamp")
    event: Annotated[str, BeforeValidator(line)]
    timestamp: str
    distinct_id: Line = None
    person_id: str | None = Field(default=None, description="For `posthog_get_person`.")
    properties: Json = Field(default={}, description="The project's own properties, and some of PostHog's.")

    def heading(self) -> str:
        return f"{self.event} at {clock(self.timestamp, seconds=True)} (id {self.id})"


class EventPage(Page[EventDetails]):
    what: ClassVar[tuple[str, str]] = ("event", "events")
    cursor_parameter: ClassVar[str] = "cursor"
    next_cursor: str | None = Field(
        default=None, description="Pass it as `cursor`, with the other arguments unchanged, for the next page."
    )
    since: str = Field(description="The start of the time range, in PostHog's notation.")
    until: str | None = None

    def _head(self) -> str:
        head = super()._head()
        order = ", the latest first:" if self.results else "."
        count_text, _, more = head.rstrip(":.").partition(", ")
        return ", ".join(text for text in (f"{count_text} {span(self.since, self.until)}", more) if text) + order


@tool("List events")
async def posthog_list_events(api: PosthogApi, params: ListEvents) -> EventPage:
    """List single events of a PostHog project, the latest first: by name, person, distinct ID or time.

    Use it to see what one person did, or what an event looks like; to count, group or compare use `posthog_query`.
    Covers the last 7 days unless `after` is given. Returns name, time, distinct ID, person, the project's own
    properties and the most useful ones of PostHog's; `full: true` returns all properties.
    `posthog_list_event_definitions` lists the names of events.
    """
    project = await api.project(params.project_id)
    person = await _person(api, project, params.person_id)
    with too_large_hint(ASK_FOR_LESS):
        response = await run(api, project, _query(params, person), fresh=True)
    rows = [dict(zip(COLUMNS, row, strict=False)) for row in response.get("results") or [] if isinstance(row, list)]
    events = [_event(project, row, full=params.full) for row in rows[: params.limit]]
    kept = fitting(events)
    has_more = kept < len(rows) or bool(response.get("hasMore"))
    if not events and not params.cursor:
        await _require_filters(api, project, params)
    return EventPage(
        project_id=project.id,
        results=events[:kept],
        next_cursor=_next_cursor(events[:kept], params) if has_more and events else None,
        since=params.since,
        until=params.before,
        notes=_notes(params, events, kept),
    )


async def _person(api: PosthogApi, project: Project, person_id: str | None) -> str | None:
    """The UUID of a person, given by any id."""
    return person_id if person_id is None or is_uuid(person_id) else await find_person_uuid(api, project, person_id)


async def _require_filters(api: PosthogApi, project: Project, params: ListEvents) -> None:
    """Raise an error if no events match because the event or the person does not exist."""
    if params.event:
        await require_event(api, project, params.event)
    if params.person_id and is_uuid(params.person_id):
        await require_person(api, project, params.person_id)


def _notes(params: ListEvents, events: list[EventDetails], kept: int) -> list[str]:
    early = [ENDED_EARLY] if kept < len(events) else []
    cut = [CUT_HERE] if not params.full and any(is_cut(event.text()) for event in events[:kept]) else []
    further = [SEARCH_FURTHER] if not events and params.since != ALL and not params.cursor else []
    return [*early, *cut, *further]


def _query(params: ListEvents, person: str | None) -> Json:
    """The query; pages continue from the last time shown, so that new events do not shift them."""
    match = _CURSOR.fullmatch(params.cursor or "")
    before, skip = (match["before"], match["skip"] or match["offset"]) if match else (None, None)
    query = {
        "kind": "EventsQuery",
        "select": list(COLUMNS),
        "orderBy": ["timestamp DESC", "uuid DESC"],
        "after": params.since,
        "before": next_instant(before) if before else params.before,
        "event": params.event,
        "personId": person,
        "where": [f"distinct_id = {quote_literal(params.distinct_id)}"] if params.distinct_id else None,
        "limit": params.limit,
        "offset": int(skip or 0) or None,
    }
    return {name: value for name, value in query.items() if value is not None}


def _is_later(after: str, before: str) -> bool:
    """Whether both are comparable times and the start is later."""
    try:
        return instant(after) > instant(before)
    except (ValueError, TypeError):
        return False


def _next_cursor(events: list[EventDetails], params: ListEvents) -> str:
    """A cursor: the time of the last event, and how many events with that time were shown."""
    last = events[-1].timestamp
    count = sum(event.timestamp == last for event in events)
    if params.cursor and count == len(events) and params.cursor.startswith(f"{last}{CURSOR_SEPARATOR}"):
        count += int(params.cursor.rpartition(CURSOR_SEPARATOR)[2])
    return f"{last}{CURSOR_SEPARATOR}{count}"


def _event(project: Project, row: Json, *, full: bool) -> EventDetails:
    properties = _parse_properties(row.get("properties"))
    shown, _ = fit(_select_properties(properties), ROOM_OF_PROPERTIES)
    return read(
        EventDetails,
        row,
        id=row.get("uuid"),
        url=project.link(f"events/{row.get('uuid')}/{_url_time(str(row.get('timestamp')))}"),
        person_id=None if row.get("person.id") is None else str(row["person.id"]),
        properties=shown if isinstance(shown, dict) else {},
        full=full_object({**row, "properties": properties}, full=full),
    )


def _url_time(time: str) -> str:
    """A time in a URL: short, and without a plus sign."""
    try:
        moment = instant(time)
    except ValueError:
        return quote(time, safe="")
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat()}Z" if moment.tzinfo else quote(time, safe=":")


def _parse_properties(properties: object) -> Json:
    """Parse properties, which PostHog returns as a JSON string."""
    try:
        parsed = json.loads(properties) if isinstance(properties, str) else properties
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _select_properties(properties: Json) -> Json:
    own = {name: value for name, value in properties.items() if not name.startswith("$")}
    posthog_properties = {name: properties[name] for name in SHOWN_PROPERTIES if properties.get(name) not in (None, "")}
    return dict([*own.items(), *posthog_properties.items()][:MOST_PROPERTIES])
