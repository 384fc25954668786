"""The tools for dashboards and annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from integrations.json_object import Json
from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.objects import Details, cut_notes, full_object, list_objects, read, read_object
from integrations.posthog.params import (
    PAGING_ALIASES,
    Full,
    InProject,
    Paged,
    Searched,
    Words,
    from_link,
    require_number,
)
from integrations.posthog.resources.insights import source
from integrations.posthog.results import Line, Page, Part, PostHogObject, Prose, Unusual, Who, prose
from integrations.text import clip
from integrations.tool import tool

DASHBOARDS, ANNOTATIONS, LIST = "dashboards", "annotations", "posthog_list_dashboards"
LONGEST_TILE = 1_000
OF_INSIGHTS = "dashboard_item"
"""PostHog's name for the scope of an annotation on an insight."""
Body = Annotated[
    str | None,
    BeforeValidator(lambda value: clip(" ".join(value.split()), LONGEST_TILE) if isinstance(value, str) else value),
]


class GetDashboard(InProject):
    aliases: ClassVar[Mapping[str, str]] = {
        **InProject.aliases,
        **dict.fromkeys(("id", "dashboard", "url"), "dashboard_id"),
    }
    dashboard_id: Annotated[str, from_link("dashboard"), require_number(LIST)] = Field(
        description="Its number, or a link to it.", examples=["31"]
    )
    full: Full = False


class ListAnnotations(Paged):
    aliases: ClassVar[Mapping[str, str]] = PAGING_ALIASES
    search: Words | None = Field(default=None, max_length=200, description="Only annotations whose text contains this.")


class Tile(Part):
    """A tile of a dashboard: an insight, a text, a button or a widget."""

    id: str | None = Field(default=None, description="The insight's id, for `posthog_get_insight`.")
    name: Line = None
    kind: Line = None
    body: Body = Field(default=None, description="The text, if the tile is one.")
    leads_to: Line = Field(default=None, description="The URL that a button opens.")


class Dashboard(PostHogObject):
    name: Line = None
    description: Prose = None
    pinned: Unusual = None
    tags: list[str] = Field(default=[])
    created_at: str | None = None
    last_accessed_at: str | None = None
    created_by: Who = None


class WholeDashboard(Dashboard):
    separate_fields: ClassVar[tuple[str, ...]] = ("description", "tiles")
    tiles: list[Tile] = Field(default=[])


class DashboardPage(Page[Dashboard]):
    what: ClassVar[tuple[str, str]] = ("dashboard", "dashboards")
    hint: ClassVar[str] = "`search` covers names, descriptions and tags."
    reader: ClassVar[str] = "posthog_get_dashboard"


class DashboardDetails(Details):
    dashboard: WholeDashboard

    def item(self) -> PostHogObject:
        return self.dashboard


class Annotation(PostHogObject):
    separate_fields: ClassVar[tuple[str, ...]] = ()
    content: Annotated[str | None, BeforeValidator(prose)] = None
    about: str | None = Field(default=None, validation_alias="date_marker", description="The time that it concerns.")
    scope: str | None = Field(default=None, description="Where it is shown: an insight, a dashboard, the project, …")
    insight: str | None = Field(default=None, validation_alias="insight_short_id")
    dashboard: str | None = Field(default=None, validation_alias="dashboard_id")
    created_at: str | None = None
    created_by: Who = None

    def heading(self) -> str:
        return f"Annotation {self.id}"


class AnnotationPage(Page[Annotation]):
    what: ClassVar[tuple[str, str]] = ("annotation", "annotations")
    hint: ClassVar[str] = "`search` covers the texts of annotations."


@tool("List dashboards")
async def posthog_list_dashboards(api: PosthogApi, params: Searched) -> DashboardPage:
    """List the dashboards of a PostHog project; `search` matches names, descriptions and tags, and tolerates
    typos.

    Returns id, name, description, whether it is pinned, tags, when it was last viewed, and link.
    `posthog_get_dashboard` reads the tiles of a dashboard.
    """

    def parse(project: Project, item: Json) -> Dashboard:
        return read(Dashboard, item, url=_link(project, item), full=full_object(item, full=params.full))

    return await list_objects(api, params, DASHBOARDS, {"search": params.search}, DashboardPage, parse)


@tool("Read a dashboard")
async def posthog_get_dashboard(api: PosthogApi, params: GetDashboard) -> DashboardDetails:
    """Read one dashboard by its number or link: its description and its tiles in order.

    Each tile is an insight (id, name, kind), a text, a button or a widget. `posthog_get_insight` reads the result of
    one insight; `posthog_get` reads the results of all at once, with path
    `/api/projects/{projectId}/dashboards/{id}/run_insights/` and params `{"output_format": "optimized"}`.
    """
    project = await api.project(params.project_id)
    item = await read_object(api, project, DASHBOARDS, params.dashboard_id, "dashboard", LIST)
    tiles = [_tile(tile) for tile in item.get("tiles") or [] if isinstance(tile, dict)]
    more = {"url": _link(project, item), "full": full_object(item, full=params.full, is_alone=True)}
    dashboard = read(WholeDashboard, item, tiles=tiles, **more)
    return DashboardDetails(project_id=project.id, dashboard=dashboard, notes=cut_notes(dashboard))


@tool("List annotations")
async def posthog_list_annotations(api: PosthogApi, params: ListAnnotations) -> AnnotationPage:
    """List the annotations of a PostHog project, the latest first: releases, campaigns, outages that people noted.

    Use it to explain a jump in a chart. Returns text, the time that it concerns, where it is shown (an insight, a
    dashboard, the whole project), author and link. `search` matches texts.
    """

    def parse(project: Project, item: Json) -> Annotation:
        link = project.link(f"data-management/annotations/{item.get('id')}")
        scope = "insight" if item.get("scope") == OF_INSIGHTS else item.get("scope")
        return read(Annotation, item, url=link, scope=scope, full=full_object(item, full=params.full))

    return await list_objects(api, params, ANNOTATIONS, {"search": params.search}, AnnotationPage, parse)


def _tile(item: Json) -> Tile:
    match item:
        case {"insight": dict(insight)}:
            name = insight.get("name") or insight.get("derived_name")
            return read(Tile, {"id": insight.get("id"), "name": name, "kind": (source(insight) or {}).get("kind")})
        case {"text": {"body": body}}:
            return read(Tile, {"kind": "text", "body": body})
        case {"button_tile": dict(button)}:
            return read(Tile, {"kind": "button", "name": button.get("text"), "leads_to": button.get("url")})
        case {"widget": dict(widget)}:
            return read(Tile, {"kind": f"widget {widget.get('widget_type') or ''}", "name": widget.get("name")})
        case _:
            return Tile(kind="a tile that can only be seen in PostHog")


def _link(project: Project, item: Json) -> str:
    return project.link(f"dashboard/{item.get('id')}")
