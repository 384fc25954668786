"""What a model reads of each of Linear's tools, whatever comes of it: approved by a person, in snapshots/linear."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.fakes.authorization_server import Fault, Server
from tests.fakes.linear_world import World
from tests.fakes.linear_world_data import Data
from tests.harness import Plugboard
from tests.toolkits.desk import Json
from tests.toolkits.linear_desk import ISSUE, ISSUES, PROJECTS, SEARCH, TEAMS, approved, connected_linear

LONG = "All work and no play. " * 3000


def many_issues(data: Data) -> None:
    data.add_many(120, description=LONG)


def a_long_issue(data: Data) -> None:
    issue = data.issue("ENG-101")
    issue["description"] = LONG[:30_000]
    for number in range(60):
        data.comment(issue, "alan", f"{number}: {LONG[:4000]}", number)


def many_teams(data: Data) -> None:
    data.teams["ENG"]["description"] = LONG


def many_projects(data: Data) -> None:
    for project in data.projects:
        project |= {"description": LONG, "content": LONG}


@dataclass(frozen=True)
class Case:
    tool: str
    ways: tuple[Json, ...]
    """To ask, each with something to tell."""
    paged: tuple[Json, ...]
    empty: tuple[Json, ...]
    wrong: tuple[Json, ...]
    huge: Json
    make_huge: Callable[[Data], None]

    @property
    def usual(self) -> Json:
        return self.ways[0]


CASES = [
    Case(
        TEAMS,
        ({}, {"query": "des"}, {"name": "https://linear.app/acme/team/ENG/active", "full": True}),
        ({"first": 1},),
        ({"query": "sales"},),
        ({"first": 0}, {"limit": 500}, {"colour": "red"}),
        {"full": True},
        many_teams,
    ),
    Case(
        PROJECTS,
        ({}, {"team": "des", "state": "open"}, {"query": "checkout", "full": True}),
        ({"first": 2},),
        ({"query": "moon"}, {"teamId": "Sales"}, {"state": "paused"}),
        ({"first": "many"}, {"includeArchived": "perhaps"}),
        {"full": True},
        many_projects,
    ),
    Case(
        ISSUES,
        (
            {"teamId": "ENG", "state": "open"},
            {"assignee": "ada", "status": "Todo"},
            {"project": "soc 2 readiness", "full": True, "first": 1},
        ),
        ({"first": 3, "team_id": "Engineering"},),
        (
            {"teamId": "Enginering", "state": "Doing"},
            {"assigneeId": "Gracie", "projectId": "Checkout 3", "label": "Bugs"},
            {"teamId": "DES", "state": "In Progress"},
            {"teamId": "DES", "label": "Mobile"},
            {"assigneeId": "me", "includeArchived": True},
        ),
        ({"first": 101}, {"priority": "very high"}, {"updatedSince": "last Tuesday"}, {"after": "no-such-cursor"}),
        {"first": 100, "full": True, "state": "Todo", "assignee": "nobody"},
        many_issues,
    ),
    Case(
        ISSUE,
        (
            {"issueId": "ENG-101"},
            {"id": "https://linear.app/acme/issue/DES-21/new-empty-states", "full": True},
            {"issue": "eng 108", "first": 0},
        ),
        ({"issueId": "ENG-101", "first": 2},),
        ({"issueId": "ENG-999"}, {"issueId": "OPS-7"}),
        ({}, {"issueId": ""}, {"issueId": "ENG-101", "first": 51}, {"issueId": "ENG-101", "descriptionFrom": -1}),
        {"issueId": "ENG-101", "first": 50},
        a_long_issue,
    ),
    Case(
        SEARCH,
        ({"query": "safari"}, {"term": "cookie browsers", "assignee": "Ada Lovelace"}),
        ({"query": "s", "first": 4},),
        ({"query": "zebra"}, {"query": "safari", "teamId": "design", "assignee": "me"}),
        ({}, {"query": " "}, {"query": "safari", "cycle": ["current"]}),
        {"query": "shelf", "first": 100},
        many_issues,
    ),
]
each_tool = pytest.mark.parametrize("case", CASES, ids=[case.tool for case in CASES])


@each_tool
def test_what_is_told_when_all_goes_well(plugboard: Plugboard, provider: Server, case: Case) -> None:
    with connected_linear(plugboard, provider) as linear:
        scenes = {f"asked: {index}": linear.told(case.tool, **args) for index, args in enumerate(case.ways, 1)}
        for args in case.paged:
            page = linear.desk.found(case.tool, **args)
            scenes["a page, with more behind it"] = linear.told(case.tool, **args)
            scenes["the page behind it"] = linear.told(case.tool, **args, after=page["nextCursor"])
        scenes |= {
            f"nothing found: {index}": linear.told(case.tool, **args) for index, args in enumerate(case.empty, 1)
        }

        approved(case.tool, scenes)


@each_tool
def test_what_is_told_of_a_failure(plugboard: Plugboard, provider: Server, case: Case) -> None:
    scenes = {}
    with connected_linear(plugboard, provider, connect=False) as linear:
        scenes["not connected"] = linear.told(case.tool, **case.usual)
    with connected_linear(plugboard, provider, timeoutSeconds=2) as linear:
        for index, args in enumerate(case.wrong, 1):
            scenes[f"wrong arguments: {index}"] = linear.told(case.tool, **args)
        for title, happens in REFUSALS.items():
            happens(linear.world)
            scenes[title] = linear.told(case.tool, **case.usual)
    for title, fault in FAULTS.items():
        with connected_linear(plugboard, provider, timeoutSeconds=1) as linear:
            linear.tenant.fault("api", fault, times=None)
            scenes[title] = linear.told(case.tool, **case.usual)
            linear.tenant.heal()
    with connected_linear(plugboard, provider) as linear:
        linear.tenant.forget_grants()
        scenes["the app was removed in Linear"] = linear.told(case.tool, **case.usual)

    approved(f"{case.tool}.failures", scenes)


REFUSALS: dict[str, Callable[[World], None]] = {
    "rate limited": lambda world: world.limit("Requests", seconds=40),
    "too many of these": lambda world: world.limit("Endpoint-Requests", seconds=40),
    "missing rights": lambda world: world.refuse("FORBIDDEN", "Your role does not allow this."),
    "not in the plan": lambda world: world.refuse("FEATURE_NOT_ACCESSIBLE", "Not part of the Free plan."),
    "too complex": lambda world: world.refuse(
        "INPUT_ERROR", "The query is too complex. Complexity: 15500. Maximum allowed complexity: 10000.", status=400
    ),
    "a query that is not taken": lambda world: world.refuse(
        "GRAPHQL_VALIDATION_FAILED", 'Cannot query field "key" on type "Team".', status=400
    ),
    "trouble of Linear's own": lambda world: world.refuse("INTERNAL_SERVER_ERROR", "Internal server error", status=500),
    "something that is new": lambda world: world.refuse("TEAPOT", "I am a teapot.", status=418),
}
FAULTS = {
    "down": Fault("down"),
    "slow": Fault("slow", seconds=1.5),
    "cut off": Fault("close"),
    "a page for people": Fault("html"),
    "an answer that is too large": Fault("huge"),
}


@each_tool
def test_a_huge_result_is_told_in_part_and_how_to_get_the_rest(
    plugboard: Plugboard, provider: Server, case: Case
) -> None:
    with connected_linear(plugboard, provider) as linear:
        case.make_huge(linear.world.data)
        called = linear.desk.call(case.tool, **case.huge)
        linear.desk.found(case.tool, **case.huge)

        assert called["isError"] is False
        assert len(called["text"]) < 50_000
        assert "left out. Ask for less" not in called["text"], "nothing is to be cut by others"
        approved(f"{case.tool}.huge", {"": _outline(called["text"])})


def _outline(text: str) -> str:
    """The beginning of each line, and no more than a few of what goes on and on."""
    lines = [line if len(line) < 200 else f"{line[:120]} [… {len(line)} characters]" for line in text.splitlines()]
    middle = [f"[… {len(lines) - 60} lines …]"] if len(lines) > 60 else []
    return "\n".join([*lines[:30], *middle, *lines[-30:]] if middle else lines) + "\n"
