"""Linear's GraphQL API, as far as it is asked here, and as strict: a schema, limits, costs, and who may see what."""

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

from demo.oauth_provider.http import Answer, Request, said
from demo.oauth_provider.tenant import Tenant
from demo.services.linear.cost import cost
from demo.services.linear.data import PROJECT_STATUSES, Data
from demo.services.linear.filters import holds, ordered, page, refused

Json = dict[str, Any]

SCHEMA: GraphQLSchema = build_schema((Path(__file__).parent / "schema.graphql").read_text(encoding="utf-8"))
PATHS = ("/graphql",)
MOST_COMPLEX, REQUESTS, POINTS, SEARCHES, MINUTE = 10_000, 5_000, 2_000_000, 30, 60.0


class World:
    def __init__(self, tenant: Tenant) -> None:
        self.data = Data()
        self.granted = {"ENG", "DES"}
        """The teams that the app was let into."""
        self.broken: dict[str, str] = {}
        """What of an answer is left out, such as `Issue.labels`, and the error that tells of it."""
        self.costs: list[float] = []
        self.not_reads: list[str] = []
        """What was asked for that would change something. There is nothing of the kind here."""
        self._tenant = tenant
        self._refusals: deque[Answer] = deque()
        self._afterwards: deque[Callable[[], None]] = deque()
        self._searches: deque[float] = deque()

    def limit(self, kind: str = "Requests", *, seconds: int = 20, times: int = 1) -> None:
        """The next requests are too many: of all (`Requests`), of a kind (`Endpoint-Requests`), or too costly ones."""
        for _ in range(times):
            self._refusals.append(_limited(kind, time.time() + seconds))

    def refuse(self, code: str, message: str, *, status: int = 200, times: int = 1, **more: object) -> None:
        """The next requests, with an error of GraphQL's and no data."""
        error = {"message": message, "extensions": {"code": code, "userPresentableMessage": message, **more}}
        self._refusals.extend([said({"errors": [error], "data": None}, status)] * times)

    def afterwards(self, happens: Callable[[], None]) -> None:
        """Once the next request is answered."""
        self._afterwards.append(happens)

    def answer(self, request: Request) -> Answer:
        wrong = _wrong_request(request)
        if wrong is not None:
            return wrong
        if self._tenant.grants.good(request.bearer) is None:
            return _errors(refused("Authentication required, not authenticated", "AUTHENTICATION_ERROR"), status=401)
        if self._refusals:
            return self._refusals.popleft()
        answer = self._answered(request.fields)
        if self._afterwards:
            self._afterwards.popleft()()
        return answer

    def _answered(self, fields: Json) -> Answer:
        try:
            document = parse(str(fields.get("query", "")))
        except GraphQLError as error:
            return _errors(refused(error.message, "GRAPHQL_PARSE_FAILED", "graphql error"))
        operation = self._query_of(document)
        problems = validate(SCHEMA, document)
        if operation is None or problems:
            told = problems[0].message if problems else "Only queries are answered here."
            return _errors(refused(told, "GRAPHQL_VALIDATION_FAILED", "graphql error"))
        return self._executed(document, operation, fields.get("variables") or {})

    def _query_of(self, document: DocumentNode) -> OperationDefinitionNode | None:
        found = [each for each in document.definitions if isinstance(each, OperationDefinitionNode)]
        self.not_reads += [str(each.operation) for each in found if each.operation != OperationType.QUERY]
        return found[0] if len(found) == 1 and found[0].operation == OperationType.QUERY else None

    def _executed(self, document: DocumentNode, operation: OperationDefinitionNode, variables: Json) -> Answer:
        points = cost(SCHEMA, operation, variables)
        self.costs.append(points)
        if points > MOST_COMPLEX:
            told = f"The query is too complex. Complexity: {points:.0f}. Maximum allowed complexity: {MOST_COMPLEX}."
            return _errors(refused(told))
        if _asks_for(operation, "searchIssues") and not self._may_search():
            return _limited("Endpoint-Requests", time.time() + MINUTE)
        result = execute_sync(SCHEMA, document, variable_values=variables, field_resolver=self._resolved)
        return _said(result, points)

    def _may_search(self) -> bool:
        now = time.monotonic()
        while self._searches and self._searches[0] < now - MINUTE:
            self._searches.popleft()
        self._searches.append(now)
        return len(self._searches) <= SEARCHES

    def _resolved(self, source: Any, info: GraphQLResolveInfo, **args: Any) -> Any:
        name = f"{info.parent_type.name}.{info.field_name}"
        if name in self.broken:
            raise refused(self.broken[name], "INTERNAL_SERVER_ERROR", "internal error")
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
                return page(self._matching(args), args)
            case _:
                found = [each for each in self._all(name) if holds(each, args.get("filter"))]
                return page(ordered(found, args), args)

    def _all(self, name: str) -> list[Json]:
        found: Mapping[str, Callable[[], list[Json]]] = {
            "teams": self._teams,
            "issues": self._issues,
            "projects": self._projects,
            "projectStatuses": lambda: [{"name": each, "type": kind} for each, kind in PROJECT_STATUSES.items()],
            "users": lambda: [*self.data.users.values(), self.data.app],
            "workflowStates": lambda: [{**each, "team": team} for team in self._teams() for each in team["states"]],
            "cycles": lambda: [{**each, "team": team} for team in self._teams() if (each := team["activeCycle"])],
            "issueLabels": lambda: list(self.data.labels.values()),
        }
        return found[name]()

    def _projects(self) -> list[Json]:
        return [each for each in self.data.projects if any(team["key"] in self.granted for team in each["teams"])]

    def _teams(self) -> list[Json]:
        return [team for key, team in self.data.teams.items() if key in self.granted]

    def _issues(self) -> list[Json]:
        return [each for each in self.data.issues if each["team"]["key"] in self.granted]

    def _issue(self, word: str) -> Json:
        for each in self._issues():
            if word in (each["id"], each["identifier"], *each["previousIdentifiers"]):
                return each
        raise refused("Could not find referenced Issue.", "INPUT_ERROR")

    def _matching(self, args: Mapping[str, Any]) -> list[Json]:
        """All words are in it; those with most of them in the title come first."""
        words = args["term"].lower().split()
        kept = [each for each in ordered(self._issues(), args) if holds(each, args.get("filter"))]
        found = [each for each in kept if all(word in _searched(each, args) for word in words)]
        return sorted(found, key=lambda each: -sum(word in each["title"].lower() for word in words))


