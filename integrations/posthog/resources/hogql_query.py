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
from integrations.posthog.client import NOT_FOUND, PosthogApi, Project, error_message
from integrations.posthog.hogql_syntax import MOST_ROWS, Query, event_names_in
from integrations.posthog.params import InProject
from integrations.posthog.resources.definitions import unknown_event_text
from integrations.posthog.results import Answer, clock, to_json
from integrations.posthog.tables import Table, table_of
from integrations.posthog.truncation import fit
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
QUERY_EXPIRED = "PostHog has no query {id}: it keeps results for ten minutes. Send the query again."
MORE_ROWS = (
    "There are more rows: these are the first {limit}. Raise `limit` (to at most {most:,}), let the query count or "
    "group, or continue from a column that it is sorted by, such as `WHERE timestamp < …`: PostHog accepts no OFFSET "
    "from API keys."
)
MAYBE_MORE_ROWS = "The query's own LIMIT {limit} may have cut rows."
NAME_HINT = (
    "`posthog_list_event_definitions` and `posthog_list_property_definitions` list the names of events and properties; "
    "`SELECT * FROM events LIMIT 1` shows the columns."
)
ASK_FOR_LESS = "Select fewer columns or rows, or let the query count or group."
QUERY_OR_ID = "Give either a `query`, or the `queryId` of a running query"
NOT_HOGQL = "must be a HogQL query; `posthog_get_insight` runs stored queries of other kinds"
HOGQL = "HogQLQuery"
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)\n?\s*```", re.DOTALL)
_NAMES = re.compile(r"resolve|unknown (table|field|column|identifier)|not found", re.IGNORECASE)


class StillRunning(ToolFailed):
    def __init__(self, project: Project, query_id: str) -> None:
        super().__init__("upstream_refused", STILL_RUNNING.format(id=query_id, project=project.id))
        self.query_id = query_id


def _unwrap_query(value: object) -> object:
    """Unwrap a query from a code fence, or from the object of PostHog's API."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            return _unwrap_query(json.loads(value))
    if isinstance(value, dict):
        if value.get("kind", HOGQL) != HOGQL or not isinstance(value.get("query"), str):
            raise ValueError(NOT_HOGQL)
        return value["query"]
    match = _FENCE.fullmatch(value.strip()) if isinstance(value, str) else None
    return match[1] if match else value


def _validate_query(text: str) -> str:
    Query.read(text)
    return text


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
    query: Annotated[str, BeforeValidator(_unwrap_query), AfterValidator(_validate_query)] | None = Field(
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
    def _drop_kind(cls, args: Any) -> Any:
        """Ignore `kind`, which PostHog's API has beside the query."""
        if not isinstance(args, dict) or args.get("kind") != HOGQL:
            return args
        return {name: value for name, value in args.items() if name != "kind"}

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if (self.query is None) == (self.query_id is None):
            raise ValueError(QUERY_OR_ID)
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
        paragraphs = [self._head(), *self.notes, self._body()]
        return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)

    def _head(self) -> str:
        if self.running:
            return ""
        if self.other is not None:
            return f"Result in project {self.project_id}:"
        number = f"{self.returned} row{'' if self.returned == 1 else 's'}" if self.returned else "No rows"
        return f"{number} in project {self.project_id}" + (":" if self.returned else ".")

    def _body(self) -> str:
        if self.other is not None:
            return to_json(self.other)
        return Table(columns=self.columns, rows=self.rows, returned=self.returned).text() if self.returned else ""


async def run(api: PosthogApi, project: Project, query: Json, *, fresh: bool = False) -> Json:
    """Start a query asynchronously, because PostHog ends long requests, and poll for its result."""
    body = {"query": query, "refresh": "force_async" if fresh else "async"}
    response: Json = await api.request("POST", project.path("query"), body=body, reads=True)
    return await _wait_for_result(api, project, response)


async def _wait_for_result(api: PosthogApi, project: Project, response: Json) -> Json:
    attempt = 0
    while (status := response.get("query_status")) and not status.get("complete"):
        pause = PAUSES[min(attempt, len(PAUSES) - 1)]
        if api.seconds_left() < pause + MARGIN_SECONDS:
            raise StillRunning(project, str(status.get("id")))
        await api.pause(pause)
        response = await _poll(api, project, str(status.get("id")))
        attempt += 1
    result: Json = (status or {}).get("results") or response
    if result.get("error"):
        raise ToolFailed(
            "invalid_arguments", f"PostHog could not run the query: {error_message({'detail': result['error']})}"
        )
    return result


async def _poll(api: PosthogApi, project: Project, query_id: str) -> Json:
    try:
        response: Json = await api.get(project.path("query", query_id))
    except ToolFailed as failed:
        if not failed.text.startswith(NOT_FOUND):
            raise
        raise ToolFailed("upstream_refused", QUERY_EXPIRED.format(id=query_id)) from failed
    return response


def cache_note(response: Json) -> list[str]:
    """A note if the result is cached."""
    at = response.get("last_refresh")
    return [f"As of {clock(str(at))}; `fresh: true` computes it again."] if response.get("is_cached") and at else []


@tool("Query with HogQL")
async def posthog_query(api: PosthogApi, params: RunQuery) -> Rows:
    """Run one HogQL query (ClickHouse's SQL over PostHog's data): counts, groups, joins, and the rest.

    First look up the names of events and properties (`posthog_list_event_definitions`,
    `posthog_list_property_definitions`); do not guess them. Tables: events (event, timestamp, distinct_id,
    properties.$browser, person.properties.email), persons, sessions, groups, and more under system. Always bound the
    time: `timestamp > now() - INTERVAL 30 DAY`. Returns columns and rows, at most `limit` (100) if the query has no
    LIMIT, and whether there are more. OFFSET is not accepted: continue from a sorted column. If a query takes long,
    the result is a `queryId`: call again with it. PostHog allows 120 queries per hour.
    """
    project = await api.project(params.project_id)
    try:
        with too_large_hint(ASK_FOR_LESS):
            if params.query is not None:
                return await _run(api, project, params, Query.read(params.query))
            status = await _poll(api, project, str(params.query_id))
            return _rows(project, await _wait_for_result(api, project, status), None, params.limit)
    except StillRunning as running:
        return Rows(project_id=project.id, running=running.query_id, notes=[running.text])


async def _run(api: PosthogApi, project: Project, params: RunQuery, query: Query) -> Rows:
    query_json: Json = {"kind": "HogQLQuery", "query": query.within(params.limit + 1)}
    if params.values:
        query_json["values"] = params.values
    try:
        response = await run(api, project, query_json, fresh=params.fresh)
    except ToolFailed as failed:
        if failed.kind != "invalid_arguments" or not _NAMES.search(failed.text):
            raise
        raise failed.with_text(f"{failed.text} {NAME_HINT}") from failed
    rows = _rows(project, response, query, params.limit)
    event_notes = await _unknown_event_notes(api, project, params) if _is_empty(rows) else []
    return rows.model_copy(update={"notes": [*rows.notes, *event_notes]})


def _is_empty(result: Rows) -> bool:
    """Whether the result has no rows, or a column of only zeros or empty values."""
    return result.other is None and (
        not result.rows or any(not any(column) for column in zip(*result.rows, strict=False))
    )


async def _unknown_event_notes(api: PosthogApi, project: Project, params: RunQuery) -> list[str]:
    """Notes on events in the query that the project has never received."""
    names = event_names_in(str(params.query), params.values)[:MOST_LOOKED_UP]
    return [note for name in names if (note := await unknown_event_text(api, project, name))]


def _rows(project: Project, response: Json, query: Query | None, limit: int) -> Rows:
    table = table_of(response)
    if table is None:
        cut, _ = fit(response.get("results"))
        return Rows(project_id=project.id, other=cut, notes=cache_note(response))
    actual_query = query or _query_of(response)
    has_more, note = _has_more(table.returned, actual_query, limit, is_ours=query is not None)
    if note == MORE_ROWS:  # one extra row was requested to detect this
        table = table_of({**response, "results": response["results"][:limit]}) or table
    own_limit = actual_query.limit if note == MAYBE_MORE_ROWS else limit
    notes = [note.format(limit=own_limit, most=MOST if note == MORE_ROWS else MOST_ROWS)] if note else []
    return Rows(
        project_id=project.id,
        columns=table.columns,
        rows=table.rows,
        returned=table.returned,
        has_more=has_more,
        notes=[*notes, *cache_note(response), *table.notes()],
    )


def _query_of(response: Json) -> Query:
    """The query of a result that is read by its `queryId`."""
    try:
        text = response.get("query") or response.get("hogql")
        return Query.read(str(text)[: LONGEST_QUERY + 1_000])
    except ValueError:
        return Query("", None, has_limit=True)


def _has_more(returned: int, query: Query, limit: int, *, is_ours: bool) -> tuple[bool | None, str]:
    """Whether there are more rows, if known, and the note on that."""
    if is_ours and not query.has_limit:
        return returned > limit, MORE_ROWS if returned > limit else ""
    if query.limit is None:
        return None, ""
    return (None, MAYBE_MORE_ROWS) if returned >= query.limit else (False, "")
