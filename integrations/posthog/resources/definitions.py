"""The tools for definitions: the exact names of events and properties."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from integrations.json_object import Json
from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.lookup import load_names
from integrations.posthog.objects import full_object, list_objects, read
from integrations.posthog.params import PAGING_ALIASES, Name, Searched, Words, choice
from integrations.posthog.results import Line, Page, PostHogObject, Unusual, line
from integrations.service_client import ToolFailed
from integrations.tool import tool

EVENTS, LIST_EVENTS = "event_definitions", "posthog_list_event_definitions"
NO_EVENT = "Project {project} has received no event `{name}`; names must match exactly.{alike} `{tool}` lists them."


class ListEventNames(Searched):
    search: Words | None = Field(default=None, max_length=200, description="Only those whose name contains this.")


class ListProperties(Searched):
    aliases: ClassVar[Mapping[str, str]] = {
        **PAGING_ALIASES,
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
    other_hint: ClassVar[str] = "Properties of persons and sessions need another `type`."
    other_parameter: ClassVar[str] = "type"


@tool("List event definitions")
async def posthog_list_event_definitions(api: PosthogApi, params: ListEventNames) -> EventNames:
    """List the events that a PostHog project has received: their exact names, for filters and queries.

    Use it before `posthog_query` and `posthog_list_events`: do not guess names. Names that begin with $, such as
    $pageview, are PostHog's own. Returns name, description, tags, when it was last seen, and link. For the properties
    of an event, use `posthog_list_property_definitions` with `eventName`.
    """
    return await list_objects(
        api, params, EVENTS, {"search": params.search}, EventNames, _definition_parser(EventName, "events", params)
    )


@tool("List property definitions")
async def posthog_list_property_definitions(api: PosthogApi, params: ListProperties) -> Properties:
    """List the properties of events, persons or sessions in a PostHog project: exact names and types, for queries.

    `eventName` selects the properties that occurred with that event. In HogQL, write `properties.plan` for events and
    `person.properties.email` for persons. Returns name, type, description and link. For the values of a property, use
    `posthog_query`, such as `SELECT properties.plan, count() FROM events GROUP BY 1`.
    """
    query = {
        "search": params.search,
        "type": params.type,
        "event_names": json.dumps([params.event_name], ensure_ascii=False) if params.event_name else None,
        "filter_by_event_names": True if params.event_name else None,
        "is_numerical": params.is_numerical or None,
        "exclude_hidden": True,
    }
    page = await list_objects(
        api, params, "property_definitions", query, Properties, _definition_parser(Property, "properties", params)
    )
    if params.event_name and not page.results:
        await require_event(api, await api.project(params.project_id), params.event_name)
    return page


async def require_event(api: PosthogApi, project: Project, name: str) -> None:
    """Raise an error if the project has received no event with this name."""
    if text := await unknown_event_text(api, project, name):
        raise ToolFailed("invalid_arguments", text)


async def unknown_event_text(api: PosthogApi, project: Project, name: str) -> str:
    """A sentence on an unknown event, with similar names; empty if the event is known."""
    try:
        if name in (await load_names(api, project, EVENTS, {"search": name[:200]})).names:
            return ""
        others = await load_names(api, project, EVENTS, {})
    except ToolFailed:  # unknown, and the result is complete without it
        return ""
    if name in others.names:
        return ""
    suggestion = others.suggestion(name)
    texts = {"name": line(name), "alike": f" {suggestion}" if suggestion else "", "tool": LIST_EVENTS}
    return NO_EVENT.format(project=project.id, **texts)


def _definition_parser(kind: type[Any], place: str, params: Searched) -> Any:
    def parse(project: Project, definition: Json) -> PostHogObject:
        link = project.link(f"data-management/{place}/{definition.get('id')}")
        item: PostHogObject = read(kind, definition, url=link, full=full_object(definition, full=params.full))
        return item

    return parse
