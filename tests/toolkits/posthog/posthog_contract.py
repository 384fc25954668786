"""A check of requests against the contract of PostHog's command line, and a few paths that it does not have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from urllib.parse import unquote

import jsonschema_rs

from demo.oauth_provider.tenant import RecordedRequest
from tests.toolkits.contract import Contract, Json

CONTRACT = Contract("PostHog")
TOOLS = "posthog-cli-0.18.3.tools.json"
PAGE: Mapping[str, Json] = {"limit": {"type": "number"}, "offset": {"type": "number"}}
WORDS: Json = {"type": "string"}
TRUTH: Json = {"type": "boolean"}
BESIDES: Mapping[str, Mapping[str, Json]] = {
    "/api/personal_api_keys/@current/": {},
    "/api/projects/{id}/": {},
    "/api/organizations/{id}/projects/": PAGE,
    "/api/projects/{project_id}/query/{id}/": {},
    "/api/projects/{project_id}/event_definitions/": {**PAGE, "search": WORDS},
    "/api/projects/{project_id}/property_definitions/": {
        **PAGE,
        **dict.fromkeys(("search", "type", "event_names"), WORDS),
        **dict.fromkeys(("filter_by_event_names", "is_numerical", "exclude_hidden"), TRUTH),
    },
}
"""Parameters by path, from PostHog's documentation."""
BODY = {"query", "refresh", "client_query_id", "name"}
REFRESH = ("blocking", "async", "force_blocking", "force_async", "force_cache", "lazy_async")
OF_QUERIES = {"HogQLQuery": {"kind", "query", "values"}, "ExperimentQuery": {"kind", "experiment_id", "metric"}}
OF_EVENTS = {"kind", "select", "orderBy", "after", "before", "event", "personId", "where", "limit", "offset"}
INSIGHTS = {"TrendsQuery": "query-trends", "FunnelsQuery": "query-funnel", "RetentionQuery": "query-retention"}


@CONTRACT.validator
def objections(path: str, request: RecordedRequest) -> Iterator[str]:
    if request.method == "POST" and re.fullmatch(r"/api/(projects|environments)/[0-9]+/query/", path):
        yield from _of_body(request)
        return
    if request.method != "GET":
        yield "it is no read"
        return
    known = next((known for pattern, known in _operations() if pattern.fullmatch(path)), None)
    if known is None:
        yield "there is no such operation"
        return
    if request.body:
        yield "it takes no body"
    for name, value in request.query.items():
        yield from _of_value(known.get(name), name, value)


def _of_value(schema: Json | None, name: str, value: str) -> Iterator[str]:
    if schema is None:
        yield f"it takes no {name}"
        return
    values = [value, *_read(value)]
    if not any(jsonschema_rs.is_valid(schema, value) for value in values):
        yield f"{name} is not as it should be: {value!r}"


def _read(value: str) -> Iterator[object]:
    """What else than a text it may be in a query: a number, or whether."""
    if value in ("true", "false"):
        yield value == "true"
    elif value.isdecimal():
        yield int(value)


def _of_body(request: RecordedRequest) -> Iterator[str]:
    body = json.loads(request.body)
    yield from (f"it takes no {name}" for name in [*request.query, *(body.keys() - BODY)])
    if body.get("refresh", "blocking") not in REFRESH:
        yield f"there is no refresh {body['refresh']}"
    query = body.get("query", {})
    kind = query.get("kind")
    if kind in INSIGHTS:
        for error in _insight(INSIGHTS[kind]).iter_errors(query):
            yield f"{kind}: {error.message}"
    elif kind in OF_QUERIES or kind == "EventsQuery":
        unknown = query.keys() - (OF_EVENTS if kind == "EventsQuery" else OF_QUERIES[kind])
        yield from (f"{kind} takes no {name}" for name in unknown)
    else:
        yield f"there is no query {kind}"


@cache
def _insight(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(_tools()[name]["inputSchema"])


@cache
def _operations() -> list[tuple[re.Pattern[str], Mapping[str, Json]]]:
    """What may be read, with the schemas of its parameters."""
    results = [(_pattern(path), known) for path, known in BESIDES.items()]
    for tool in _tools().values():
        properties = tool["inputSchema"].get("properties", {})
        for request in tool["requests"]:
            if request["method"] == "GET":
                known = {name: properties.get(name, {}) for name in request.get("query", [])}
                results.append((_pattern(request["path"]), known))
    return results


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(unquote(path))))


def _tools() -> Json:
    return CONTRACT.read(TOOLS)
