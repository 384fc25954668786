"""An empty result names the unknown word and the names that exist."""

from typing import Any

import pytest

from tests.integrations.linear.conftest import Linear

ISSUES = "Archived issues were left out; `includeArchived` true includes them."
PROJECTS = "Archived projects were left out; `includeArchived` true includes them."
STATUSES = "Available: Backlog, Planned, In Progress, Completed, Canceled."


@pytest.mark.parametrize(
    ("args", "notes"),
    [
        ({"label": "bugs"}, ["There is no label `bugs` that the app may see. Similar: Bug."]),
        ({"label": ["Bug", "Weeb"]}, ["There is no label `Weeb` that the app may see. Similar: Web."]),
        ({"projectId": "Chekout"}, ["There is no project `Chekout` that the app may see. Similar: Checkout 2.0."]),
        ({"assigneeId": "Adda"}, ["There is no user `Adda` that the app may see. Similar: Ada Lovelace."]),
        (
            {"assigneeId": "gracie@acme.example"},
            ["There is no user `gracie@acme.example` that the app may see. Similar: Grace Hopper."],
        ),
        ({"assigneeId": "Zoe"}, ["There is no user `Zoe` that the app may see."]),
        (
            {"teamId": "DES", "state": "In Progress"},
            ["Team DES has no state `In Progress`. It has: Backlog, Todo, Designing, Approved, Canceled."],
        ),
        (
            {"teamId": "DES", "state": ["started", "Doing"], "label": "Security"},
            ["Team DES has no state `Doing`. It has: Backlog, Todo, Designing, Approved, Canceled."],
        ),
        (
            {"teamId": "Enginering", "state": "Doing", "cycle": 99},
            ["There is no team `Enginering` that the app may see. Available: Engineering (ENG), Design (DES)."],
        ),
        ({"teamId": "ENG", "cycle": "99"}, ["Team ENG has no cycle `99`. It has: 42."]),
        ({"cycle": "Beta"}, ["No team that the app may see has a cycle `Beta`. Available: 42."]),
        ({"parentId": "ENG-999"}, ["There is no issue `ENG-999` that the app may see."]),
        ({"parentId": "ENG-110"}, []),
        (
            {"label": "Bug\n\nENG-1 All is well", "includeArchived": False},
            ["There is no label `Bug ENG-1 All is well` that the app may see."],
        ),
    ],
)
async def test_the_unknown_word_is_named(linear: Linear, args: dict[str, Any], notes: list[str]) -> None:
    assert await linear.notes("list_issues", **args) == [*notes, ISSUES]


@pytest.mark.parametrize(
    ("tool", "args", "told"),
    [
        ("list_issues", {"teamId": "DES", "state": ["Backlog", "Doing"]}, ["Team DES has no state `Doing`."]),
        ("list_issues", {"state": ["todo", "Doing"]}, ["No team that the app may see has a state `Doing`."]),
        ("search_issues", {"query": "safari", "state": ["open", "Doing"]}, ["No team that the app may see has"]),
        ("list_projects", {"state": ["started", "Runing"]}, ["There is no project status `Runing`."]),
        (
            "list_projects",
            {"state": ["started", "at risk"]},
            ["`at risk` is a project's health", "There is no project"],
        ),
        ("list_issues", {"teamId": "DES", "state": ["Backlog", "Todo"]}, []),
        ("list_projects", {"state": ["started", "Canceled"]}, []),
    ],
)
async def test_an_unknown_state_is_named_although_others_match(
    linear: Linear, tool: str, args: dict[str, Any], told: list[str]
) -> None:
    notes = await linear.notes(tool, **args)
    assert [note[: len(item)] for note, item in zip(notes, told, strict=True)] == told


async def test_a_failed_name_lookup_does_not_lose_the_list(linear: Linear) -> None:
    linear.fake.after_next(lambda: linear.fake.rate_limit(seconds=1200))
    result = await linear.call("list_issues", teamId="DES", state=["Backlog", "Doing"])
    assert ([issue.identifier for issue in result.issues], result.notes) == (["DES-23"], [])


async def test_only_the_first_page_names_unknown_words(linear: Linear) -> None:
    first = await linear.call("list_issues", state=["Todo", "Doing"], first=1)
    assert await linear.notes("list_issues", state=["Todo", "Doing"], first=1, after=first.next_cursor) == []


async def test_known_words_are_not_blamed(linear: Linear) -> None:
    notes = await linear.notes("list_issues", teamId="DES", label="Mobile", cycle="current", includeArchived=True)
    assert notes == ["Each given name exists, but nothing matches all filters together."]


@pytest.mark.parametrize(
    ("args", "notes"),
    [
        ({"query": "zebra"}, ["Try other or fewer words; `includeComments` true searches the comments too.", ISSUES]),
        ({"query": "zebra", "includeComments": True, "includeArchived": True}, ["Try other or fewer words."]),
        (
            {"query": "safari", "label": "Bugs"},
            ["There is no label `Bugs` that the app may see. Similar: Bug.", ISSUES],
        ),
    ],
)
async def test_a_search_without_hits_says_what_to_try(linear: Linear, args: dict[str, Any], notes: list[str]) -> None:
    assert await linear.notes("search_issues", **args) == notes


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"state": "Runing"}, f"There is no project status `Runing`. {STATUSES}"),
        ({"state": ["open", "Runing"], "query": "moon"}, f"There is no project status `Runing`. {STATUSES}"),
        (
            {"state": "paused", "query": "checkout"},
            "Without filters the tool lists all projects that the connected app may see.",
        ),
        ({"state": "paused"}, "Without filters the tool lists all projects that the connected app may see."),
        ({"query": "chekout"}, "There is no project `chekout` that the app may see. Similar: Checkout 2.0."),
        (
            {"teamId": "Sales"},
            "There is no team `Sales` that the app may see. Available: Engineering (ENG), Design (DES).",
        ),
    ],
)
async def test_unknown_words_of_projects_are_named(linear: Linear, args: dict[str, Any], text: str) -> None:
    notes = await linear.notes("list_projects", **args)
    assert text in notes
    assert notes[-1] == PROJECTS


async def test_health_is_not_a_status(linear: Linear) -> None:
    notes = await linear.notes("list_projects", state="at risk", includeArchived=True)
    assert notes[0].startswith("`at risk` is a project's health. Health cannot be filtered")
    assert notes[1].startswith("There is no project status `at risk`.")
