"""The tools for definitions: which events and properties there are, by their exact names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from integrations.api import ToolFailed
from integrations.posthog.api import PosthogApi, Project
from integrations.posthog.asking import MOST, PAGED, Name, Searched, Words, choice
from integrations.posthog.objects import listed, read, whole
from integrations.posthog.results import Item, Line, Page, Unusual, line
from integrations.tool import Json, tool

EVENTS, LIST_EVENTS = "event_definitions", "posthog_list_event_definitions"
MOST_ALIKE, COMPARED = 5, 100
NO_EVENT = "Project {project} has received no event `{name}`; names are exact.{alike} `{tool}` lists them."
ALIKE = " Similar ones: {}."


class ListEventNames(Searched):
    search: Words | None = Field(default=None, max_length=200, description="Only those whose name has this.")


class ListProperties(Searched):
    also: ClassVar[Mapping[str, str]] = {
        **PAGED,
        **dict.fromkeys(("event", "eventnames", "events"), "event_name"),
        "numerical": "is_numerical",
        "propertytype": "type",
    }
    search: Words | None = Field(default=None, max_length=200, description="Only those whose name has this.")
    type: Annotated[
        Literal["event", "person", "session"],
        choice("event", "person", "session", events="event", persons="person", user="person", sessions="session"),
    ] = Field(default="event", description="What they are properties of.")
    event_name: Name | None = Field(default=None, max_length=400, description="Only those that came with this event.")
    is_numerical: bool | None = Field(default=None, description="True: only numbers.")


class EventName(Item):
    name: Line = None
    description: Line = None
    verified: Unusual = None
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
    is_numerical: Unusual = None
    verified: Unusual = None
    tags: list[str] = Field(default=[])

    def heading(self) -> str:
        return str(self.name)


class Properties(Page[Property]):
    what: ClassVar[tuple[str, str]] = ("property", "properties")
    hint: ClassVar[str] = "`search` looks in names."
    besides: ClassVar[str] = "Those of persons and sessions have another `type`."
    unless: ClassVar[str] = "type"


@tool("List event definitions")
async def posthog_list_event_definitions(api: PosthogApi, ask: ListEventNames) -> EventNames:
    """List the events that a PostHog project has received: their exact names, for filters and queries.

    Use it before `posthog_query` and `posthog_list_events`: names are not to be guessed. Those that begin with $ are
    PostHog's own, such as $pageview. Comes back: name, description, tags, when it was last seen, link. The properties
    of an event: `posthog_list_property_definitions` with `eventName`.
    """
    return await listed(api, ask, EVENTS, {"search": ask.search}, EventNames, _defined(EventName, "events", ask))


@tool("List property definitions")
async def posthog_list_property_definitions(api: PosthogApi, ask: ListProperties) -> Properties:
    """List the properties of events, persons or sessions in a PostHog project: exact names and types, for queries.

    With `eventName` only those that came with that event. In HogQL: `properties.plan` for those of events,
    `person.properties.email` for those of persons. Comes back: name, type, description, link. Which values one has:
    `posthog_query`, such as `SELECT properties.plan, count() FROM events GROUP BY 1`.
    """
    query = {
        "search": ask.search,
        "type": ask.type,
        "event_names": json.dumps([ask.event_name], ensure_ascii=False) if ask.event_name else None,
        "filter_by_event_names": True if ask.event_name else None,
        "is_numerical": ask.is_numerical or None,
        "exclude_hidden": True,
    }
    found = await listed(api, ask, "property_definitions", query, Properties, _defined(Property, "properties", ask))
    if ask.event_name and not found.results:
        await known_event(api, await api.project(ask.project_id), ask.event_name)
    return found


async def known_event(api: PosthogApi, project: Project, name: str) -> None:
    """Fails where the project has received none of this name, and tells those that are like it."""
    try:
        alike = await _names(api, project, name)
        others = [] if name in alike else await _names(api, project, None)
    except ToolFailed:  # it can't be known, and what was asked for has been answered
        return
    if name not in [*alike, *others]:
        near = ", ".join(f"`{line(each)}`" for each in _nearest(name, [*alike, *others]))
        words = {"name": line(name), "alike": ALIKE.format(near) if near else "", "tool": LIST_EVENTS}
        raise ToolFailed("invalid_arguments", NO_EVENT.format(project=project.id, **words))


async def _names(api: PosthogApi, project: Project, search: str | None) -> list[str]:
    found = await api.page(project.path(EVENTS), {"search": search and search[:200]}, MOST, 0)
    return [str(each.get("name")) for each in found.items[:MOST]]


def _nearest(name: str, names: list[str]) -> list[str]:
    by_plain = {each[:COMPARED].lower(): each for each in names}
    near = get_close_matches(name[:COMPARED].lower(), by_plain, MOST_ALIKE)
    return [by_plain[each] for each in near]


def _defined(kind: type[Any], place: str, ask: Searched) -> Any:
    def made(project: Project, found: Json) -> Item:
        link = project.link(f"data-management/{place}/{found.get('id')}")
        item: Item = read(kind, found, url=link, full=whole(found, full=ask.full))
        return item

    return made
