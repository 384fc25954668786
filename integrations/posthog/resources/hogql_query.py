"""The tool that runs a HogQL query, and running queries of any kind asynchronously."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from integrations.json_object import Json
from integrations.paging import paging_aliases
from integrations.posthog.client import NOT_THERE, PosthogApi, Project, said
from integrations.posthog.hogql import MOST_ROWS, Query, events_named
from integrations.posthog.params import InProject
from integrations.posthog.resources.definitions import unknown_event
from integrations.posthog.results import Answer, clock, written
from integrations.posthog.tables import Table, table_of
from integrations.posthog.truncation import fitted
from integrations.service_client import ToolFailed, too_large_hint
from integrations.tool import tool

MOST_LOOKED_UP = 3
"""The maximum of event names that are checked after an empty result."""
PAUSES = (0.15, 0.3, 0.6, 1.0, 1.5)
"""Pauses between polls of a running query; the last one repeats."""
MARGIN_SECONDS = 0.5
MOST = 10_000
USUAL = 100
LONGEST_QUERY = 20_000
STILL_RUNNING = (
    "The query is still running at PostHog and has no result yet. Within ten minutes, call `posthog_query` with "
    'queryId "{id}" and projectId {project} to keep waiting; or query less, such as a shorter time range.'
)
GONE = "PostHog has no query {id}: it keeps results for ten minutes. Send the query again."
MORE = (
    "There are more rows: these are the first {limit}. Raise `limit` (to at most {most:,}), let the query count or "
    "group, or continue from a column that it is sorted by, such as `WHERE timestamp < …`: PostHog accepts no OFFSET "
    "from API keys."
)
PERHAPS_MORE = "The query's own LIMIT {limit} may have cut rows."
LOOK_UP = (
    "`posthog_list_event_definitions` and `posthog_list_property_definitions` list the names of events and properties; "
    "`SELECT * FROM events LIMIT 1` shows the columns."
)
LESS = "Select fewer columns or rows, or let the query count or group."
ONE_OF_BOTH = "Give either a `query`, or the `queryId` of a running query"
NO_SUCH_KIND = "must be a HogQL query; `posthog_get_insight` runs stored queries of other kinds"
HOGQL = "HogQLQuery"
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)\n?\s*```", re.DOTALL)
_NAMES = re.compile(r"resolve|unknown (table|field|column|identifier)|not found", re.IGNORECASE)


class StillRunning(ToolFailed):
    def __init__(self, project: Project, query_id: str) -> None:
        super().__init__("upstream_refused", STILL_RUNNING.format(id=query_id, project=project.id))
        self.query_id = query_id


def _plain(given: object) -> object:
    """Unwrap a query from a code fence, or from the object of PostHog's API."""
    if isinstance(given, str) and given.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            return _plain(json.loads(given))
    if isinstance(given, dict):
        if given.get("kind", HOGQL) != HOGQL or not isinstance(given.get("query"), str):
            raise ValueError(NO_SUCH_KIND)
        return given["query"]
    found = _FENCE.fullmatch(given.strip()) if isinstance(given, str) else None
    return found[1] if found else given


def _one_read(given: str) -> str:
    Query.read(given)
    return given


