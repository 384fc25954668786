"""The tools for insights and their results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AfterValidator, Field

from integrations.json_object import Json
from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.objects import (
    Details,
    cut_notes,
    first_match,
    full_object,
    list_objects,
    object_not_found,
    read,
    read_object,
)
from integrations.posthog.params import PAGING_ALIASES, Full, InProject, Searched, choice, from_link, is_number
from integrations.posthog.resources.hogql_query import StillRunning, cache_note, run
from integrations.posthog.results import Line, Page, PostHogObject, Unusual, Who, to_json
from integrations.posthog.tables import Table, table_of
from integrations.posthog.truncation import fit, is_cut
from integrations.service_client import ToolFailed, too_large_hint
from integrations.tool import tool

INSIGHTS, LIST_INSIGHTS = "insights", "posthog_list_insights"
NO_QUERY = "This insight is of an old kind without a query: its result can only be seen in PostHog."
WITHOUT_SCOPE = "Without this scope, `results: false` reads the rest."
QUERY_CUT = "The query is shortened; `full: true` returns more of it."
TOO_LARGE = "`results: false` reads the rest; the result can be seen in PostHog."
INVALID_VALUE = "must be a number, a short id such as AaVQ8Ijw, or a link; `{}` with `search` finds it by name"
Kind = Literal["TRENDS", "FUNNELS", "RETENTION", "PATHS", "LIFECYCLE", "STICKINESS", "SQL", "JSON", "JOURNEYS"]
KINDS = get_args(Kind)
KIND_ALIASES = {
    **{f"{kind.lower()}query": kind for kind in KINDS},
    **{kind.lower().removesuffix("s"): kind for kind in KINDS},
    **dict.fromkeys(("hogql", "hogqlquery", "datavisualizationnode"), "SQL"),
    "pathsquery": "PATHS",
    "trend": "TRENDS",
}
"""Synonyms, including the kinds that the list returns."""


def _validate_id(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", text):
        raise ValueError(INVALID_VALUE.format(LIST_INSIGHTS))
    return text


class ListInsights(Searched):
    aliases: ClassVar[Mapping[str, str]] = {
        **PAGING_ALIASES,
        "type": "kind",
        "insight": "kind",
        "favorite": "favorited",
    }
    kind: Annotated[Kind | None, choice(*KINDS, **KIND_ALIASES)] = Field(
        default=None, description="Only insights of this type.", examples=["FUNNELS"]
    )
    saved: bool | None = Field(default=None, description="False: only unsaved insights.")
    favorited: bool | None = Field(default=None, description="True: only favorites.")


class GetInsight(InProject):
    aliases: ClassVar[Mapping[str, str]] = {
        **InProject.aliases,
        **dict.fromkeys(("id", "insight", "shortid", "url"), "insight_id"),
        **dict.fromkeys(("result", "run", "withresults"), "results"),
        **dict.fromkeys(("refresh", "force"), "fresh"),
    }
    insight_id: Annotated[str, from_link(INSIGHTS), AfterValidator(_validate_id)] = Field(
        max_length=400, description="Its number, its short id, or a link to it.", examples=["AaVQ8Ijw"]
    )
    results: bool = Field(default=True, description="Also compute the result.")
    fresh: bool = Field(
        default=False, description="Compute the result again instead of using one that PostHog has cached."
    )
    full: Full = False


class Insight(PostHogObject):
    heading_fields: ClassVar[tuple[str, ...]] = ("id", "name", "short_id")
    short_id: str
    name: Line = None
    description: Line = None
    kind: str | None = Field(default=None, description="The kind of its query, such as TrendsQuery.")
    favorited: Unusual = None
    dashboards: list[str] = Field(default=[], description="Their ids, for `posthog_get_dashboard`.")
    tags: list[str] = Field(default=[])
    last_modified_at: str | None = None
    created_by: Who = None

    def heading(self) -> str:
        return f"{self.name or '(unnamed)'} (id {self.id}, short id {self.short_id})"


class InsightPage(Page[Insight]):
    what: ClassVar[tuple[str, str]] = ("insight", "insights")
    hint: ClassVar[str] = "`search` covers names, descriptions and tags."
    reader: ClassVar[str] = "posthog_get_insight"
    results: list[Insight]


class InsightDetails(Details):
    insight: Insight
    query: Json | None = Field(default=None, description="The query in PostHog's own form.")
    result: Table | None = None
    other: object | None = Field(default=None, description="A result that is not a table.")

    def item(self) -> PostHogObject:
        return self.insight

    def text(self) -> str:
        result = self.result.text() if self.result else to_json(self.other)
        query = f"query: {to_json(self.query)}" if self.query else ""
        result_text = f"Result:\n{result or 'none'}" if self.result or self.other is not None else ""
        return "\n\n".join(text for text in (super().text(), query, result_text) if text)


@tool("List insights")
async def posthog_list_insights(api: PosthogApi, params: ListInsights) -> InsightPage:
    """List the insights (charts, funnels, tables) of a PostHog project, by words, type, saved or favorite.

    Before you write a query, check here whether a suitable insight already exists. Returns id, short id, name,
    description, kind of query, dashboards, tags, who created it, and link, but no results: `posthog_get_insight` reads
    those. If nothing matches `search`, similar insights are returned.
    """
    query = {
        "search": params.search,
        "insight": params.kind,
        "saved": params.saved,
        "favorited": params.favorited or None,
    }
    return await list_objects(
        api, params, INSIGHTS, query, InsightPage, lambda project, insight: _insight(project, insight, params.full)
    )


@tool("Read an insight with its result")
async def posthog_get_insight(api: PosthogApi, params: GetInsight) -> InsightDetails:
    """Read one insight by its number, short id or link, and compute its result.

    Returns name, description, query, and the result as a table: for trends one row per day and one column per series,
    for funnels one row per step with its conversion, for retention one row per cohort. A note says if the result is
    some minutes or hours old; `fresh: true` computes it again. `results: false` leaves out the result. If computing
    takes too long, a `queryId` for `posthog_query` is returned. Reading results needs the scope `query:read`.
    """
    project = await api.project(params.project_id)
    insight_id = params.insight_id if is_number(params.insight_id) else await _number(api, project, params.insight_id)
    item = await read_object(api, project, INSIGHTS, insight_id, "insight", LIST_INSIGHTS)
    query, insight = source(item), _insight(project, item, params.full, is_alone=True)
    short_query = _shorten_query(query)
    details = InsightDetails(
        project_id=project.id, insight=insight, query=short_query, notes=_notes(insight, short_query)
    )
    return await _with_result(api, project, details, query, params) if params.results else details


async def _with_result(
    api: PosthogApi, project: Project, details: InsightDetails, query: Json | None, params: GetInsight
) -> InsightDetails:
    if query is None:
        return details.model_copy(update={"notes": [*details.notes, NO_QUERY]})
    try:
        with too_large_hint(TOO_LARGE):
            response = await _compute(api, project, query, fresh=params.fresh)
    except StillRunning as running:
        return details.model_copy(update={"notes": [*details.notes, running.text]})
    result = table_of(response)
    other = None if result else fit(response.get("results"))[0]
    notes = [*details.notes, *cache_note(response), *(result.notes() if result else [])]
    return details.model_copy(update={"result": result, "other": other, "notes": notes})


def _notes(insight: Insight, query: Json | None) -> list[str]:
    is_cut_query = query is not None and is_cut(to_json(query)) and insight.full is None
    return [*cut_notes(insight), *([QUERY_CUT] if is_cut_query else [])]


async def _number(api: PosthogApi, project: Project, short_id: str) -> str:
    item = await first_match(api, project, INSIGHTS, {"short_id": short_id})
    if item is None:
        raise object_not_found(project, "insight", short_id, LIST_INSIGHTS)
    return str(item.get("id"))


async def _compute(api: PosthogApi, project: Project, query: Json, *, fresh: bool) -> Json:
    try:
        return await run(api, project, query, fresh=fresh)
    except ToolFailed as failed:
        if "`query:read`" not in failed.text:
            raise  # including StillRunning
        raise failed.with_text(f"{failed.text} {WITHOUT_SCOPE}") from failed


def _insight(project: Project, item: Json, full: bool, *, is_alone: bool = False) -> Insight:
    link = project.link(f"{INSIGHTS}/{item.get('short_id')}")
    tiles = [str(tile.get("dashboard_id")) for tile in item.get("dashboard_tiles") or [] if isinstance(tile, dict)]
    name = item.get("name") or item.get("derived_name")
    more = {"name": name, "kind": (source(item) or {}).get("kind"), "dashboards": tiles}
    return read(Insight, item, url=link, full=full_object(item, full=full, is_alone=is_alone), **more)


def source(item: Json) -> Json | None:
    """The query without its visualization."""
    query = item.get("query")
    inner = query.get("source") if isinstance(query, dict) else None
    if isinstance(query, dict) and query.get("kind") in ("InsightVizNode", "DataVisualizationNode", "DataTableNode"):
        return inner if isinstance(inner, dict) else None
    return query if isinstance(query, dict) else None


def _shorten_query(query: Json | None) -> Json | None:
    cut, _ = fit(query, 6_000)
    return cut if isinstance(cut, dict) else None
