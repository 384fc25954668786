"""Calls of Linear's tools: paging to the end, expiring tokens, limits and incomplete responses."""

import json
from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import Fault, OAuthProvider
from tests.harness import Plugboard
from tests.toolkits.linear.connected_linear import ISSUE, ISSUES, PROJECTS, SEARCH, TEAMS, Linear, connected_linear

READS: dict[str, dict[str, object]] = {
    TEAMS: {},
    PROJECTS: {},
    ISSUES: {},
    ISSUE: {"issueId": "ENG-101"},
    SEARCH: {"query": "safari"},
}
each_read = pytest.mark.parametrize(("tool", "args"), READS.items(), ids=READS)


@pytest.fixture
def linear(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[Linear]:
    with connected_linear(plugboard, provider) as service:
        yield service


@pytest.mark.parametrize(
    ("tool", "what", "args", "number"),
    [
        (TEAMS, "teams", {"first": 1}, 2),
        (PROJECTS, "projects", {"first": 1}, 3),
        (ISSUES, "issues", {"first": 100}, 265),
        (ISSUES, "issues", {"first": 100, "full": True}, 265),
        (SEARCH, "issues", {"first": 100, "query": "shelf"}, 250),
    ],
)
def test_paging_lists_every_object_once(
    linear: Linear, tool: str, what: str, args: dict[str, object], number: int
) -> None:
    linear.fake.data.add_many(250, description="It is dusty. " * 400)
    items = linear.all_items(tool, what, **args)
    assert len(items) == number
    assert len({item["id"] for item in items}) == number


def test_comments_are_paged_back_to_the_first(linear: Linear) -> None:
    issue = linear.fake.data.issue("ENG-101")
    for number in range(47):
        linear.fake.data.comment(issue, "ada", f"number {number}", 10 + number)
    pages = linear.pages(ISSUE, issueId="ENG-101", first=20)
    results = [comment["body"] for page in pages for comment in page["issue"]["comments"]]
    assert len(results) == len(set(results)) == 50
    assert results[-1] == "number 46"


def test_a_long_description_is_read_in_parts(linear: Linear) -> None:
    whole = "".join(f"{number} " for number in range(10_000))
    linear.fake.data.issue("ENG-102")["description"] = whole
    result, start = "", 0
    while start is not None:
        issue = linear.tools.result(ISSUE, issueId="ENG-102", descriptionFrom=start)["issue"]
        result += issue["description"]
        start = issue.get("nextDescriptionFrom")
    assert result == whole


def test_structured_content_agrees_with_the_text(linear: Linear) -> None:
    assert linear.tools.result(ISSUES, parent="ENG-101", state="open") == {
        "hasMore": False,
        "notes": [],
        "issues": [
            {
                "id": linear.fake.data.issue("ENG-111")["id"],
                "identifier": "ENG-111",
                "title": "Test the session cookie in all browsers",
                "url": "https://linear.app/acme/issue/ENG-111/test-the-session-cookie-in-all-browsers",
                "state": {"name": "Todo", "type": "unstarted"},
                "priority": "High",
                "team": {"id": linear.fake.data.teams["ENG"]["id"], "key": "ENG", "name": "Engineering"},
                "assignee": {"id": linear.fake.data.users["ada"]["id"], "name": "Ada Lovelace"},
                "project": {"id": linear.fake.data.projects[0]["id"], "name": "Checkout 2.0"},
                "parent": "ENG-101",
                "cycle": {"number": 42},
                "labels": ["Web"],
                "createdAt": "2026-11-04T12:00:00.000Z",
                "updatedAt": "2026-11-18T11:58:24.000Z",
            }
        ],
    }


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"team": "des"}, ["DES-21", "DES-22", "DES-23"]),
        ({"team": "Design", "state": "started"}, ["DES-21"]),
        ({"team": "Design", "state": "closed"}, ["DES-22"]),
        ({"assignee": "hedy@acme.example", "state": "open"}, ["DES-21"]),
        ({"assignee": "nobody", "team": "DES"}, ["DES-23"]),
        ({"project": "SOC 2 readiness", "state": "In review"}, ["ENG-104"]),
        ({"label": "bug", "priority": "urgent", "state": "Todo"}, ["ENG-106"]),
        ({"cycle": "current", "assignee": "Grace Hopper"}, ["ENG-102"]),
        ({"cycle": 42, "label": "Feature"}, ["ENG-102"]),
        ({"parentId": "ENG-101"}, ["ENG-111", "ENG-112"]),
        ({"updatedSince": "2026-11-18", "team": "ENG"}, ["ENG-101", "ENG-109", "ENG-111"]),
        ({"createdSince": "15d", "priority": 1, "assignee": "ada"}, ["ENG-101", "ENG-112"]),
        ({"query": "cookie", "state": "open"}, ["ENG-101", "ENG-111"]),
        ({"query": "cookie", "includeComments": True, "project": "Checkout 2.0"}, ["ENG-101", "ENG-111"]),
    ],
)
def test_filters_accept_names_of_objects(linear: Linear, args: dict[str, object], expected: list[str]) -> None:
    tool = SEARCH if "query" in args else ISSUES
    assert sorted(linear.identifiers(tool, **args)) == expected


