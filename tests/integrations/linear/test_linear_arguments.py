from typing import Any

import pytest

from integrations.linear.params import GetIssue, ListIssues, ListProjects, SearchIssues
from integrations.linear.rendering import excerpt
from integrations.linear.tools import TOOLS

UUID = "2C98F1BF-abac-551c-8268-36fab7551104"
CLOSED = ["completed", "canceled", "duplicate"]
ASK = {tool.name: tool for tool in TOOLS}


def filtered(**args: Any) -> Any:
    return ListIssues.model_validate(args).variables()["filter"]


def named(word: str, *fields: str) -> dict[str, Any]:
    return {"or": [{field: {"eqIgnoreCase": word}} for field in fields]}


@pytest.mark.parametrize(
    "value",
    [
        "ENG-123",
        "eng-123",
        "ENG 123",
        "eng123",
        "#ENG-123",
        " ENG-123 ",
        "https://linear.app/acme/issue/ENG-123/some-title",
        "https://linear.app/acme/issue/eng-123",
    ],
)
def test_an_issue_is_parsed_in_every_form(value: str) -> None:
    assert GetIssue.model_validate({"issueId": value}).variables()["id"] == "ENG-123"


@pytest.mark.parametrize("name", ["issueId", "issue_id", "ISSUE-ID", "id", "issue", "identifier", "key", "url"])
def test_the_name_of_a_parameter_may_be_slightly_wrong(name: str) -> None:
    assert GetIssue.model_validate({name: "ENG-1"}).issue_id == "ENG-1"


def test_an_id_is_unchanged() -> None:
    assert GetIssue.model_validate({"issueId": UUID}).variables()["id"] == UUID


@pytest.mark.parametrize("value", ["ENG", "https://linear.app/acme/team/ENG/active", " ENG "])
def test_a_team_is_looked_for_by_key_and_name(value: str) -> None:
    assert filtered(team=value) == {"team": named("ENG", "key", "name")}


def test_an_id_is_looked_for_as_an_id_alone() -> None:
    assert filtered(teamId=UUID, projectId=UUID, assigneeId=UUID, state=UUID) == {
        name: {"id": {"eq": UUID.lower()}} for name in ("team", "project", "assignee", "state")
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("me", {"isMe": {"eq": True}}),
        ("@Me", {"isMe": {"eq": True}}),
        ("null", {"null": True}),
        ("Unassigned", {"null": True}),
        ("@ada", named("ada", "name", "displayName", "email")),
        ("https://linear.app/acme/profiles/ada", named("ada", "name", "displayName", "email")),
    ],
)
def test_an_assignee_is_a_user_none_or_the_app(value: str, expected: object) -> None:
    assert filtered(assignee=value) == {"assignee": expected}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("open", {"type": {"nin": CLOSED}}),
        ("Closed", {"type": {"in": CLOSED}}),
        ("started", {"or": [{"type": {"eq": "started"}}, {"name": {"eqIgnoreCase": "started"}}]}),
        ("Cancelled", {"or": [{"type": {"eq": "canceled"}}, {"name": {"eqIgnoreCase": "Cancelled"}}]}),
        ("In Review", {"name": {"eqIgnoreCase": "In Review"}}),
        (["In Review"], {"name": {"eqIgnoreCase": "In Review"}}),
        (["open", "In Review"], {"or": [{"type": {"nin": CLOSED}}, {"name": {"eqIgnoreCase": "In Review"}}]}),
    ],
)
def test_a_state_is_a_kind_or_a_name(value: object, expected: object) -> None:
    assert filtered(status=value) == {"state": expected}


@pytest.mark.parametrize("value", ["Bug", ["Bug"]])
def test_a_label_may_be_a_list_of_one(value: object) -> None:
    assert filtered(labels=value) == {"labels": {"some": {"name": {"eqIgnoreCase": "Bug"}}}}


def test_an_issue_must_have_all_labels() -> None:
    each = [{"labels": {"some": {"name": {"eqIgnoreCase": name}}}} for name in ("Bug", "Web")]
    assert filtered(labelIds=["Bug", "Web"]) == {"and": each}


def test_too_many_words_are_refused() -> None:
    result = ASK["linear_list_issues"].parse({"state": [f"state {number}" for number in range(11)]})
    assert result == ["`state`: must have 10 entries at most."]


def test_a_list_of_one_is_accepted_for_a_single_value() -> None:
    assert filtered(teamIds=["ENG"], cycle=["current"]) == {
        "team": named("ENG", "key", "name"),
        "cycle": {"isActive": {"eq": True}},
    }


def test_words_in_a_list_refer_to_the_search_tool() -> None:
    result = ASK["linear_list_issues"].parse({"query": "safari", "teamId": "ENG"})
    assert result == ["To search for words, use `linear_search_issues`, which takes the same filters."]
    assert not isinstance(ASK["linear_list_issues"].parse({"query": None}), list)


def test_list_teams_accepts_every_name_of_its_query() -> None:
    params = ASK["linear_list_teams"].parse({"team": "ENG"})
    assert params == ASK["linear_list_teams"].parse({"query": "ENG"})


@pytest.mark.parametrize(
    ("value", "expected"), [("created", "createdAt"), ("updated_at", "updatedAt"), ("createdAt", "createdAt")]
)
def test_an_order_is_parsed_by_its_beginning(value: str, expected: str) -> None:
    assert ListIssues.model_validate({"orderBy": value}).order_by == expected