class RunQuery(InProject):
    aliases: ClassVar[Mapping[str, str]] = {
        **InProject.aliases,
        **dict.fromkeys(("sql", "hogql", "hogqlquery", "q", "statement", "select"), "query"),
        **dict.fromkeys(("id", "clientqueryid"), "query_id"),
        **paging_aliases(size="limit"),
        **dict.fromkeys(("maxrows", "rows"), "limit"),
        **dict.fromkeys(("variables", "parameters", "params", "placeholders"), "values"),
        **dict.fromkeys(("refresh", "force", "nocache"), "fresh"),
    }
    query: Annotated[str, BeforeValidator(_plain), AfterValidator(_one_read)] | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_QUERY,
        description="One HogQL SELECT. Leave it out only with `queryId`.",
        examples=["SELECT event, count() FROM events WHERE timestamp > now() - INTERVAL 7 DAY GROUP BY event"],
    )
    limit: int = Field(
        default=USUAL, ge=1, le=MOST, description="The maximum number of rows, if the query has no LIMIT of its own."
    )
    values: dict[str, str | int | float | bool | None] = Field(
        default_factory=dict,
        max_length=50,
        description="Values for `{name}` in the query: safer than writing texts into it.",
        examples=[{"email": "ada@acme.example"}],
    )
    fresh: bool = Field(
        default=False, description="Compute the result again instead of using one that PostHog has cached."
    )
    query_id: str | None = Field(
        default=None, max_length=200, pattern=r"^[\w-]+$", description="The id of a query that was still running."
    )

    @model_validator(mode="before")
    @classmethod
    def _kind_left_out(cls, given: Any) -> Any:
        """Ignore `kind`, which PostHog's API has beside the query."""
        if not isinstance(given, dict) or given.get("kind") != HOGQL:
            return given
        return {name: value for name, value in given.items() if name != "kind"}

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.query is None) == (self.query_id is None):
            raise ValueError(ONE_OF_BOTH)
        return self


class Rows(Answer):
    columns: list[str] = Field(default=[])
    rows: list[list[object]] = Field(default=[], description="In the order of `columns`.")
    returned: int = Field(
        default=0, description="The number of rows that PostHog returned; `rows` has the first of them."
    )
    has_more: bool | None = Field(default=None, description="Whether the limit cut rows; left out if unknown.")
    other: object | None = Field(default=None, description="A result that is not a table.")
    running: str | None = Field(
        default=None, description="Present if the query is not done yet: pass it as `queryId` to keep waiting."
    )

    def text(self) -> str:
        parts = [self._head(), *self.notes, self._body()]
        return "\n\n".join(part for part in parts if part)

    def _head(self) -> str:
        if self.running:
            return ""
        if self.other is not None:
            return f"Result in project {self.project_id}:"
        number = f"{self.returned} row{'' if self.returned == 1 else 's'}" if self.returned else "No rows"
        return f"{number} in project {self.project_id}" + (":" if self.returned else ".")

    def _body(self) -> str:
        if self.other is not None:
            return written(self.other)
        return Table(columns=self.columns, rows=self.rows, returned=self.returned).text() if self.returned else ""


async def run(api: PosthogApi, project: Project, query: Json, *, fresh: bool = False) -> Json:
    """Start a query asynchronously, because PostHog ends long requests, and poll for its result."""
    body = {"query": query, "refresh": "force_async" if fresh else "async"}
    told: Json = await api.request("POST", project.path("query"), body=body, reads=True)
    return await _finished(api, project, told)


async def _finished(api: PosthogApi, project: Project, told: Json) -> Json:
    tries = 0
    while (status := told.get("query_status")) and not status.get("complete"):
        pause = PAUSES[min(tries, len(PAUSES) - 1)]
        if api.seconds_left() < pause + MARGIN_SECONDS:
            raise StillRunning(project, str(status.get("id")))
        await api.pause(pause)
        told = await _looked_at(api, project, str(status.get("id")))
        tries += 1
    found: Json = (status or {}).get("results") or told
    if found.get("error"):
        raise ToolFailed("invalid_arguments", f"PostHog could not run the query: {said({'detail': found['error']})}")
    return found


async def _looked_at(api: PosthogApi, project: Project, query_id: str) -> Json:
    try:
        found: Json = await api.get(project.path("query", query_id))
    except ToolFailed as failed:
        if not failed.text.startswith(NOT_THERE):
            raise
        raise ToolFailed("upstream_refused", GONE.format(id=query_id)) from failed
    return found


def as_of(response: Json) -> list[str]:
    """A note if the result is cached."""
    at = response.get("last_refresh")
    return [f"As of {clock(str(at))}; `fresh: true` computes it again."] if response.get("is_cached") and at else []