def test_archived_issues_are_listed_only_on_request(linear: Linear) -> None:
    linear.fake.data.issue("DES-23")["archivedAt"] = "2026-11-01T00:00:00.000Z"
    assert linear.identifiers(team="DES", state="backlog") == []
    assert linear.identifiers(team="DES", state="backlog", includeArchived="true") == ["DES-23"]


def test_issues_are_ordered_by_change_or_by_creation(linear: Linear) -> None:
    linear.fake.data.issue("ENG-110")["createdAt"] = "2026-11-18T12:00:00.000Z"
    assert linear.identifiers(first=1) == ["ENG-101"]
    assert linear.identifiers(first=1, orderBy="createdAt") == ["ENG-110"]


@each_read
def test_an_expired_token_is_renewed(linear: Linear, tool: str, args: dict[str, object]) -> None:
    linear.tenant.expire_tokens()
    linear.tools.result(tool, **args)
    assert linear.tenant.counts["refreshes"] == 1


def test_a_token_that_expires_during_a_call_is_renewed(linear: Linear) -> None:
    linear.fake.after_next(linear.tenant.expire_tokens)
    result = linear.tools.result(ISSUES, team="Enginering", state="open")
    assert result["notes"][0].startswith("There is no team `Enginering`")
    assert linear.tenant.counts["refreshes"] == 1


def test_a_single_failure_is_retried(linear: Linear) -> None:
    linear.tenant.inject_fault("api", Fault("close", after=True), times=len(READS))
    assert [called["isError"] for called in linear.tools.call_concurrently(READS).values()] == [False] * len(READS)
    assert len(linear.queries_sent()) == 2 * len(READS)


def test_a_short_rate_limit_is_waited_out(linear: Linear) -> None:
    linear.fake.rate_limit("Endpoint-Requests", seconds=0)
    assert linear.identifiers(SEARCH, query="loop") == ["ENG-108"]
    assert len(linear.queries_sent()) == 2


def test_a_long_rate_limit_is_reported_with_its_seconds(linear: Linear) -> None:
    linear.fake.rate_limit("Complexity", seconds=1200)
    result = linear.tools.failure(TEAMS, "rate_limited")
    assert 1190 < result["error"]["retryAfter"] < 1210
    assert len(linear.queries_sent()) == 1


def test_at_most_thirty_searches_a_minute_are_accepted(linear: Linear) -> None:
    linear.tools.change(timeoutSeconds=2)
    assert {linear.tools.call(SEARCH, query="loop")["isError"] for _ in range(30)} == {False}
    result = linear.tools.failure(SEARCH, "rate_limited", query="loop")
    assert 50 < result["error"]["retryAfter"] < 70


