from urllib.parse import parse_qs, urlsplit

import pytest

from api.kit.storage.store import PAGE_BYTES
from tests.harness import Plugboard, Workspace
from tests.http.operations_on_workspace import OPERATIONS, Operation, PopulatedWorkspace, assert_problem

LISTS = [
    operation
    for operation in OPERATIONS
    if "cursor" in {part["name"] for part in operation.described.get("parameters", [])}
]


def test_pages_follow_each_other_to_the_end(any_workspace: Workspace) -> None:
    created = [any_workspace.make_agent(name=f"Agent {number}") for number in range(7)]

    pages, path = [], f"{any_workspace.agents}?limit=3"
    while path:
        response = any_workspace.admin.get(path)
        pages.append(response.json())
        path = response.links["next"]["url"] if "next" in response.links else None

    assert [len(page) for page in pages] == [3, 3, 1]
    assert [agent for page in pages for agent in page] == created


def test_a_page_with_exactly_the_rest_is_the_last(workspace: Workspace) -> None:
    workspace.make_agent(), workspace.make_agent()

    assert "Link" not in workspace.admin.get(f"{workspace.agents}?limit=2").headers


def test_an_empty_list_is_an_empty_array(workspace: Workspace) -> None:
    response = workspace.admin.get(workspace.agents)

    assert (response.json(), "Link" in response.headers) == ([], False)


def test_an_item_created_between_two_pages_appears_in_order(workspace: Workspace) -> None:
    first, second = workspace.make_agent(), workspace.make_agent()
    page = workspace.admin.get(f"{workspace.agents}?limit=1")
    third = workspace.make_agent()

    rest = workspace.admin.get(page.links["next"]["url"].replace("limit=1", "limit=100")).json()

    assert page.json() == [first]
    assert rest == [second, third]


def test_a_page_continues_after_a_deleted_item(workspace: Workspace) -> None:
    first, second = workspace.make_agent(), workspace.make_agent()
    page = workspace.admin.get(f"{workspace.agents}?limit=1")
    workspace.admin.delete(f"{workspace.agents}/{first['id']}")

    assert workspace.admin.get(page.links["next"]["url"]).json() == [second]


def test_the_next_page_keeps_the_requested_limit(workspace: Workspace) -> None:
    workspace.make_agent(), workspace.make_agent()

    url = workspace.admin.get(f"{workspace.agents}?limit=1&q=support").links["next"]["url"]

    assert parse_qs(urlsplit(url).query, strict_parsing=True).keys() == {"limit", "q", "cursor"}
    assert "limit=1" in url


def cursor_of(workspace: Workspace, path: str) -> str:
    return str(workspace.admin.get(f"{path}?limit=1").links["next"]["url"]).rpartition("cursor=")[2]


def test_a_cursor_is_valid_for_its_own_list_only(plugboard: Plugboard) -> None:
    mine, other = plugboard.make_workspace(), plugboard.make_workspace()
    mine.make_agent(), mine.make_agent()
    cursor = cursor_of(mine, mine.agents)

    assert mine.admin.get(f"{mine.agents}?cursor={cursor}").status_code == 200
    assert_problem(mine.admin.get(f"{mine.servers}?cursor={cursor}"), 400, "invalid_cursor")
    assert_problem(other.admin.get(f"{other.agents}?cursor={cursor}"), 400, "invalid_cursor")


def test_a_cursor_with_any_letter_changed_is_refused(workspace: Workspace) -> None:
    workspace.make_agent(), workspace.make_agent()
    cursor = cursor_of(workspace, workspace.agents)

    for position in range(len(cursor)):
        letter = "A" if cursor[position] != "A" else "B"
        forged = cursor[:position] + letter + cursor[position + 1 :]
        assert_problem(workspace.admin.get(f"{workspace.agents}?cursor={forged}"), 400, "invalid_cursor")
    for forged in (cursor[:-1], cursor + "A", cursor + "=", cursor + "%3D%3D", cursor.swapcase()):
        assert_problem(workspace.admin.get(f"{workspace.agents}?cursor={forged}"), 400, "invalid_cursor")


@pytest.mark.parametrize("operation", LISTS, ids=str)
@pytest.mark.parametrize("limit", ["1", "100"])
def test_a_limit_from_1_to_100_is_accepted(world: PopulatedWorkspace, operation: Operation, limit: str) -> None:
    response = world.workspace.admin.get(f"{world.path(operation)}?limit={limit}")

    if operation.path == "/api/workspaces":
        response = world.workspace.plugboard.operator.get(f"{operation.path}?limit={limit}")
    assert response.status_code == 200
    assert len(response.json()) <= int(limit)


def test_a_page_has_50_entries_by_default(workspace: Workspace) -> None:
    for number in range(51):
        workspace.make_agent(name=f"Agent {number}")

    response = workspace.admin.get(workspace.agents)

    assert (len(response.json()), "next" in response.links) == (50, True)


def test_a_page_of_large_agents_ends_early_and_has_a_next(any_workspace: Workspace) -> None:
    """All of a hundred large agents would take megabytes and hold up others."""
    servers = [any_workspace.make_server()["id"] for _ in range(6)]
    rules = {server: [f"{number:03}".rjust(100, "x") for number in range(500)] for server in servers}
    created = [
        any_workspace.make_agent(enabledMcpServerIds=servers, enabledMcpServerToolNames=rules)["id"] for _ in range(8)
    ]

    for filters in ("", "&q=support"):
        pages, path = [], f"{any_workspace.agents}?limit=100{filters}"
        while path:
            response = any_workspace.admin.get(path)
            assert len(response.content) < PAGE_BYTES + len(response.content) / max(len(response.json()), 1)
            pages.append([agent["id"] for agent in response.json()])
            path = response.links["next"]["url"] if "next" in response.links else None

        assert len(pages) > 2
        assert [agent for page in pages for agent in page] == created
