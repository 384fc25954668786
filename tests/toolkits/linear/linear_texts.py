"""The calls of Linear's tools whose texts are approved, and the failures that they meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from demo.services.linear.data import Data, id_of
from demo.services.linear.fake import FakeLinear
from tests.toolkits.contract import Json
from tests.toolkits.linear.connected_linear import ISSUE, ISSUES, PROJECTS, SEARCH, TEAMS, Linear
from tests.toolkits.scenes import ApprovedTexts, Case, Scene, SceneCall, numbered, outlined

Ways = tuple[Json, ...]
LONG = "All work and no play. " * 3000
SECOND: Json = {"issueId": "ENG-101", "descriptionFrom": 12_000}
ALONE: Json = {"issueId": "ENG-102", "first": 1, "after": id_of("comment", "ENG-102", "1")}


def many_issues(data: Data) -> None:
    data.add_many(120, description=LONG)


def a_long_issue(data: Data) -> None:
    issue = data.issue("ENG-101")
    issue["description"] = LONG[:30_000]
    for number in range(60):
        data.comment(issue, "alan", f"{number}: {LONG[:4000]}", number)


def a_long_comment(linear: Linear) -> None:
    """Between two short ones."""
    issue = linear.fake.data.issue("ENG-102")
    for days, text in enumerate(("Yes.", LONG[:9000], "Is that all?")):
        linear.fake.data.comment(issue, "alan", text, days)


def holes(linear: Linear) -> None:
    linear.fake.broken = {"Issue.project": "Projects are being moved.", "Issue.cycle": "Cycles are off."}


def many_teams(data: Data) -> None:
    data.teams["ENG"]["description"] = LONG


def many_projects(data: Data) -> None:
    for project in data.projects:
        project |= {"description": LONG, "content": LONG}


def case(
    tool: str,
    ways: Ways,
    page: Json,
    empty: Ways,
    wrong: Ways,
    huge: Json,
    make_huge: Callable[[Data], None],
    **more: Json | SceneCall,
) -> Case:
    """`more`: what comes at the end, by its title."""
    asks: dict[str, Json | SceneCall] = {
        Scene.MEANT: ways[0],
        **numbered(Scene.OTHERWISE, *ways[1:]),
        Scene.PAGE: SceneCall(page, follow_pages=True),
    }
    asks |= {Scene.EMPTY: empty[0], **numbered(Scene.EMPTY, *empty[1:]), **numbered(Scene.WRONG, *wrong)}
    asks[Scene.HUGE] = SceneCall(huge, lambda linear: make_huge(linear.fake.data), outlined)
    return Case(tool, asks | more)


CASES = (
    case(
        TEAMS,
        ({}, {"query": "des"}, {"name": "https://linear.app/acme/team/ENG/active", "full": True}),
        {"first": 1},
        ({"query": "sales"},),
        ({"first": 0}, {"limit": 500}, {"colour": "red"}),
        {"full": True},
        many_teams,
    ),
    case(
        PROJECTS,
        (
            {},
            {"team": "des", "state": "open"},
            {"query": "checkout", "full": True},
            {"state": ["started", "Runing"]},
        ),
        {"first": 2},
        (
            {"query": "moon"},
            {"teamId": "Sales"},
            {"state": "paused"},
            {"state": "at risk"},
            {"state": "Runing"},
        ),
        ({"first": "many"}, {"includeArchived": "perhaps"}),
        {"full": True},
        many_projects,
    ),
    case(
        ISSUES,
        (
            {"teamId": "ENG", "state": "open"},
            {"assignee": "ada", "status": "Todo"},
            {"project": "soc 2 readiness", "full": True, "first": 1},
            {"label": ["Bug", "Web"]},
            {"state": ["Todo", "Doing"]},
        ),
        {"first": 3, "team_id": "Engineering"},
        (
            {"teamId": "Enginering", "state": "Doing"},
            {"assigneeId": "Gracie", "projectId": "Checkout 3", "label": "Bugs"},
            {"teamId": "DES", "state": "In Progress"},
            {"teamId": "DES", "label": "Mobile"},
            {"assigneeId": "me", "includeArchived": True},
            {"cycle": 99},
            {"parentId": "ENG-999"},
        ),
        (
            {"first": 251},
            {"priority": "very high"},
            {"updatedSince": "last Tuesday"},
            {"after": "no-such-cursor"},
            {"query": "safari", "state": "open"},
        ),
        {"first": 100, "full": True, "state": "Todo", "assignee": "nobody"},
        many_issues,
        **{"Linear has not all of it": SceneCall({"teamId": "DES"}, holes)},
    ),
    case(
        ISSUE,
        (
            {"issueId": "ENG-101"},
            {"id": "https://linear.app/acme/issue/DES-21/new-empty-states", "full": True},
            {"issue": "eng 108", "first": 0},
        ),
        {"issueId": "ENG-101", "first": 2},
        ({"issueId": "ENG-999"}, {"issueId": "OPS-7"}),
        (
            {},
            {"issueId": ""},
            {"issueId": "ENG-101", "first": 51},
            {"issueId": "ENG-101", "descriptionFrom": -1},
            {"issueId": "https://linear.app/acme/project/checkout-2-0-6374f9d856f7"},
        ),
        {"issueId": "ENG-101", "first": 50},
        a_long_issue,
        **{
            f"{Scene.HUGE}: the second part of the description": SceneCall(SECOND, transform=outlined),
            f"{Scene.HUGE}: a long comment": SceneCall({"issueId": "ENG-102"}, a_long_comment, outlined),
            f"{Scene.HUGE}: a long comment, asked for as told": SceneCall(ALONE, transform=outlined),
        },
    ),
    case(
        SEARCH,
        ({"query": "safari"}, {"term": "cookie browsers", "assignee": "Ada Lovelace"}),
        {"query": "s", "first": 4},
        (
            {"query": "zebra"},
            {"query": "zebra", "includeComments": True, "includeArchived": True},
            {"query": "safari", "teamId": "design", "assignee": "me"},
            {"query": "safari", "label": "Bugs"},
        ),
        ({}, {"query": " "}, {"query": "safari", "cycle": ["current"]}),
        {"query": "shelf", "first": 100},
        many_issues,
    ),
)


REFUSALS: Mapping[str, Callable[[FakeLinear], None]] = {
    Scene.BUSY: lambda world: world.rate_limit("Requests", seconds=40),
    f"{Scene.BUSY}: of these": lambda world: world.rate_limit("Endpoint-Requests", seconds=40),
    f"{Scene.BUSY}: some points are left, and too few": lambda world: world.rate_limit("Complexity", seconds=40),
    Scene.RIGHTS: lambda world: world.inject_error("FORBIDDEN", "Your role does not allow this."),
    f"{Scene.RIGHTS}: not in the plan": lambda world: world.inject_error(
        "FEATURE_NOT_ACCESSIBLE", "Not part of the Free plan."
    ),
    "too complex": lambda world: world.inject_error(
        "INPUT_ERROR", "The query is too complex. Complexity: 15500. Maximum allowed complexity: 10000.", status=400
    ),
    "a query that is not taken": lambda world: world.inject_error(
        "GRAPHQL_VALIDATION_FAILED", 'Cannot query field "key" on type "Team".', status=400
    ),
    f"{Scene.DOWN}: trouble of Linear's own": lambda world: world.inject_error(
        "INTERNAL_SERVER_ERROR", "Internal server error", status=500
    ),
    "something that is new": lambda world: world.inject_error("TEAPOT", "I am a teapot.", status=418),
}


def refusing(happens: Callable[[FakeLinear], None]) -> Callable[[Linear, str], None]:
    return lambda linear, _: happens(linear.fake)


TEXTS = ApprovedTexts(
    Linear,
    CASES,
    failures={title: refusing(happens) for title, happens in REFUSALS.items()},
    revoked_title="the app was removed in Linear",
)
