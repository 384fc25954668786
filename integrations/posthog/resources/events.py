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
from integrations.posthog.hogql import quoted
from integrations.posthog.objects import CUT_HERE, ENDED_EARLY, read, whole
from integrations.posthog.params import MOST, Full, InProject, Name, from_link, is_uuid
from integrations.posthog.parsing import ALL, Moment, instant, past, some_days_before, span
from integrations.posthog.resources.definitions import known_event
from integrations.posthog.resources.hogql_query import run
from integrations.posthog.resources.persons import known_person, person_called
from integrations.posthog.results import Line, Page, PostHogObject, clock, fitting, line
from integrations.posthog.truncation import fitted, is_cut
from integrations.service_client import too_large_hint
from integrations.tool import tool

COLUMNS = ("uuid", "event", "timestamp", "distinct_id", "person.id", "properties")
SHOWN = ("$current_url", "$pathname", "$browser", "$os", "$device_type", "$geoip_country_name", "$lib")
"""PostHog's own properties that are shown with all of the project's own."""
SINCE = "-7d"
USUAL = 20
MOST_PROPERTIES, ROOM_OF_PROPERTIES = 25, 1_500
BETWEEN = "~"
LESS = "Use a smaller `limit` or a shorter time range."
FURTHER = "`after` searches further back, such as `30d` or `all`."
MIXED_UP = "`after` must be earlier than `before`"
_CURSOR = re.compile(r"(?P<before>[^~]+)~(?P<skip>[0-9]{1,5})|(?P<offset>[0-9]{1,5})")


def _cursor(given: str) -> str:
    found = _CURSOR.fullmatch(given)
    try:
        if found and found["before"]:
            instant(found["before"])
    except ValueError:
        found = None
    if not found:
        raise ValueError("must be the `nextCursor` of the previous page")
    return given


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
    limit: int = Field(default=USUAL, ge=1, le=MOST, description="The maximum number of results.")
    cursor: Annotated[str, AfterValidator(_cursor)] | None = Field(
        default=None,
        max_length=100,
        description="For the next page: the `nextCursor` of the previous page, with the other arguments unchanged.",
    )
    full: Full = False

    @property
    def since(self) -> str:
        """The start; by default seven days before the end."""
        return some_days_before(self.before) if self.before and "after" not in self.model_fields_set else self.after

    @model_validator(mode="after")
    def _begins_before_it_ends(self) -> Self:
        if self.before and self.before != ALL and _is_later(self.after, self.before):
            raise ValueError(MIXED_UP)
        return self


class EventDetails(PostHogObject):
    apart: ClassVar[tuple[str, ...]] = ("properties",)
    headed: ClassVar[tuple[str, ...]] = ("id", "event", "timestamp")
    event: Annotated[str, BeforeValidator(line)]
    timestamp: str
    distinct_id: Line = None
    person_id: str | None = Field(default=None, description="For `posthog_get_person`.")
    properties: Json = Field(default={}, description="The project's own properties, and some of PostHog's.")

    def heading(self) -> str:
        return f"{self.event} at {clock(self.timestamp, seconds=True)} (id {self.id})"


class EventPage(Page[EventDetails]):
    what: ClassVar[tuple[str, str]] = ("event", "events")
    going_on: ClassVar[str] = "cursor"
    next_cursor: str | None = Field(
        default=None, description="Pass it as `cursor`, with the other arguments unchanged, for the next page."
    )
    since: str = Field(description="The start of the time range, in PostHog's notation.")
    until: str | None = None

    def _head(self) -> str:
        head = super()._head()
        order = ", the latest first:" if self.results else "."
        counted, _, more = head.rstrip(":.").partition(", ")
        return ", ".join(text for text in (f"{counted} {span(self.since, self.until)}", more) if text) + order


