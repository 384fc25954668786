from typing import Any

import pytest

from integrations.linear.asks import GetIssue, ListIssues, ListProjects, SearchIssues
from integrations.linear.lines import excerpt
from integrations.linear.tools import TOOLS

UUID = "2C98F1BF-abac-551c-8268-36fab7551104"
CLOSED = ["completed", "canceled", "duplicate"]
ASK = {tool.name: tool for tool in TOOLS}


def filtered(**args: Any) -> Any:
    return ListIssues.model_validate(args).variables()["filter"]


def named(word: str, *fields: str) -> dict[str, Any]:
    return {"or": [{field: {"eqIgnoreCase": word}} for field in fields]}


@pytest.mark.parametrize(
    "given",
    [
        "ENG-123",
        "eng-123",
        "ENG 123",
        " ENG-123 ",
        "https://linear.app/acme/issue/ENG-123/some-title",
        "https://linear.app/acme/issue/eng-123",
    ],
)
def test_an_issue_is_understood_however_it_is_named(given: str) -> None:
    assert GetIssue.model_validate({"issueId": given}).variables()["id"] == "ENG-123"


@pytest.mark.parametrize("name", ["issueId", "issue_id", "ISSUE-ID", "id", "issue", "identifier", "key", "url"])
def test_the_name_of_a_parameter_may_be_slightly_wrong(name: str) -> None:
    assert GetIssue.model_validate({name: "ENG-1"}).issue_id == "ENG-1"


def test_an_id_stays_as_it_is() -> None:
    assert GetIssue.model_validate({"issueId": UUID}).variables()["id"] == UUID


@pytest.mark.parametrize("given", ["ENG", "https://linear.app/acme/team/ENG/active", " ENG "])
def test_a_team_is_looked_for_by_key_and_name(given: str) -> None:
    assert filtered(team=given) == {"team": named("ENG", "key", "name")}


def test_an_id_is_looked_for_as_an_id_alone() -> None:
    assert filtered(teamId=UUID, projectId=UUID, assigneeId=UUID, state=UUID) == {
        name: {"id": {"eq": UUID.lower()}} for name in ("team", "project", "assignee", "state")
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("me", {"isMe": {"eq": True}}),
        ("@Me", {"isMe": {"eq": True}}),
        ("null", {"null": True}),
        ("Unassigned", {"null": True}),
        ("@ada", named("ada", "name", "displayName", "email")),
        ("https://linear.app/acme/profiles/ada", named("ada", "name", "displayName", "email")),
    ],
)
def test_an_assignee_is_a_person_nobody_or_the_app(given: str, expected: object) -> None:
    assert filtered(assignee=given) == {"assignee": expected}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("open", {"type": {"nin": CLOSED}}),
        ("Closed", {"type": {"in": CLOSED}}),
        ("started", {"or": [{"type": {"eq": "started"}}, {"name": {"eqIgnoreCase": "started"}}]}),
        ("Cancelled", {"or": [{"type": {"eq": "canceled"}}, {"name": {"eqIgnoreCase": "Cancelled"}}]}),
        ("In Review", {"name": {"eqIgnoreCase": "In Review"}}),
    ],
)
def test_a_state_is_a_kind_or_a_name(given: str, expected: object) -> None:
    assert filtered(status=given) == {"state": expected}


def test_a_project_is_found_by_its_url() -> None:
    url = "https://linear.app/acme/project/checkout-2-0-6374f9d856f7/overview"
    slug = "checkout-2-0-6374f9d856f7"
    by_slug = {"or": [{"slugId": {"eq": "6374f9d856f7"}}, {"name": {"eqIgnoreCase": slug}}]}
    assert filtered(project=url) == {"project": by_slug}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("current", {"isActive": {"eq": True}}),
        ("Next", {"isNext": {"eq": True}}),
        ("none", {"null": True}),
        (42, {"number": {"eq": 42}}),
        ("42", {"number": {"eq": 42}}),
        ("Beta", {"name": {"eqIgnoreCase": "Beta"}}),
    ],
)
def test_a_cycle_is_a_number_a_name_or_a_place_in_time(given: object, expected: object) -> None:
    assert filtered(sprint=given) == {"cycle": expected}


@pytest.mark.parametrize(("given", "expected"), [("high", 2), ("Normal", 3), (1, 1), ("4", 4), (0, 0), ("urgent", 1)])
def test_a_priority_is_a_word_or_a_number(given: object, expected: int) -> None:
    assert filtered(priority=given) == {"priority": {"eq": expected}}


@pytest.mark.parametrize("given", ["5", -1, "very", True, 1.5, [2]])
def test_what_is_no_priority_is_told_so_once(given: object) -> None:
    found = ASK["linear_list_issues"].parsed({"priority": given})
    assert found == ["`priority`: must be one of `none`, `urgent`, `high`, `medium` or `low`."]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-11-01", "2026-11-01"),
        ("2026-11-01T09:00:00Z", "2026-11-01T09:00:00Z"),
        ("7d", "-P7D"),
        ("2 weeks ago", "-P2W"),
        ("36h", "-PT36H"),
        ("P2W", "-P2W"),
        ("-P2W", "-P2W"),
    ],
)
def test_a_time_may_be_how_long_ago(given: str, expected: str) -> None:
    assert filtered(updatedAfter=given) == {"updatedAt": {"gte": expected}}


def test_a_parent_is_found_by_its_identifier() -> None:
    assert filtered(parent="eng-101") == {"parent": {"team": {"key": {"eqIgnoreCase": "ENG"}}, "number": {"eq": 101}}}


def test_what_is_left_empty_was_not_given() -> None:
    assert filtered(teamId="", projectId=None, assigneeId=" ", state="", priority="", updatedSince="", cycle="") is None


def test_all_filters_have_to_hold() -> None:
    found = ListProjects.model_validate({"team": "ENG", "state": "open"}).variables()["filter"]
    team = {"accessibleTeams": {"some": named("ENG", "key", "name")}}
    assert found == {"and": [team, {"status": {"type": {"nin": ["completed", "canceled"]}}}]}


def test_with_full_objects_a_page_is_short() -> None:
    assert ListIssues.model_validate({"full": True, "first": 80}).variables()["first"] == 10
    assert ListIssues.model_validate({"full": True, "first": 3}).variables()["first"] == 3


def test_numbers_as_text_and_other_words_for_paging_are_understood() -> None:
    asked = SearchIssues.model_validate({"q": "safari", "limit": "20", "cursor": "abc"})
    assert asked.variables() | {"term": "safari", "first": 20, "after": "abc"} == asked.variables()


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        (None, "safari", None),
        (" \n ", "safari", None),
        ("Short.", "safari", "Short."),
        ("a\n\nb", "safari", "a b"),
    ],
)
def test_an_excerpt_is_one_line(text: str | None, query: str, expected: str | None) -> None:
    assert excerpt(text, query) == expected


def test_an_excerpt_is_taken_where_the_words_are() -> None:
    found = excerpt("word " * 500 + "the SAFARI is here " + "word " * 500, "is safari")
    assert found is not None
    assert "SAFARI" in found
    assert found.startswith("…")
    assert found.endswith("…")
    assert len(found) <= 242