def test_a_page_is_as_long_as_it_can_be() -> None:
    assert ListIssues.model_validate({"first": 250}).variables()["first"] == 100
    assert ASK["linear_list_issues"].parse({"first": 251}) == ["`first`: must be 250 at most."]


@pytest.mark.parametrize(("tool", "name"), [("linear_get_issue", "issueId"), ("linear_list_issues", "parentId")])
def test_a_link_to_a_project_is_not_an_issue(tool: str, name: str) -> None:
    result = ASK[tool].parse({name: "https://linear.app/acme/project/checkout-2-0-6374f9d856f7"})
    assert result == [f"`{name}`: must be an issue such as ENG-123; this is a link to a project."]


def test_an_invalid_time_is_refused_with_valid_forms() -> None:
    result = ASK["linear_list_issues"].parse({"updatedSince": "yesterday"})
    assert isinstance(result, list)
    assert result[0].startswith("`updatedSince`: must be a date such as 2026-11-01")
    assert "such as 24h or 7d" in result[0]


@pytest.mark.parametrize("value", ["1m", "10M", "10m ago"])
def test_an_ambiguous_m_is_refused(value: str) -> None:
    result = ASK["linear_list_issues"].parse({"updatedSince": value})
    assert isinstance(result, list)
    assert result[0].startswith("`updatedSince`: must not use `m`")


def test_a_link_to_another_site_is_not_parsed() -> None:
    assert filtered(team="https://evillinear.app/acme/team/ENG") != filtered(team="ENG")


def test_a_project_is_found_by_its_url() -> None:
    url = "https://linear.app/acme/project/checkout-2-0-6374f9d856f7/overview"
    slug = "checkout-2-0-6374f9d856f7"
    by_slug = {"or": [{"slugId": {"eq": "6374f9d856f7"}}, {"name": {"eqIgnoreCase": slug}}]}
    assert filtered(project=url) == {"project": by_slug}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("current", {"isActive": {"eq": True}}),
        ("Next", {"isNext": {"eq": True}}),
        ("none", {"null": True}),
        (42, {"number": {"eq": 42}}),
        ("42", {"number": {"eq": 42}}),
        ("Beta", {"name": {"eqIgnoreCase": "Beta"}}),
    ],
)
def test_a_cycle_is_a_number_a_name_or_a_place_in_time(value: object, expected: object) -> None:
    assert filtered(sprint=value) == {"cycle": expected}


@pytest.mark.parametrize(
    ("value", "expected"), [("high", 2), ("Normal", 3), (1, 1), ("4", 4), (0, 0), ("urgent", 1), ([2], 2)]
)
def test_a_priority_is_a_word_or_a_number(value: object, expected: int) -> None:
    assert filtered(priority=value) == {"priority": {"eq": expected}}


@pytest.mark.parametrize("value", ["5", -1, "very", True, 1.5, [2, 3], "9" * 400, 10**400, "٣"])
def test_an_invalid_priority_is_reported_once(value: object) -> None:
    result = ASK["linear_list_issues"].parse({"priority": value})
    assert result == ["`priority`: must be one of `none`, `urgent`, `high`, `medium` or `low`."]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-11-01", "2026-11-01"),
        ("2026-11-01T09:00:00Z", "2026-11-01T09:00:00Z"),
        ("7d", "-P7D"),
        ("2 weeks ago", "-P2W"),
        ("a week ago", "-P1W"),
        ("2 months", "-P2M"),
        ("36h", "-PT36H"),
        ("P2W", "-P2W"),
        ("last week", "-P1W"),
        ("the past month", "-P1M"),
        ("-P2W", "-P2W"),
    ],
)
def test_a_time_may_be_a_duration(value: str, expected: str) -> None:
    assert filtered(updatedAfter=value) == {"updatedAt": {"gte": expected}}


def test_a_parent_is_found_by_its_identifier() -> None:
    assert filtered(parent="eng-101") == {"parent": {"team": {"key": {"eqIgnoreCase": "ENG"}}, "number": {"eq": 101}}}


def test_empty_arguments_are_absent() -> None:
    assert filtered(teamId="", projectId=None, assigneeId=" ", state="", priority="", updatedSince="", cycle="") is None


def test_filters_are_combined() -> None:
    result = ListProjects.model_validate({"team": "ENG", "state": "open"}).variables()["filter"]
    team = {"accessibleTeams": {"some": named("ENG", "key", "name")}}
    assert result == {"and": [team, {"status": {"type": {"nin": ["completed", "canceled"]}}}]}


def test_with_full_objects_a_page_is_short() -> None:
    assert ListIssues.model_validate({"full": True, "first": 80}).variables()["first"] == 10
    assert ListIssues.model_validate({"full": True, "first": 3}).variables()["first"] == 3


def test_numbers_as_text_and_other_words_for_paging_are_understood() -> None:
    requested = SearchIssues.model_validate({"q": "safari", "limit": "20", "cursor": "abc"})
    assert requested.variables() | {"term": "safari", "first": 20, "after": "abc"} == requested.variables()


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


def test_an_excerpt_is_cut_around_the_search_words() -> None:
    result = excerpt("word " * 500 + "the SAFARI is here " + "word " * 500, "is safari")
    assert result is not None
    assert "SAFARI" in result
    assert result.startswith("…")
    assert result.endswith("…")
    assert len(result) <= 242