def test_a_partial_response_is_returned_with_its_errors(linear: Linear) -> None:
    linear.fake.broken = {"Issue.project": "Projects are being moved.", "Issue.cycle": "Cycles are off."}
    result = linear.tools.result(ISSUES, team="DES", orderBy="createdAt")
    assert [issue["identifier"] for issue in result["issues"]] == ["DES-21", "DES-22", "DES-23"]
    assert result["notes"] == [
        "Linear did not return `project`: Projects are being moved. (3 times)",
        "Linear did not return `cycle`: Cycles are off. (3 times)",
    ]


def test_a_response_with_errors_and_no_data_is_a_failure(linear: Linear) -> None:
    linear.tools.change(timeoutSeconds=2)
    linear.fake.broken = {"Issue.labels": "Labels are not available."}
    result = linear.tools.failure(ISSUE, "upstream_unavailable", issueId="ENG-101")
    assert "Labels are not available" in result["text"]


@each_read
@pytest.mark.parametrize(
    "body",
    [
        '{"data": {}}',
        '{"data": {"teams": null, "projects": 5, "issues": [], "issue": null, "searchIssues": {}}}',
        '{"data": {"issue": {"comments": {"edges": [{"cursor": "a", "node": {}}], "pageInfo": {"hasNextPage": 0}}}}}',
        '{"data": {"issue": {"comments": {"edges": [], "pageInfo": {"hasNextPage": 0}}, "children": {"nodes": 5}}}}',
    ],
)
def test_a_response_that_violates_the_schema_is_reported(
    linear: Linear, tool: str, args: dict[str, object], body: str
) -> None:
    linear.tenant.inject_fault("api", Fault("text", body=body))
    result = linear.tools.failure(tool, "upstream_unavailable", **args)
    assert result["text"] == "Error: Linear's response does not match its schema. Try again later."


def test_a_response_that_is_too_large_is_requested_in_smaller_pages(linear: Linear) -> None:
    linear.fake.data.add_many(60, description="x" * 200_000)
    result = linear.tools.result(SEARCH, query="shelf", first=60)
    assert [item["variables"]["first"] for item in linear.queries_sent()][-1] == 6
    assert len(result["issues"]) == 6
    assert result["total"] == 60
    assert len(linear.all_items(SEARCH, "issues", query="shelf", first=20)) == 60


def test_tools_of_two_linear_servers_with_one_name_stay_distinct(linear: Linear) -> None:
    first, second = linear.tools, linear.tools.another("linear")
    first.enable(first, second)
    both = first.list_tools().keys()
    assert len(both) == 10
    for desk in (first, second):
        assert [team["key"] for team in desk.result(TEAMS)["teams"]] == ["ENG", "DES"]
    first.enable(first)
    assert first.list_tools().keys() == {name for name in both if name.endswith(f"_{first.slug}")}


def test_a_request_contains_only_the_query_and_its_credential(linear: Linear) -> None:
    linear.tools.result(TEAMS)
    seen = linear.tenant.requests_to("api")[-1]
    assert seen.method == "POST"
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["authorization"].startswith("Bearer lin_oauth_")
    assert json.loads(seen.body).keys() == {"query", "variables"}


def test_the_complexity_of_a_query_stays_far_below_linears_limit(linear: Linear) -> None:
    for tool, most in ((TEAMS, 100), (PROJECTS, 100), (ISSUES, 100), (SEARCH, 100)):
        words = {"query": "s"} if tool == SEARCH else {}
        linear.tools.call(tool, first=most, **words)
        linear.tools.call(tool, first=10, full=True, **words)
    linear.tools.call(ISSUE, issueId="ENG-101", first=50, full=True)
    assert max(linear.fake.costs) < 3500
