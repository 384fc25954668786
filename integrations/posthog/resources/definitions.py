"""The tools for definitions: the exact names of events and properties."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from integrations.json_object import Json
from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.lookup import names_of
from integrations.posthog.objects import listed, read, whole
from integrations.posthog.params import PAGED, Name, Searched, Words, choice
from integrations.posthog.results import Line, Page, PostHogObject, Unusual, line
from integrations.service_client import ToolFailed
from integrations.tool import tool

EVENTS, LIST_EVENTS = "event_definitions", "posthog_list_event_definitions"
NO_EVENT = "Project {project} has received no event `{name}`; names must match exactly.{alike} `{tool}` lists them."


class ListEventNames(Searched):
    search: Words | None = Field(default=None, max_length=200, description="Only those whose name contains this.")


class ListProperties(Searched):
    aliases: ClassVar[Mapping[str, str]] = {
        **PAGED,
        **dict.fromkeys(("event", "eventnames", "events"), "event_name"),
        "numerical": "is_numerical",
        "propertytype": "type",
    }
    search: Words | None = Field(default=None, max_length=200, description="Only those whose name contains this.")
    type: Annotated[
        Literal["event", "person", "session"],
        choice("event", "person", "session", events="event", persons="person", user="person", sessions="session"),
    ] = Field(default="event", description="The kind of object that has the properties.")
    event_name: Name | None = Field(
        default=None, max_length=400, description="Only properties that occurred with this event."
    )
    is_numerical: bool | None = Field(default=None, description="True: only numeric properties.")


class EventName(PostHogObject):
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
    hint: ClassVar[str] = "`search` covers names."


class Property(PostHogObject):
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
    hint: ClassVar[str] = "`search` covers names."
    besides: ClassVar[str] = "Properties of persons and sessions need another `type`."
    unless: ClassVar[str] = "type"


@tool("List event definitions")
async def posthog_list_event_definitions(api: PosthogApi, ask: ListEventNames) -> EventNames:
    """List the events that a PostHog project has received: their exact names, for filters and queries.

    Use it before `posthog_query` and `posthog_list_events`: do not guess names. Names that begin with $, such as
    $pageview, are PostHog's own. Returns name, description, tags, when it was last seen, and link. For the properties
    of an event, use `posthog_list_property_definitions` with `eventName`.
    """
    return await listed(api, ask, EVENTS, {"search": ask.search}, EventNames, _defined(EventName, "events", ask))


@tool("List property definitions")
async def posthog_list_property_definitions(api: PosthogApi, ask: ListProperties) -> Properties:
    """List the properties of events, persons or sessions in a PostHog project: exact names and types, for queries.

    `eventName` selects the properties that occurred with that event. In HogQL, write `properties.plan` for events and
    `person.properties.email` for persons. Returns name, type, description and link. For the values of a property, use
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
    """Raise an error if the project has received no event with this name."""
    if told := await unknown_event(api, project, name):
        raise ToolFailed("invalid_arguments", told)


async def unknown_event(api: PosthogApi, project: Project, name: str) -> str:
    """A sentence on an unknown event, with similar names; empty if the event is known."""
    try:
        if name in (await names_of(api, project, EVENTS, {"search": name[:200]})).there:
            return ""
        others = await names_of(api, project, EVENTS, {})
    except ToolFailed:  # unknown, and the result is complete without it
        return ""
    if name in others.there:
        return ""
    alike = others.like(name)
    words = {"name": line(name), "alike": f" {alike}" if alike else "", "tool": LIST_EVENTS}
    return NO_EVENT.format(project=project.id, **words)


def _defined(kind: type[Any], place: str, ask: Searched) -> Any:
    def made(project: Project, found: Json) -> PostHogObject:
        link = project.link(f"data-management/{place}/{found.get('id')}")
        item: PostHogObject = read(kind, found, url=link, full=whole(found, full=ask.full))
        return item

    return made
