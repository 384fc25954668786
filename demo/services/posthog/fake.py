"""A fake, read-only PostHog API with the data of a small company; it checks keys, paths and parameters."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from demo.oauth_provider.http import Request, Response, json_response
from demo.oauth_provider.tenant import Tenant
from demo.services.posthog.data import KATHERINE, ORGANIZATION, SHOP, events, objects, projects
from demo.services.posthog.history import activity, members, status
from demo.services.posthog.lists import PARAMETERS, filter_list
from demo.services.posthog.query import Queries, QueryRefused

Json = dict[str, Any]

USUAL_PAGE, LONGEST_SEARCH = 100, 200
SCOPES = (
    *("user:read", "organization:read", "project:read", "feature_flag:read", "insight:read", "query:read"),
    *("person:read", "cohort:read", "dashboard:read", "annotation:read", "experiment:read", "survey:read"),
    *("event_definition:read", "property_definition:read", "action:read", "activity_log:read"),
    "organization_member:read",
)
PARTS = frozenset({("surveys", "stats"), ("feature_flags", "activity"), ("feature_flags", "status")})
"""Readable sub-resources of objects."""
_OBJECT = re.compile(r"/api/projects/(?P<project>[^/]+)/(?P<place>\w+)/(?:(?P<id>[^/]+)/)?(?:(?P<more>\w+)/)?")
_PROJECT = re.compile(r"/api/projects/(?P<project>[^/]+)/")
_ORGANIZATION = re.compile(r"/api/organizations/(?P<organization>[^/]+)/(?P<place>projects|members)/")


@dataclass
class ApiKey:
    scopes: tuple[str, ...] = SCOPES
    teams: tuple[int, ...] = ()
    """The projects that the key is limited to; empty for all."""


@dataclass
class RunningQuery:
    """A running query and the number of polls until its result."""

    result: Json
    looks: int
    error: str = ""


class PostHogError(Exception):
    def __init__(self, status: int, kind: str, code: str, detail: str, attr: str | None = None) -> None:
        super().__init__(detail)
        self.response = json_response({"type": kind, "code": code, "detail": detail, "attr": attr}, status)


@dataclass
class FakePostHog:
    tenant: Tenant
    keys: dict[str, ApiKey] = field(default_factory=lambda: {"phx_demo": ApiKey()})
    projects: list[Json] = field(default_factory=projects)
    objects: dict[str, list[Json]] = field(default_factory=objects)
    events: list[Json] = field(default_factory=events)
    writes: list[str] = field(default_factory=list)
    """The refused requests that are not reads."""
    polls: int = 1
    """The number of polls that a new query needs; 0 returns the result at once."""
    cached_at: str = ""
    """The time of cached results."""

    def __post_init__(self) -> None:
        self._queries = Queries(lambda: {"events": self.events, "persons": self.objects["persons"]})
        self._running: dict[str, RunningQuery] = {}
        self._next: list[Callable[[], Response]] = []

    def rate_limit(self, seconds: int | None, times: int = 1) -> None:
        """Rate limits the next requests."""
        detail = f"Request was throttled. Expected available in {seconds} seconds."
        waiting = {} if seconds is None else {"Retry_After": str(seconds)}
        fields = {"type": "throttled_error", "code": "throttled", "detail": detail, "attr": None}
        self._next += [lambda: json_response(fields, 429, **waiting)] * times

    def inject_failure(self, status: int, kind: str, detail: str) -> None:
        """Fails the next requests."""
        self._next.append(
            lambda: json_response({"type": kind, "code": "error", "detail": detail, "attr": None}, status)
        )

    def respond(self, request: Request) -> Response:
        reads = request.method == "GET" or (request.method == "POST" and request.path.endswith("/query/"))
        if not reads:
            self.writes.append(f"{request.method} {request.path}")
            return json_response({"type": "invalid_request", "code": "method_not_allowed", "detail": "Read only."}, 405)
        if not request.path.endswith("/"):
            return Response(301, b"", {"Location": f"/posthog{request.path}/"})
        try:
            key = self._key(request)
            return self._next.pop(0)() if self._next else self._route(request, key)
        except PostHogError as refused:
            return refused.response

    def _key(self, request: Request) -> ApiKey:
        key = self.keys.get(request.bearer or "")
        if key is None:
            detail = "Invalid personal API key." if request.bearer else "Authentication credentials were not provided."
            raise PostHogError(401, "authentication_error", "authentication_failed", detail)
        return key

    def _route(self, request: Request, key: ApiKey) -> Response:
        path = request.path
        if path == "/api/users/@me/":
            shop = {"id": SHOP, "name": "Acme Shop"}
            return json_response(
                {**KATHERINE, "team": shop, "organization": ORGANIZATION, "organizations": [ORGANIZATION]}
            )
        if path == "/api/personal_api_keys/@current/":
            about = {"id": "key-1", "label": "Plugboard", "value": None, "scoped_organizations": []}
            return json_response({**about, "scopes": list(key.scopes), "scoped_teams": list(key.teams)})
        if match := _ORGANIZATION.fullmatch(path):
            return self._organization(request, key, **match.groupdict())
        if match := _PROJECT.fullmatch(path):
            return json_response(self._project(key, match["project"], "project:read"))
        if match := _OBJECT.fullmatch(path):
            return self._object(request, key, **match.groupdict())
        raise no_endpoint()

    def _organization(self, request: Request, key: ApiKey, organization: str, place: str) -> Response:
        self._require_scope(key, "organization:read" if place == "projects" else "organization_member:read")
        if key.teams:
            detail = "API keys with scoped projects are only supported on project-based endpoints."
            raise PostHogError(403, "authentication_error", "permission_denied", detail)
        if organization not in (ORGANIZATION["id"], "@current"):
            raise PostHogError(404, "invalid_request", "not_found", "Organization not found.")
        return self._page(request, self.projects if place == "projects" else members())

    def _project(self, key: ApiKey, number: str, scope: str) -> Json:
        match = next((project for project in self.projects if str(project["id"]) == number), None)
        if match is None:
            raise PostHogError(404, "invalid_request", "not_found", "Project not found.")
        if key.teams and match["id"] not in key.teams:
            detail = f"API key does not have access to the requested project: ID {number}."
            raise PostHogError(403, "authentication_error", "permission_denied", detail)
        self._require_scope(key, scope)
        return match

    def _object(
        self,
        request: Request,
        key: ApiKey,
        project: str,
        place: str,
        id: str | None,  # noqa: A002  its name in the path
        more: str | None,
    ) -> Response:
        if (place not in self.objects and place != "query") or (more and (place, more) not in PARTS):
            raise no_endpoint()
        scope = "activity_log" if more == "activity" else place.removesuffix("s")
        owner = self._project(key, project, f"{scope}:read")
        if place == "query":
            return self._poll(id) if id else self._query(request)
        there = self.objects[place] if owner["id"] == SHOP else []
        if id is None:
            return self._list(request, place, there)
        match = next((record for record in there if id in (str(record["id"]), record.get("uuid"))), None)
        if match is None:
            raise PostHogError(404, "invalid_request", "not_found", "Not found.")
        if more == "activity":
            return json_response(activity(request, match))
        if more == "status":
            return json_response(status(match))
        return json_response(_stats() if more == "stats" else _without_secrets(match))

    def _list(self, request: Request, place: str, there: list[Json]) -> Response:
        known = {*PARAMETERS.get(place, ("search",)), "limit", "offset"}
        for name in request.query.keys() - known:
            raise PostHogError(400, "validation_error", "invalid_input", "Unknown parameter.", name)
        if len(request.query.get("search", "")) > LONGEST_SEARCH:
            raise PostHogError(
                400, "validation_error", "invalid_input", "Ensure it has at most 200 characters.", "search"
            )
        result = filter_list(place, there, request.query)
        return self._page(request, [_without_secrets(item) for item in result], counts=place != "persons")

    def _page(self, request: Request, objects: list[Json], *, counts: bool = True) -> Response:
        limit, offset = int(request.query.get("limit", USUAL_PAGE)), int(request.query.get("offset", 0))
        end = offset + limit
        url = f"https://elsewhere.posthog.example{request.path}?limit={limit}&offset={end}"
        following = url if end < len(objects) else None
        fields = {"next": following, "previous": None, "results": objects[offset:end]}
        return json_response({"count": len(objects), **fields} if counts else fields)

    def _query(self, request: Request) -> Response:
        fields = request.fields
        if fields.keys() - {"query", "refresh", "client_query_id", "name"} or not isinstance(fields.get("query"), dict):
            raise PostHogError(400, "validation_error", "invalid_input", "This is no query.", "query")
        try:
            running = RunningQuery(self._queries.answer(fields["query"]), self.polls)
        except QueryRefused as refused:
            if not self.polls:
                raise PostHogError(400, "validation_error", refused.code, refused.said) from refused
            running = RunningQuery({}, self.polls, refused.said)
        if self.cached_at and not str(fields.get("refresh")).startswith("force"):
            return json_response({**running.result, "is_cached": True, "last_refresh": self.cached_at})
        if not self.polls:
            return json_response({**running.result, "is_cached": False})
        number = f"q{len(self._running) + 1:04d}"
        self._running[number] = running
        return json_response({"query_status": {"id": number, "complete": False, "error": False, "results": None}}, 202)

    def _poll(self, number: str) -> Response:
        running = self._running.get(number)
        if running is None:
            detail = f"Query {number} not found for team {SHOP}"
            raise PostHogError(404, "invalid_request", "not_found", detail)
        running.looks -= 1
        status = {"id": number, "complete": False, "error": False, "error_message": None, "results": None}
        if running.looks > 0:
            return json_response({"query_status": status}, 202)
        if running.error:
            return json_response({"query_status": {**status, "error": True, "error_message": running.error}}, 400)
        return json_response({"query_status": {**status, "complete": True, "results": running.result}})

    def _require_scope(self, key: ApiKey, scope: str) -> None:
        if scope not in key.scopes:
            detail = f"API key missing required scope '{scope}'"
            raise PostHogError(403, "authentication_error", "permission_denied", detail)


def no_endpoint() -> PostHogError:
    return PostHogError(404, "invalid_request", "not_found", "Endpoint not found.")


def _without_secrets(object_: Json) -> Json:
    return {name: value for name, value in object_.items() if name != "of"}


def _stats() -> Json:
    seen = {"first_seen": "2026-10-15T10:00:00Z", "last_seen": "2026-11-16T18:00:00Z"}
    counts = {"survey shown": (420, 390), "survey dismissed": (210, 205), "survey sent": (96, 94)}
    stats = {name: {"total_count": item[0], "unique_persons": item[1], **seen} for name, item in counts.items()}
    return {"stats": stats, "rates": {"response_rate": 22.86, "dismissal_rate": 50.0}}
