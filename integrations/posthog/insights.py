"""The tools for insights, dashboards and annotations: what a team looks at, and what it has noted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from integrations.api import ToolFailed
from integrations.posthog.api import PosthogApi, Project
from integrations.posthog.asking import PAGED, Full, InProject, Searched, from_link, is_number, numbered
from integrations.posthog.objects import Details, listed, none_such, one, read, whole
from integrations.posthog.querying import StillRunning, as_of, run
from integrations.posthog.results import Item, Line, Page, Part, Prose, Who, fitted, prose, written
from integrations.posthog.tables import Table, table_of
from integrations.tool import Json, tool

INSIGHTS, DASHBOARDS, ANNOTATIONS = "insights", "dashboards", "annotations"
LIST_INSIGHTS, LIST_DASHBOARDS = "posthog_list_insights", "posthog_list_dashboards"
Kind = Literal["TRENDS", "FUNNELS", "RETENTION", "PATHS", "LIFECYCLE", "STICKINESS", "SQL", "JSON", "JOURNEYS"]


class ListInsights(Searched):
    also: ClassVar[Mapping[str, str]] = {**PAGED, "type": "kind", "insight": "kind", "favorite": "favorited"}
    kind: Annotated[Kind | None, BeforeValidator(lambda given: str(given).upper())] = Field(
        default=None, description="Only insights of this type.", examples=["FUNNELS"]
    )
    saved: bool | None = Field(default=None, description="False: only those that nobody has saved.")
    favorited: Literal[True] | None = Field(default=None, description="Only favorites.")


class GetInsight(InProject):
    also: ClassVar[Mapping[str, str]] = {
        **InProject.also,
        **dict.fromkeys(("id", "insight", "shortid", "url"), "insight_id"),
        **dict.fromkeys(("result", "run", "withresults"), "results"),
        **dict.fromkeys(("refresh", "force"), "fresh"),
    }
    insight_id: Annotated[str, from_link(INSIGHTS)] = Field(
        min_length=1,
        max_length=400,
        pattern=r"^\w+$",
        description="Its number, its short id, or a link to it.",
        examples=["AaVQ8Ijw"],
    )
    results: bool = Field(default=True, description="Also compute what it shows.")
    fresh: bool = Field(default=False, description="Do not take a result that PostHog still has from before.")
    full: Full = False


class GetDashboard(InProject):
    also: ClassVar[Mapping[str, str]] = {**InProject.also, **dict.fromkeys(("id", "dashboard", "url"), "dashboard_id")}
    dashboard_id: Annotated[str, from_link("dashboard"), numbered(LIST_DASHBOARDS)] = Field(
        description="Its number, or a link to it.", examples=["31"]
    )
    full: Full = False


class Insight(Item):
    headed: ClassVar[tuple[str, ...]] = ("id", "name", "short_id")
    short_id: str
    name: Line = None
    description: Line = None
    kind: str | None = Field(default=None, description="What it computes, such as TrendsQuery.")
    favorited: bool | None = None
    dashboards: list[str] = Field(default=[], description="Their ids, for posthog_get_dashboard.")
    tags: list[str] = Field(default=[])
    last_modified_at: str | None = None
    created_by: Who = None

    def heading(self) -> str:
        return f"{self.name or '(without a name)'} (id {self.id}, short id {self.short_id})"


class InsightPage(Page[Insight]):
    what: ClassVar[tuple[str, str]] = ("insight", "insights")
    hint: ClassVar[str] = "`search` looks in names, descriptions and tags."
    results: list[Insight]


class InsightDetails(Details):
    insight: Insight
    query: Json | None = Field(default=None, description="What it asks, as PostHog has it.")
    result: Table | None = None
    other: object | None = Field(default=None, description="A result that is no table.")

    def item(self) -> Item:
        return self.insight

    def text(self) -> str:
        result = self.result.text() if self.result else written(self.other)
        query = f"query: {written(self.query, 2_000)}" if self.query else ""
        told = f"Result:\n{result or 'none'}" if self.result or self.other is not None else ""
        return "\n\n".join(each for each in (super().text(), query, told) if each)


class Tile(Part):
    """Of a dashboard: an insight, or a text."""

    id: str | None = Field(default=None, description="Of the insight, for posthog_get_insight.")
    name: Line = None
    kind: str | None = None
    body: Line = Field(default=None, description="Of a text.")


class Dashboard(Item):
    name: Line = None
    description: Prose = None
    pinned: bool | None = None
    tags: list[str] = Field(default=[])
    created_at: str | None = None
    last_accessed_at: str | None = None
    created_by: Who = None


class WholeDashboard(Dashboard):
    apart: ClassVar[tuple[str, ...]] = ("description", "tiles")
    tiles: list[Tile] = Field(default=[])


class DashboardPage(Page[Dashboard]):
    what: ClassVar[tuple[str, str]] = ("dashboard", "dashboards")
    hint: ClassVar[str] = "`search` looks in names, descriptions and tags."


class DashboardDetails(Details):
    dashboard: WholeDashboard

    def item(self) -> Item:
        return self.dashboard


class Annotation(Item):
    apart: ClassVar[tuple[str, ...]] = ()
    content: Annotated[str | None, BeforeValidator(prose)] = None
    date_marker: str | None = Field(default=None, description="When it happened.")
    scope: str | None = Field(default=None, description="Where it shows: an insight, a dashboard, the project, …")
    insight: str | None = Field(default=None, validation_alias="insight_short_id")
    dashboard: str | None = Field(default=None, validation_alias="dashboard_id")
    created_at: str | None = None
    created_by: Who = None

    def heading(self) -> str:
        return f"Annotation {self.id}"


class AnnotationPage(Page[Annotation]):
    what: ClassVar[tuple[str, str]] = ("annotation", "annotations")
    hint: ClassVar[str] = "`search` looks in their texts."


@tool("List insights")
async def posthog_list_insights(api: PosthogApi, ask: ListInsights) -> InsightPage:
    """List the insights (charts, funnels, tables) of a PostHog project, by words, type, saved or favorite.

    Use it to see whether somebody has already made what you want to know, before you write a query. Comes back: id,
    short id, name, description, what kind of query it is, dashboards, tags, who made it, link; no results: read one
    with posthog_get_insight. Nothing that fits `search` exactly: then what is similar comes.
    """
    query = {"search": ask.search, "insight": ask.kind, "saved": ask.saved, "favorited": ask.favorited}
    return await listed(api, ask, INSIGHTS, query, InsightPage, lambda project, each: _insight(project, each, ask.full))


@tool("Read an insight with its result")
async def posthog_get_insight(api: PosthogApi, ask: GetInsight) -> InsightDetails:
    """Read one insight, and compute what it shows: by its number, short id or link.

    Comes back: name, description, query, and the result as a table: for trends a row a day and a column a series, for
    funnels a row a step with its conversion, for retention a row a cohort. It may be some minutes or hours old, and
    then says so; `fresh: true` computes it anew. `results: false` leaves the result out. A result that takes too long
    comes with a `queryId` for posthog_query. Reading results needs the scope `query:read`.
    """
    project = await api.project(ask.project_id)
    number = ask.insight_id if is_number(ask.insight_id) else await _number(api, project, ask.insight_id)
    found = await one(api, project, INSIGHTS, number, "insight", LIST_INSIGHTS)
    query = _source(found)
    told = {"project_id": project.id, "insight": _insight(project, found, ask.full, alone=True), "query": _short(query)}
    if not ask.results:
        return InsightDetails.model_validate(told)
    if query is None:
        note = "It is of an old kind that has no query: its result can be seen in PostHog only."
        return InsightDetails.model_validate({**told, "notes": [note]})
    try:
        response = await _computed(api, project, query, fresh=ask.fresh)
    except StillRunning as running:
        return InsightDetails.model_validate({**told, "notes": [running.text]})
    result = table_of(response)
    other = None if result else fitted(response.get("results"))[0]
    return InsightDetails.model_validate({**told, "result": result, "other": other, "notes": as_of(response)})


@tool("List dashboards")
async def posthog_list_dashboards(api: PosthogApi, ask: Searched) -> DashboardPage:
    """List the dashboards of a PostHog project; `search` finds them by name, description or tag, with typos too.

    Comes back: id, name, description, whether it is pinned, tags, when it was last looked at, link. What is on one
    posthog_get_dashboard tells.
    """

    def made(project: Project, found: Json) -> Dashboard:
        return read(Dashboard, found, url=_dashboard_link(project, found), full=whole(found, full=ask.full))

    return await listed(api, ask, DASHBOARDS, {"search": ask.search}, DashboardPage, made)


@tool("Read a dashboard")
async def posthog_get_dashboard(api: PosthogApi, ask: GetDashboard) -> DashboardDetails:
    """Read one dashboard by its number or link: its description and its tiles, in their order.

    Each tile is an insight (id, name, kind) or a text. For results read an insight with posthog_get_insight, or all
    of them at once with posthog_get, path `/api/projects/{projectId}/dashboards/{id}/run_insights/` and params
    `{"output_format": "optimized"}`.
    """
    project = await api.project(ask.project_id)
    found = await one(api, project, DASHBOARDS, ask.dashboard_id, "dashboard", LIST_DASHBOARDS)
    tiles = [_tile(each) for each in found.get("tiles") or [] if isinstance(each, dict)]
    more = {"url": _dashboard_link(project, found), "full": whole(found, full=ask.full, alone=True)}
    dashboard = read(WholeDashboard, found, tiles=[each for each in tiles if each.text()], **more)
    return DashboardDetails(project_id=project.id, dashboard=dashboard)


@tool("List annotations")
async def posthog_list_annotations(api: PosthogApi, ask: Searched) -> AnnotationPage:
    """List the annotations of a PostHog project, the latest first: releases, campaigns, outages that people noted.

    Use it to explain a jump in a chart. Comes back: text, the time it is about, where it shows (an insight, a
    dashboard, the whole project), who wrote it, link. `search` looks in their texts.
    """

    def made(project: Project, found: Json) -> Annotation:
        link = project.link(f"data-management/annotations/{found.get('id')}")
        return read(Annotation, found, url=link, full=whole(found, full=ask.full))

    return await listed(api, ask, ANNOTATIONS, {"search": ask.search}, AnnotationPage, made)


async def _number(api: PosthogApi, project: Project, short_id: str) -> str:
    found = await api.page(project.path(INSIGHTS), {"short_id": short_id}, 1, 0)
    if not found.items:
        raise none_such(project, "insight", short_id, LIST_INSIGHTS)
    return str(found.items[0].get("id"))


async def _computed(api: PosthogApi, project: Project, query: Json, *, fresh: bool) -> Json:
    try:
        return await run(api, project, query, fresh=fresh)
    except ToolFailed as failed:
        if "`query:read`" not in failed.text:
            raise  # also that it is still running
        raise ToolFailed(failed.kind, f"{failed.text} Without it, `results: false` reads the rest.") from failed


def _insight(project: Project, found: Json, full: bool, *, alone: bool = False) -> Insight:
    link = project.link(f"{INSIGHTS}/{found.get('short_id')}")
    tiles = [str(each.get("dashboard_id")) for each in found.get("dashboard_tiles") or [] if isinstance(each, dict)]
    name = found.get("name") or found.get("derived_name")
    more = {"name": name, "kind": (_source(found) or {}).get("kind"), "dashboards": tiles}
    return read(Insight, found, url=link, full=whole(found, full=full, alone=alone), **more)


def _source(found: Json) -> Json | None:
    """What is asked, without how it is drawn."""
    query = found.get("query")
    inner = query.get("source") if isinstance(query, dict) else None
    if isinstance(query, dict) and query.get("kind") in ("InsightVizNode", "DataVisualizationNode", "DataTableNode"):
        return inner if isinstance(inner, dict) else None
    return query if isinstance(query, dict) else None


def _short(query: Json | None) -> Json | None:
    cut, _ = fitted(query, 6_000)
    return cut if isinstance(cut, dict) else None


def _tile(found: Json) -> Tile:
    insight, text = found.get("insight"), found.get("text")
    if isinstance(insight, dict):
        name = insight.get("name") or insight.get("derived_name")
        return read(Tile, {"id": insight.get("id"), "name": name, "kind": (_source(insight) or {}).get("kind")})
    return read(Tile, {"body": text.get("body") if isinstance(text, dict) else None})


def _dashboard_link(project: Project, found: Json) -> str:
    return project.link(f"dashboard/{found.get('id')}")
