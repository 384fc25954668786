"""The list of servers, page by page. Agents are listed by the same code."""

import base64
from typing import Any

import pytest

from tests.harness import Workspace, error_paths


def make(workspace: Workspace, many: int) -> list[dict[str, Any]]:
    return [workspace.make_server(name=f"S{number}") for number in range(many)]


def pages(workspace: Workspace, path: str, limit: int) -> list[list[dict[str, Any]]]:
    """Follows `Link` to the end."""
    result, following = [], f"{path}?limit={limit}"
    while following:
        response = workspace.admin.get(following)
        assert response.status_code == 200, response.text
        result.append(response.json())
        following = response.links["next"]["url"] if "next" in response.links else ""
    return result


def cursor(workspace: Workspace, path: str) -> str:
    """Of the second page."""
    url = workspace.admin.get(f"{path}?limit=1").links["next"]["url"]
    return str(url).partition("cursor=")[2]


def test_servers_are_listed_in_the_order_of_their_creation(any_workspace: Workspace) -> None:
    created = make(any_workspace, 5)
    any_workspace.admin.put(f"{any_workspace.servers}/{created[2]['id']}", json={"name": "AAA"})

    listed = any_workspace.admin.get(any_workspace.servers).json()

    assert [server["id"] for server in listed] == [server["id"] for server in created]
    assert listed[2]["name"] == "AAA"


def test_an_empty_list_is_an_empty_array(any_workspace: Workspace) -> None:
    response = any_workspace.admin.get(any_workspace.servers)

    assert response.json() == []
    assert "Link" not in response.headers


@pytest.mark.parametrize("limit", [1, 3, 7, 8])
def test_paging_lists_every_server_once(any_workspace: Workspace, limit: int) -> None:
    created = make(any_workspace, 7)

    result = pages(any_workspace, any_workspace.servers, limit)

    assert [len(page) for page in result[:-1]] == [limit] * (len(result) - 1)
    assert 0 < len(result[-1]) <= limit
    assert [server for page in result for server in page] == created


def test_a_page_has_fifty_servers_by_default(workspace: Workspace) -> None:
    make(workspace, 51)

    first = workspace.admin.get(workspace.servers)

    assert len(first.json()) == 50
    assert len(workspace.admin.get(first.links["next"]["url"]).json()) == 1
    assert len(workspace.admin.get(workspace.servers, params={"limit": 100}).json()) == 51


def test_a_next_link_keeps_the_query(workspace: Workspace) -> None:
    make(workspace, 3)

    link = workspace.admin.get(workspace.servers, params={"limit": 1}).headers["Link"]

    assert link.startswith(f"<{workspace.servers}?limit=1&cursor=")
    assert link.endswith('>; rel="next"')


def test_changes_between_pages_cause_no_gaps_or_duplicates(any_workspace: Workspace) -> None:
    created = make(any_workspace, 6)
    first = any_workspace.admin.get(any_workspace.servers, params={"limit": 2})
    any_workspace.admin.delete(f"{any_workspace.servers}/{created[1]['id']}")  # where the next page begins
    any_workspace.admin.delete(f"{any_workspace.servers}/{created[3]['id']}")
    new = any_workspace.make_server()

    second = any_workspace.admin.get(first.links["next"]["url"])
    third = any_workspace.admin.get(second.links["next"]["url"])

    assert second.json() == [created[2], created[4]]
    assert third.json() == [created[5], new]
    assert "next" not in third.links


@pytest.mark.requirement("REL-11")
def test_a_cursor_is_valid_for_its_own_list_only(workspace: Workspace) -> None:
    other = workspace.plugboard.make_workspace()
    for item in (workspace, other):
        make(item, 2)
        item.make_agent()
        item.make_agent()
    mine, theirs = cursor(workspace, workspace.servers), cursor(other, other.servers)

    assert workspace.admin.get(workspace.servers, params={"cursor": mine}).status_code == 200
    for path, wrong in (
        (workspace.servers, theirs),
        (workspace.servers, cursor(workspace, workspace.agents)),
        (workspace.servers, cursor(workspace, workspace.audit)),
        (workspace.agents, mine),
        (workspace.audit, mine),
        (workspace.api_keys, mine),
    ):
        response = workspace.admin.get(path, params={"cursor": wrong})
        assert (response.status_code, response.json()["code"]) == (400, "invalid_cursor"), path


@pytest.mark.requirement("REL-11")
def test_a_forged_cursor_is_refused(workspace: Workspace) -> None:
    created = make(workspace, 2)
    good = cursor(workspace, workspace.servers)
    raw = base64.urlsafe_b64decode(good + "=" * (-len(good) % 4))
    forged = [
        *("", " ", "x", "ü", "null", "0" * 700, created[0]["id"], good[:-1], good + "A", good + "=", good.swapcase()),
        base64.urlsafe_b64encode(created[0]["id"].encode()).decode(),
        base64.urlsafe_b64encode(raw[:16] + created[1]["id"].encode()).decode().rstrip("="),
        base64.urlsafe_b64encode(bytes([raw[0] ^ 1]) + raw[1:]).decode().rstrip("="),
    ]

    for item in forged:
        response = workspace.admin.get(workspace.servers, params={"cursor": item})
        assert (response.status_code, response.json()["code"]) == (400, "invalid_cursor"), item


@pytest.mark.parametrize("limit", ["0", "-1", "101", "1000000000000", "", "ten", "1.0", "1e1", "+5", " 5", "٣", "0x5"])
def test_a_page_has_one_to_a_hundred_servers(workspace: Workspace, limit: str) -> None:
    assert error_paths(workspace.admin.get(workspace.servers, params={"limit": limit})) == ["limit"]


def test_only_servers_of_the_workspace_are_listed(workspace: Workspace) -> None:
    other = workspace.plugboard.make_workspace()
    mine, theirs = workspace.make_server(), other.make_server()

    assert workspace.admin.get(workspace.servers).json() == [mine]
    assert other.admin.get(other.servers).json() == [theirs]
