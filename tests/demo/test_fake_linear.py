"""The world behind the fake Linear: strict where Linear is."""

import time
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from demo.oauth_provider.server import OAuthProvider
from demo.services.linear.fake import FakeLinear
from tests.fakes.authorization_client import OAuthApp, app_of

PATH = "/linear/graphql"
VIEWER = "{ viewer { name app } organization { urlKey } }"


@dataclass(frozen=True)
class LinearClient:
    app: OAuthApp
    world: FakeLinear
    token: str

    def query(self, query: str, path: str = PATH, **variables: object) -> httpx2.Response:
        return self.send(path, json={"query": query, "variables": variables})

    def send(self, path: str = PATH, method: str = "POST", **given: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.token}", **given.pop("headers", {})}
        return self.app.call(method, path, headers=headers, **given)

    def data(self, query: str, **variables: object) -> Any:
        response = self.query(query, **variables)
        assert response.status_code == 200, response.text
        assert "errors" not in response.json(), response.text
        return response.json()["data"]

    def error(self, query: str, status: int = 400, **variables: object) -> str:
        response = self.query(query, **variables)
        assert response.status_code == status, response.text
        return f"{response.json()['errors'][0]['extensions']['code']}: {response.json()['errors'][0]['message']}"


@pytest.fixture
def linear(shared: OAuthProvider) -> LinearClient:
    shared.reset()
    app, world = app_of(shared, "linear"), shared.fake("linear")
    assert isinstance(world, FakeLinear)
    return LinearClient(app, world, app.connect()["access_token"])


def test_the_viewer_is_the_app(linear: LinearClient) -> None:
    assert linear.data(VIEWER) == {"viewer": {"name": "Plugboard", "app": True}, "organization": {"urlKey": "acme"}}


@pytest.mark.parametrize("authorization", ["", "Bearer other", "lin_api_key", "Basic YTpi"])
def test_an_invalid_token_gets_no_data(linear: LinearClient, authorization: str) -> None:
    response = linear.send(json={"query": VIEWER}, headers={"Authorization": authorization})
    assert response.status_code == 401
    assert response.json()["errors"][0]["extensions"]["code"] == "AUTHENTICATION_ERROR"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"method": "GET"}, 405),
        ({"data": {"query": VIEWER}}, 400),
        ({"content": b"{}", "headers": {"Content-Type": "application/json"}}, 400),
        ({"content": b"no JSON", "headers": {"Content-Type": "application/json"}}, 400),
        ({"path": "/linear/v1/graphql", "json": {"query": VIEWER}}, 404),
    ],
)
def test_invalid_graphql_is_refused(linear: LinearClient, arguments: dict[str, Any], status: int) -> None:
    assert linear.send(**arguments).status_code == status


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("{ teams { nodes { nickname } } }", "GRAPHQL_VALIDATION_FAILED: Cannot query field 'nickname'"),
        ("{ teams { nodes }", "GRAPHQL_PARSE_FAILED: Syntax Error"),
        ("{ teams(first: 0) { nodes { id } } }", "INPUT_ERROR: first must be between"),
        ("{ teams(first: 251) { nodes { id } } }", "INPUT_ERROR: first must be between"),
        ('{ teams(after: "x") { nodes { id } } }', "INPUT_ERROR: Argument Validation Error: after"),
        (
            '{ issues(filter: {team: {id: {eq: "ENG"}}}) { nodes { id } } }',
            "INPUT_ERROR: Argument Validation Error: id",
        ),
        ('{ issue(id: "ENG-999") { id } }', "INPUT_ERROR: Could not find"),
        ('{ issue(id: "OPS-7") { id } }', "INPUT_ERROR: Could not find"),
    ],
)
def test_queries_that_linear_would_refuse_are_refused(linear: LinearClient, query: str, value: str) -> None:
    assert linear.error(query).startswith(value)


@pytest.mark.parametrize("operation", ["mutation { issueDelete(id: 5) { success } }", "subscription { issues { id } }"])
def test_a_mutation_is_refused_and_detected(linear: LinearClient, operation: str) -> None:
    assert linear.error(operation).startswith("GRAPHQL_VALIDATION_FAILED")
    assert linear.world.mutations != []


def test_a_query_that_is_too_complex_is_refused_before_execution(linear: LinearClient) -> None:
    query = "{ issues(first: 250) { nodes { id labels { nodes { id } } } } }"
    assert "too complex. Complexity: 14" in linear.error(query)
    assert linear.data(query.replace("labels {", "labels(first: 10) {"))


def test_every_response_reports_its_complexity(linear: LinearClient) -> None:
    response = linear.query("{ teams(first: 10) { nodes { id name } } }")
    assert response.headers["X-Complexity"] == "13"
    assert response.headers["X-RateLimit-Complexity-Remaining"] == "1999987"