@tool("Query with HogQL")
async def posthog_query(api: PosthogApi, ask: RunQuery) -> Rows:
    """Run one HogQL query (ClickHouse's SQL over PostHog's data): counts, groups, joins, and the rest.

    First look up the names of events and properties (`posthog_list_event_definitions`,
    `posthog_list_property_definitions`); do not guess them. Tables: events (event, timestamp, distinct_id,
    properties.$browser, person.properties.email), persons, sessions, groups, and more under system. Always bound the
    time: `timestamp > now() - INTERVAL 30 DAY`. Returns columns and rows, at most `limit` (100) if the query has no
    LIMIT, and whether there are more. OFFSET is not accepted: continue from a sorted column. If a query takes long,
    the result is a `queryId`: call again with it. PostHog allows 120 queries per hour.
    """
    project = await api.project(ask.project_id)
    try:
        with too_large_hint(LESS):
            if ask.query is not None:
                return await _run(api, project, ask, Query.read(ask.query))
            status = await _looked_at(api, project, str(ask.query_id))
            return _told(project, await _finished(api, project, status), None, ask.limit)
    except StillRunning as running:
        return Rows(project_id=project.id, running=running.query_id, notes=[running.text])


async def _run(api: PosthogApi, project: Project, ask: RunQuery, query: Query) -> Rows:
    asked: Json = {"kind": "HogQLQuery", "query": query.within(ask.limit + 1)}
    if ask.values:
        asked["values"] = ask.values
    try:
        response = await run(api, project, asked, fresh=ask.fresh)
    except ToolFailed as failed:
        if failed.kind != "invalid_arguments" or not _NAMES.search(failed.text):
            raise
        raise failed.with_text(f"{failed.text} {LOOK_UP}") from failed
    told = _told(project, response, query, ask.limit)
    unknown = await _unknown(api, project, ask) if _is_empty(told) else []
    return told.model_copy(update={"notes": [*told.notes, *unknown]})


def _is_empty(told: Rows) -> bool:
    """Whether the result has no rows, or a column of only zeros or empty values."""
    return told.other is None and (not told.rows or any(not any(column) for column in zip(*told.rows, strict=False)))


async def _unknown(api: PosthogApi, project: Project, ask: RunQuery) -> list[str]:
    """Notes on events in the query that the project has never received."""
    names = events_named(str(ask.query), ask.values)[:MOST_LOOKED_UP]
    return [told for name in names if (told := await unknown_event(api, project, name))]


def _told(project: Project, response: Json, query: Query | None, limit: int) -> Rows:
    found = table_of(response)
    if found is None:
        cut, _ = fitted(response.get("results"))
        return Rows(project_id=project.id, other=cut, notes=as_of(response))
    known = query or _said_to_be(response)
    more, note = _cut_short(found.returned, known, limit, is_ours=query is not None)
    if note == MORE:  # one extra row was requested to detect this
        found = table_of({**response, "results": response["results"][:limit]}) or found
    own = known.limit if note == PERHAPS_MORE else limit
    notes = [note.format(limit=own, most=MOST if note == MORE else MOST_ROWS)] if note else []
    return Rows(
        project_id=project.id,
        columns=found.columns,
        rows=found.rows,
        returned=found.returned,
        has_more=more,
        notes=[*notes, *as_of(response), *found.notes()],
    )


def _said_to_be(response: Json) -> Query:
    """The query of a result that is read by its `queryId`."""
    try:
        text = response.get("query") or response.get("hogql")
        return Query.read(str(text)[: LONGEST_QUERY + 1_000])
    except ValueError:
        return Query("", None, has_limit=True)


def _cut_short(returned: int, query: Query, limit: int, *, is_ours: bool) -> tuple[bool | None, str]:
    """Whether there are more rows, if known, and the note on that."""
    if is_ours and not query.has_limit:
        return returned > limit, MORE if returned > limit else ""
    if query.limit is None:
        return None, ""
    return (None, PERHAPS_MORE) if returned >= query.limit else (False, "")
