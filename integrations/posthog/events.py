"""The tools for events: what happened, and which events and properties there are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import quote

from pydantic import AfterValidator, Field

from integrations.posthog.api import PosthogApi, Project
from integrations.posthog.asking import MOST, PAGED, USUAL, Full, InProject, Searched, from_link, is_uuid
from integrations.posthog.hogql import quoted
from integrations.posthog.objects import listed, read, whole
from integrations.posthog.querying import run
from integrations.posthog.results import Item, Line, Page, fitted, fitting
from integrations.tool import Json, tool

COLUMNS = ("uuid", "event", "timestamp", "distinct_id", "person.id", "properties")
SHOWN = ("$current_url", "$pathname", "$browser", "$os", "$device_type", "$geoip_country_name", "$lib")
"""What of PostHog's own properties is shown, with all of the project's own."""
SINCE = "-7d"
MOST_PROPERTIES, ROOM_OF_PROPERTIES = 25, 1_500
BETWEEN = "~"
_RELATIVE = re.compile(r"-?[0-9]{1,4}[smhdwMy]")
_CURSOR = re.compile(r"(?P<before>[^~]+)~(?P<skip>[0-9]{1,5})|(?P<offset>[0-9]{1,5})")


def _time(given: str) -> str:
    """A date, a time, or how long ago; as PostHog understands it."""
    if given.lower() == "all":
        return "all"
    if _RELATIVE.fullmatch(given):
        return f"-{given.removeprefix('-')}"
    try:
        datetime.fromisoformat(given)
    except ValueError as error:
        raise ValueError("it is a date, a time such as 2026-11-17T09:00:00Z, or how long ago, such as -24h") from error
    return given


def _cursor(given: str) -> str:
    if not _CURSOR.fullmatch(given):
        raise ValueError("it is the `nextCursor` of the page before")
    return given


Time = Annotated[str, AfterValidator(_time)]


class ListEvents(InProject):
    also: ClassVar[Mapping[str, str]] = {
        **InProject.also,
        **dict.fromkeys(("since", "from", "datefrom", "start", "starttime"), "after"),
        **dict.fromkeys(("until", "to", "dateto", "end", "endtime"), "before"),
        **dict.fromkeys(("eventname", "name", "type"), "event"),
        **dict.fromkeys(("person", "personuuid"), "person_id"),
        **dict.fromkeys(("userid", "user"), "distinct_id"),
        **dict.fromkeys(("offset", "nextcursor"), "cursor"),
        **dict.fromkeys(("pagesize", "count", "first"), "limit"),
    }
    event: str | None = Field(
        default=None, max_length=400, description="Only events of this name.", examples=["$pageview"]
    )
    person_id: Annotated[str, from_link("persons?")] | None = Field(
        default=None, max_length=400, description="Only of this person: their UUID or a link."
    )
    distinct_id: str | None = Field(default=None, max_length=400, description="Only of this distinct ID.")
    after: Time = Field(
        default=SINCE,
        description="From then on: a date, a time, how long ago, or `all`.",
        examples=["-24h", "2026-11-01"],
    )
    before: Time | None = Field(default=None, description="Until then.", examples=["2026-11-17T09:00:00Z"])
    limit: int = Field(default=USUAL, ge=1, le=MOST, description="How many at most.")
    cursor: Annotated[str, AfterValidator(_cursor)] | None = Field(
        default=None, description="`nextCursor` of the page before, all else the same, to go on."
    )
    full: Full = False


class ListEventNames(Searched):
    search: str | None = Field(default=None, max_length=200, description="Only those whose name has this.")


class ListProperties(Searched):
    also: ClassVar[Mapping[str, str]] = {
        **PAGED,
        **dict.fromkeys(("event", "eventnames", "events"), "event_name"),
        "numerical": "is_numerical",
        "propertytype": "type",
    }
    search: str | None = Field(default=None, max_length=200, description="Only those whose name has this.")
    type: Literal["event", "person", "session"] = Field(default="event", description="What they are properties of.")
    event_name: str | None = Field(default=None, max_length=400, description="Only those that came with this event.")
    is_numerical: Literal[True] | None = Field(default=None, description="Only numbers.")


class Event(Item):
    apart: ClassVar[tuple[str, ...]] = ("properties",)
    headed: ClassVar[tuple[str, ...]] = ("id", "event", "timestamp")
    event: str
    timestamp: str
    distinct_id: str | None = None
    person_id: str | None = Field(default=None, description="For posthog_get_person.")
    properties: Json = Field(default={}, description="The project's own, and some of PostHog's.")

    def heading(self) -> str:
        return f"{self.event} at {self.timestamp} (id {self.id})"


class EventPage(Page[Event]):
    what: ClassVar[tuple[str, str]] = ("event", "events")
    going_on: ClassVar[str] = "cursor"
    since: str | None = Field(default=None, description="How far back was looked.")

    def _head(self) -> str:
        looked = "ever" if self.since == "all" else f"since {self.since}"
        head = super()._head().rstrip(":.")
        more = "" if self.results else " `after` looks further back; posthog_list_event_definitions tells the names."
        return f"{head}, {looked}{', the latest first:' if self.results else '.'}{more}"


class EventName(Item):
    name: Line = None
    description: Line = None
    verified: bool | None = None
    tags: list[str] = Field(default=[])
    last_seen_at: str | None = None
    created_at: str | None = None

    def heading(self) -> str:
        return str(self.name)


class EventNames(Page[EventName]):
    what: ClassVar[tuple[str, str]] = ("event definition", "event definitions")
    hint: ClassVar[str] = "`search` looks in names."


class Property(Item):
    name: Line = None
    description: Line = None
    property_type: str | None = Field(default=None, description="String, Numeric, DateTime, Boolean, …")
    is_numerical: bool | None = None
    verified: bool | None = None
    tags: list[str] = Field(default=[])

    def heading(self) -> str:
        return str(self.name)


class Properties(Page[Property]):
    what: ClassVar[tuple[str, str]] = ("property", "properties")
    hint: ClassVar[str] = "`search` looks in names; `type` is event, person or session."


@tool("List events")
async def posthog_list_events(api: PosthogApi, ask: ListEvents) -> EventPage:
    """List single events of a PostHog project, the latest first: by name, person, distinct ID or time.

    Use it to see what one person did, or what an event looks like; to count, group or compare use posthog_query. Looks
    back 7 days unless `after` says otherwise. Comes back: name, time, distinct ID, person, the project's own
    properties and the most telling ones of PostHog's; all of them with `full: true`. Names of events:
    posthog_list_event_definitions.
    """
    project = await api.project(ask.project_id)
    response = await run(api, project, _query(ask), fresh=True)
    rows = [dict(zip(COLUMNS, row, strict=False)) for row in response.get("results") or []]
    events = [_event(project, row, full=ask.full) for row in rows]
    kept = fitting(events)
    has_more = kept < len(events) or bool(response.get("hasMore"))
    following = _following(events[:kept], ask) if has_more and events else None
    return EventPage(project_id=project.id, results=events[:kept], next_cursor=following, since=ask.after)


@tool("List event definitions")
async def posthog_list_event_definitions(api: PosthogApi, ask: ListEventNames) -> EventNames:
    """List the events that a PostHog project has received: their exact names, for filters and queries.

    Use it before posthog_query and posthog_list_events: names are not to be guessed. Those that begin with $ are
    PostHog's own, such as $pageview. Comes back: name, description, tags, when it was last seen, link. The properties
    of an event: posthog_list_property_definitions with `eventName`.
    """
    return await listed(
        api, ask, "event_definitions", {"search": ask.search}, EventNames, _defined(EventName, "events", ask)
    )


@tool("List property definitions")
async def posthog_list_property_definitions(api: PosthogApi, ask: ListProperties) -> Properties:
    """List the properties of events, persons or sessions in a PostHog project: exact names and types, for queries.

    With `eventName` only those that came with that event. In HogQL: `properties.plan` for those of events,
    `person.properties.email` for those of persons. Comes back: name, type, description, link. Which values one has:
    posthog_query, such as `SELECT properties.plan, count() FROM events GROUP BY 1`.
    """
    query = {
        "search": ask.search,
        "type": ask.type,
        "event_names": json.dumps([ask.event_name]) if ask.event_name else None,
        "filter_by_event_names": True if ask.event_name else None,
        "is_numerical": ask.is_numerical,
        "exclude_hidden": True,
    }
    return await listed(api, ask, "property_definitions", query, Properties, _defined(Property, "properties", ask))


def _defined(kind: type[Any], place: str, ask: Searched) -> Any:
    def made(project: Project, found: Json) -> Item:
        link = project.link(f"data-management/{place}/{found.get('id')}")
        item: Item = read(kind, found, url=link, full=whole(found, full=ask.full))
        return item

    return made


def _query(ask: ListEvents) -> Json:
    """Pages go on from the last time that was shown, so that new events move none of them."""
    given = _CURSOR.fullmatch(ask.cursor or "")
    before, skip = (given["before"], given["skip"] or given["offset"]) if given else (None, None)
    query = {
        "kind": "EventsQuery",
        "select": list(COLUMNS),
        "orderBy": ["timestamp DESC", "uuid DESC"],
        "after": ask.after,
        "before": _past(before) if before else ask.before,
        "event": ask.event,
        "personId": ask.person_id if ask.person_id and is_uuid(ask.person_id) else None,
        "where": _where(ask) or None,
        "limit": ask.limit,
        "offset": int(skip or 0) or None,
    }
    return {name: value for name, value in query.items() if value is not None}


def _where(ask: ListEvents) -> list[str]:
    """What a person is called by may be a distinct ID too."""
    ids = [ask.distinct_id, ask.person_id if ask.person_id and not is_uuid(ask.person_id) else None]
    return [f"distinct_id = {quoted(each)}" for each in ids if each]


def _past(time: str) -> str:
    """The least time after it, since what is asked for ends before."""
    at = datetime.fromisoformat(time)
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return (at + timedelta(microseconds=1)).isoformat()


def _following(shown: list[Event], ask: ListEvents) -> str:
    """The time of the last event, and how many of that time have been shown."""
    last = shown[-1].timestamp
    same = sum(each.timestamp == last for each in shown)
    if ask.cursor and same == len(shown) and ask.cursor.startswith(f"{last}{BETWEEN}"):
        same += int(ask.cursor.rpartition(BETWEEN)[2])
    return f"{last}{BETWEEN}{same}"


def _event(project: Project, row: Json, *, full: bool) -> Event:
    properties = _read(row.get("properties"))
    told, _ = fitted(_telling(properties), ROOM_OF_PROPERTIES)
    at = quote(str(row.get("timestamp")), safe="")
    return read(
        Event,
        row,
        id=row.get("uuid"),
        url=project.link(f"events/{row.get('uuid')}/{at}"),
        person_id=None if row.get("person.id") is None else str(row["person.id"]),
        properties=told if isinstance(told, dict) else {},
        full=whole({**row, "properties": properties}, full=full),
    )


def _read(properties: object) -> Json:
    """PostHog gives them as JSON in a text."""
    try:
        found = json.loads(properties) if isinstance(properties, str) else properties
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _telling(properties: Json) -> Json:
    own = {name: value for name, value in properties.items() if not name.startswith("$")}
    theirs = {name: properties[name] for name in SHOWN if properties.get(name) not in (None, "")}
    return dict([*own.items(), *theirs.items()][:MOST_PROPERTIES])