def _searched(issue: Json, args: Mapping[str, Any]) -> str:
    comments = [each["body"] for each in issue["comments"]] if args.get("includeComments") else []
    return " ".join([issue["identifier"], issue["title"], issue["description"] or "", *comments]).lower()


def _wrong_request(request: Request) -> Answer | None:
    if request.path not in PATHS:
        return said({"error": "Not Found"}, 404)
    if request.method != "POST":
        return said({"error": "Method not allowed"}, 405, Allow="POST")
    if request.kind != "application/json":
        return _errors(refused("This operation has been blocked as a potential CSRF.", "BAD_REQUEST", "other"))
    if not isinstance(request.fields.get("query"), str):
        return _errors(refused("POST body missing.", "BAD_REQUEST", "other"))
    return None


def _asks_for(operation: OperationDefinitionNode, name: str) -> bool:
    return any(getattr(each, "name", None) and each.name.value == name for each in operation.selection_set.selections)  # type: ignore[attr-defined]


def _said(result: ExecutionResult, points: float) -> Answer:
    told = result.formatted
    status = 400 if result.data is None and result.errors else 200
    return Answer(status, json.dumps(told).encode(), {"Content-Type": "application/json", **_headers(points)})


def _errors(*errors: GraphQLError, status: int = 400) -> Answer:
    return said({"errors": [each.formatted for each in errors]}, status)


def _headers(points: float) -> Mapping[str, str]:
    """Every answer tells of every limit, used up or not."""
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


def _limited(kind: str, until: float) -> Answer:
    """Linear's own way: a 400, an error with a code, and when there is room again, in milliseconds.

    Of points some may be left, only too few for this query.
    """
    told = refused("Rate limit exceeded. Only 5000 requests are allowed per 1 hour.", "RATELIMITED", "ratelimited")
    left = "312" if kind == "Complexity" else "0"
    spent = {f"X-RateLimit-{kind}-Remaining": left, f"X-RateLimit-{kind}-Reset": str(int(until * 1000))}
    of = {"X-RateLimit-Endpoint-Requests-Limit": str(SEARCHES)} if kind == "Endpoint-Requests" else {}
    answer = _errors(told)
    return Answer(answer.status, answer.body, {**answer.headers, **_headers(1), **of, **spent})