def test_a_rate_limit_is_a_400_with_a_reset_time(linear: LinearClient) -> None:
    linear.world.rate_limit(seconds=60)
    response = linear.query(VIEWER)
    assert (response.status_code, response.json()["errors"][0]["extensions"]["code"]) == (400, "RATELIMITED")
    assert response.headers["X-RateLimit-Requests-Remaining"] == "0"
    assert 50 < int(response.headers["X-RateLimit-Requests-Reset"]) / 1000 - time.time() < 70
    assert linear.query(VIEWER).status_code == 200


def test_a_query_over_the_complexity_limit_leaves_points_unused(linear: LinearClient) -> None:
    linear.world.rate_limit("Complexity", seconds=900)
    headers = linear.query(VIEWER).headers
    assert headers["X-RateLimit-Complexity-Remaining"] == "312"
    assert 890 < int(headers["X-RateLimit-Complexity-Reset"]) / 1000 - time.time() < 910
    assert int(headers["X-RateLimit-Requests-Reset"]) / 1000 - time.time() > 3500


def test_cycles_and_project_statuses_can_be_queried(linear: LinearClient) -> None:
    result = linear.data(
        '{ cycles(filter: {number: {eq: 42}, team: {key: {eq: "ENG"}}}) { nodes { number name } } '
        "projectStatuses { nodes { name type } } }"
    )
    assert result["cycles"]["nodes"] == [{"number": 42, "name": None}]
    assert {"name": "Planned", "type": "planned"} in result["projectStatuses"]["nodes"]


def test_no_more_than_thirty_searches_a_minute_are_taken(linear: LinearClient) -> None:
    query = '{ searchIssues(term: "safari") { totalCount } }'
    assert [linear.query(query).status_code for _ in range(31)] == [200] * 30 + [400]
    assert linear.query(VIEWER).status_code == 200


def test_only_teams_of_the_app_are_visible(linear: LinearClient) -> None:
    query = "{ teams { nodes { key } } issues(first: 50) { nodes { team { key } } } }"
    assert {node["key"] for node in linear.data(query)["teams"]["nodes"]} == {"ENG", "DES"}
    linear.world.visible_teams = {"OPS"}
    assert {node["team"]["key"] for node in linear.data(query)["issues"]["nodes"]} == {"OPS"}


def test_a_broken_field_is_null_with_an_error(linear: LinearClient) -> None:
    linear.world.broken = {"Issue.assignee": "Not now."}
    response = linear.query('{ issue(id: "ENG-101") { identifier assignee { id } } }')
    assert (response.status_code, response.json()["data"]) == (
        200,
        {"issue": {"identifier": "ENG-101", "assignee": None}},
    )
    assert response.json()["errors"][0]["path"] == ["issue", "assignee"]


def issues(linear: LinearClient, wanted: str) -> list[str]:
    result = linear.data(f"{{ issues(first: 50, filter: {{{wanted}}}) {{ nodes {{ identifier }} }} }}")
    return sorted(node["identifier"] for node in result["issues"]["nodes"])


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ('team: {key: {eq: "DES"}}, priority: {gte: 1, lt: 3}', ["DES-22"]),
        ('team: {key: {eq: "DES"}}, or: [{number: {eq: 21}}, {number: {in: [23]}}]', ["DES-21", "DES-23"]),
        ('team: {key: {eq: "DES"}}, assignee: {null: true}', ["DES-23"]),
        ('team: {key: {eq: "DES"}}, assignee: {null: false}, project: {name: {contains: "Check"}}', ["DES-21"]),
        ('team: {key: {eq: "des"}}', []),
        ('team: {key: {eqIgnoreCase: "des"}}, state: {type: {nin: ["completed", "backlog"]}}', ["DES-21"]),
        ('labels: {some: {name: {eq: "Mobile"}}}', ["ENG-106", "ENG-107"]),
        ('labels: {every: {name: {eq: "Mobile"}}}, priority: {eq: 0}, project: {null: false}', ["ENG-107"]),
        ('updatedAt: {gte: "-P2D"}, priority: {eq: 1}', ["ENG-101", "ENG-112"]),
        ('updatedAt: {lt: "2026-10-20"}', ["DES-23", "ENG-110"]),
        ("parent: {number: {eq: 101}}", ["ENG-111", "ENG-112"]),
        ("cycle: {isActive: {eq: true}}", ["ENG-101", "ENG-102", "ENG-111"]),
    ],
)
def test_filters_work_as_linear_documents_them(linear: LinearClient, wanted: str, expected: list[str]) -> None:
    assert issues(linear, wanted) == expected