@tool("List events")
async def posthog_list_events(api: PosthogApi, ask: ListEvents) -> EventPage:
    """List single events of a PostHog project, the latest first: by name, person, distinct ID or time.

    Use it to see what one person did, or what an event looks like; to count, group or compare use `posthog_query`.
    Covers the last 7 days unless `after` is given. Returns name, time, distinct ID, person, the project's own
    properties and the most useful ones of PostHog's; `full: true` returns all properties.
    `posthog_list_event_definitions` lists the names of events.
    """
    project = await api.project(ask.project_id)
    person = await _person(api, project, ask.person_id)
    with too_large_hint(LESS):
        response = await run(api, project, _query(ask, person), fresh=True)
    rows = [dict(zip(COLUMNS, row, strict=False)) for row in response.get("results") or [] if isinstance(row, list)]
    events = [_event(project, row, full=ask.full) for row in rows[: ask.limit]]
    kept = fitting(events)
    has_more = kept < len(rows) or bool(response.get("hasMore"))
    if not events and not ask.cursor:
        await _explained(api, project, ask)
    return EventPage(
        project_id=project.id,
        results=events[:kept],
        next_cursor=_following(events[:kept], ask) if has_more and events else None,
        since=ask.since,
        until=ask.before,
        notes=_notes(ask, events, kept),
    )


async def _person(api: PosthogApi, project: Project, said: str | None) -> str | None:
    """The UUID of a person, given by any id."""
    return said if said is None or is_uuid(said) else await person_called(api, project, said)


async def _explained(api: PosthogApi, project: Project, ask: ListEvents) -> None:
    """Raise an error if no events match because the event or the person does not exist."""
    if ask.event:
        await known_event(api, project, ask.event)
    if ask.person_id and is_uuid(ask.person_id):
        await known_person(api, project, ask.person_id)


def _notes(ask: ListEvents, events: list[EventDetails], kept: int) -> list[str]:
    early = [ENDED_EARLY] if kept < len(events) else []
    cut = [CUT_HERE] if not ask.full and any(is_cut(event.text()) for event in events[:kept]) else []
    further = [FURTHER] if not events and ask.since != ALL and not ask.cursor else []
    return [*early, *cut, *further]


def _query(ask: ListEvents, person: str | None) -> Json:
    """The query; pages continue from the last time shown, so that new events do not shift them."""
    given = _CURSOR.fullmatch(ask.cursor or "")
    before, skip = (given["before"], given["skip"] or given["offset"]) if given else (None, None)
    query = {
        "kind": "EventsQuery",
        "select": list(COLUMNS),
        "orderBy": ["timestamp DESC", "uuid DESC"],
        "after": ask.since,
        "before": past(before) if before else ask.before,
        "event": ask.event,
        "personId": person,
        "where": [f"distinct_id = {quoted(ask.distinct_id)}"] if ask.distinct_id else None,
        "limit": ask.limit,
        "offset": int(skip or 0) or None,
    }
    return {name: value for name, value in query.items() if value is not None}


def _is_later(after: str, before: str) -> bool:
    """Whether both are comparable times and the start is later."""
    try:
        return instant(after) > instant(before)
    except (ValueError, TypeError):
        return False


def _following(shown: list[EventDetails], ask: ListEvents) -> str:
    """A cursor: the time of the last event, and how many events with that time were shown."""
    last = shown[-1].timestamp
    same = sum(item.timestamp == last for item in shown)
    if ask.cursor and same == len(shown) and ask.cursor.startswith(f"{last}{BETWEEN}"):
        same += int(ask.cursor.rpartition(BETWEEN)[2])
    return f"{last}{BETWEEN}{same}"


def _event(project: Project, row: Json, *, full: bool) -> EventDetails:
    properties = _read(row.get("properties"))
    told, _ = fitted(_telling(properties), ROOM_OF_PROPERTIES)
    return read(
        EventDetails,
        row,
        id=row.get("uuid"),
        url=project.link(f"events/{row.get('uuid')}/{_in_address(str(row.get('timestamp')))}"),
        person_id=None if row.get("person.id") is None else str(row["person.id"]),
        properties=told if isinstance(told, dict) else {},
        full=whole({**row, "properties": properties}, full=full),
    )


def _in_address(time: str) -> str:
    """A time in a URL: short, and without a plus sign."""
    try:
        at = instant(time)
    except ValueError:
        return quote(time, safe="")
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat()}Z" if at.tzinfo else quote(time, safe=":")


def _read(properties: object) -> Json:
    """Parse properties, which PostHog returns as a JSON string."""
    try:
        found = json.loads(properties) if isinstance(properties, str) else properties
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _telling(properties: Json) -> Json:
    own = {name: value for name, value in properties.items() if not name.startswith("$")}
    theirs = {name: properties[name] for name in SHOWN if properties.get(name) not in (None, "")}
    return dict([*own.items(), *theirs.items()][:MOST_PROPERTIES])
