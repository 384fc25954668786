"""A fake of the part of Linear's GraphQL API that the tools use: schema, limits, complexity and permissions."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLResolveInfo,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    build_schema,
    execute_sync,
    get_named_type,
    parse,
    validate,
)

from demo.oauth_provider.http import Request, Response, json_response
from demo.oauth_provider.tenant import Tenant
from demo.services.linear.cost import cost
from demo.services.linear.data import PROJECT_STATUSES, Data
from demo.services.linear.filters import graphql_error, matches, ordered, page

Json = dict[str, Any]

SCHEMA: GraphQLSchema = build_schema((Path(__file__).parent / "schema.graphql").read_text(encoding="utf-8"))
PATHS = ("/graphql",)
MOST_COMPLEX, REQUESTS, POINTS, SEARCHES, MINUTE = 10_000, 5_000, 2_000_000, 30, 60.0


class FakeLinear:
    def __init__(self, tenant: Tenant) -> None:
        self.data = Data()
        self.visible_teams = {"ENG", "DES"}
        """The keys of the teams that the app may access."""
        self.broken: dict[str, str] = {}
        """Error messages by field, such as `Issue.labels`; these fields are null in responses."""
        self.costs: list[float] = []
        self.mutations: list[str] = []
        """The refused operations that are not queries."""
        self._tenant = tenant
        self._refusals: deque[Response] = deque()
        self._afterwards: deque[Callable[[], None]] = deque()
        self._searches: deque[float] = deque()

    def rate_limit(self, kind: str = "Requests", *, seconds: int = 20, times: int = 1) -> None:
        """Rate limits the next requests: all, a kind (`Endpoint-Requests`), or by `Complexity`."""
        for _ in range(times):
            self._refusals.append(_rate_limited(kind, time.time() + seconds))

    def inject_error(self, code: str, message: str, *, status: int = 200, times: int = 1, **more: object) -> None:
        """The next requests get a GraphQL error and no data."""
        error = {"message": message, "extensions": {"code": code, "userPresentableMessage": message, **more}}
        self._refusals.extend([json_response({"errors": [error], "data": None}, status)] * times)

    def after_next(self, happens: Callable[[], None]) -> None:
        """Runs a callback after the next response."""
        self._afterwards.append(happens)

    def respond(self, request: Request) -> Response:
        wrong = _request_error(request)
        if wrong is not None:
            return wrong
        if self._tenant.grants.valid_token(request.bearer) is None:
            return _error_response(
                graphql_error("Authentication required, not authenticated", "AUTHENTICATION_ERROR"), status=401
            )
        if self._refusals:
            return self._refusals.popleft()
        answer = self._respond_to_query(request.fields)
        if self._afterwards:
            self._afterwards.popleft()()
        return answer

    def _respond_to_query(self, fields: Json) -> Response:
        try:
            document = parse(str(fields.get("query", "")))
        except GraphQLError as error:
            return _error_response(graphql_error(error.message, "GRAPHQL_PARSE_FAILED", "graphql error"))
        operation = self._single_query(document)
        problems = validate(SCHEMA, document)
        if operation is None or problems:
            text = problems[0].message if problems else "Only queries are answered here."
            return _error_response(graphql_error(text, "GRAPHQL_VALIDATION_FAILED", "graphql error"))
        return self._execute(document, operation, fields.get("variables") or {})

    def _single_query(self, document: DocumentNode) -> OperationDefinitionNode | None:
        results = [definition for definition in document.definitions if isinstance(definition, OperationDefinitionNode)]
        self.mutations += [str(result.operation) for result in results if result.operation != OperationType.QUERY]
        return results[0] if len(results) == 1 and results[0].operation == OperationType.QUERY else None

    def _execute(self, document: DocumentNode, operation: OperationDefinitionNode, variables: Json) -> Response:
        points = cost(SCHEMA, operation, variables)
        self.costs.append(points)
        if points > MOST_COMPLEX:
            text = f"The query is too complex. Complexity: {points:.0f}. Maximum allowed complexity: {MOST_COMPLEX}."
            return _error_response(graphql_error(text))
        if _asks_for(operation, "searchIssues") and not self._admits_search():
            return _rate_limited("Endpoint-Requests", time.time() + MINUTE)
        result = execute_sync(SCHEMA, document, variable_values=variables, field_resolver=self._resolve)
        return _graphql_response(result, points)

    def _admits_search(self) -> bool:
        now = time.monotonic()
        while self._searches and self._searches[0] < now - MINUTE:
            self._searches.popleft()
        self._searches.append(now)
        return len(self._searches) <= SEARCHES

    def _resolve(self, source: Any, info: GraphQLResolveInfo, **args: Any) -> Any:
        name = f"{info.parent_type.name}.{info.field_name}"
        if name in self.broken:
            raise graphql_error(self.broken[name], "INTERNAL_SERVER_ERROR", "internal error")
        if info.parent_type.name == "Query":
            return self._root(info.field_name, args)
        value = source.get(info.field_name)
        if "edges" in getattr(get_named_type(info.return_type), "fields", {}):
            return page(ordered(value or [], args) if info.field_name == "comments" else value or [], args)
        return value

    def _root(self, name: str, args: Mapping[str, Any]) -> Any:
        match name:
            case "viewer":
                return {**self.data.app, "organization": self.data.organization}
            case "organization":
                return self.data.organization
            case "issue":
                return self._issue(args["id"])
            case "searchIssues":
                return page(self._search(args), args)
            case _:
                results = [item for item in self._all(name) if matches(item, args.get("filter"))]
                return page(ordered(results, args), args)

    def _all(self, name: str) -> list[Json]:
        expected: Mapping[str, Callable[[], list[Json]]] = {
            "teams": self._teams,
            "issues": self._issues,
            "projects": self._projects,
            "projectStatuses": lambda: [{"name": item, "type": kind} for item, kind in PROJECT_STATUSES.items()],
            "users": lambda: [*self.data.users.values(), self.data.app],
            "workflowStates": lambda: [{**state, "team": team} for team in self._teams() for state in team["states"]],
            "cycles": lambda: [{**value, "team": team} for team in self._teams() if (value := team["activeCycle"])],
            "issueLabels": lambda: list(self.data.labels.values()),
        }
        return expected[name]()

    def _projects(self) -> list[Json]:
        return [
            project
            for project in self.data.projects
            if any(team["key"] in self.visible_teams for team in project["teams"])
        ]

    def _teams(self) -> list[Json]:
        return [team for key, team in self.data.teams.items() if key in self.visible_teams]

    def _issues(self) -> list[Json]:
        return [issue for issue in self.data.issues if issue["team"]["key"] in self.visible_teams]

    def _issue(self, word: str) -> Json:
        for issue in self._issues():
            if word in (issue["id"], issue["identifier"], *issue["previousIdentifiers"]):
                return issue
        raise graphql_error("Could not find referenced Issue.", "INPUT_ERROR")

    def _search(self, args: Mapping[str, Any]) -> list[Json]:
        """Issues that contain all words; more matches in the title come first."""
        words = args["term"].lower().split()
        kept = [item for item in ordered(self._issues(), args) if matches(item, args.get("filter"))]
        results = [item for item in kept if all(word in _searchable_text(item, args) for word in words)]
        return sorted(results, key=lambda value: -sum(word in value["title"].lower() for word in words))


def _searchable_text(issue: Json, args: Mapping[str, Any]) -> str:
    comments = [comment["body"] for comment in issue["comments"]] if args.get("includeComments") else []
    return " ".join([issue["identifier"], issue["title"], issue["description"] or "", *comments]).lower()


def _request_error(request: Request) -> Response | None:
    if request.path not in PATHS:
        return json_response({"error": "Not Found"}, 404)
    if request.method != "POST":
        return json_response({"error": "Method not allowed"}, 405, Allow="POST")
    if request.media_type != "application/json":
        return _error_response(
            graphql_error("This operation has been blocked as a potential CSRF.", "BAD_REQUEST", "other")
        )
    if not isinstance(request.fields.get("query"), str):
        return _error_response(graphql_error("POST body missing.", "BAD_REQUEST", "other"))
    return None


def _asks_for(operation: OperationDefinitionNode, name: str) -> bool:
    return any(
        getattr(selection, "name", None) and selection.name.value == name  # type: ignore[attr-defined]
        for selection in operation.selection_set.selections
    )


def _graphql_response(result: ExecutionResult, points: float) -> Response:
    text = result.formatted
    status = 400 if result.data is None and result.errors else 200
    return Response(status, json.dumps(text).encode(), {"Content-Type": "application/json", **_headers(points)})


def _error_response(*errors: GraphQLError, status: int = 400) -> Response:
    return json_response({"errors": [error.formatted for error in errors]}, status)


def _headers(points: float) -> Mapping[str, str]:
    """Every response reports all limits."""
    in_an_hour = str(int((time.time() + 3600) * 1000))
    return {
        "X-Complexity": f"{points:.0f}",
        "X-RateLimit-Requests-Limit": str(REQUESTS),
        "X-RateLimit-Requests-Remaining": str(REQUESTS - 1),
        "X-RateLimit-Requests-Reset": in_an_hour,
        "X-RateLimit-Complexity-Limit": str(POINTS),
        "X-RateLimit-Complexity-Remaining": f"{POINTS - points:.0f}",
        "X-RateLimit-Complexity-Reset": in_an_hour,
    }


def _rate_limited(kind: str, until: float) -> Response:
    """Linear's own way: a 400, an error with a code, and when there is room again, in milliseconds.

    Of points some may be left, only too few for this query.
    """
    text = graphql_error(
        "Rate limit exceeded. Only 5000 requests are allowed per 1 hour.", "RATELIMITED", "ratelimited"
    )
    left = "312" if kind == "Complexity" else "0"
    spent = {f"X-RateLimit-{kind}-Remaining": left, f"X-RateLimit-{kind}-Reset": str(int(until * 1000))}
    of = {"X-RateLimit-Endpoint-Requests-Limit": str(SEARCHES)} if kind == "Endpoint-Requests" else {}
    answer = _error_response(text)
    return Response(answer.status, answer.body, {**answer.headers, **_headers(1), **of, **spent})
