from __future__ import annotations

from typing import Any

import pytest

from tests.harness import Plugboard, Workspace, error_paths


def test_an_operator_creates_a_workspace_with_its_first_admin_key(any_plugboard: Plugboard) -> None:
    response = any_plugboard.operator.post("/api/workspaces", json={"name": "Acme 株式会社"})

    assert response.status_code == 201
    created = response.json()
    assert created == {
        "id": created["id"],
        "name": "Acme 株式会社",
        "createdAt": created["createdAt"],
        "updatedAt": created["createdAt"],
        "version": 1,
        "apiKey": created["apiKey"],
    }
    assert response.headers["ETag"] == '"1"'
    assert response.headers["Location"] == f"/api/workspaces/{created['id']}"
    del created["apiKey"]
    admin = any_plugboard.caller(response.json()["apiKey"])
    assert admin.get(response.headers["Location"]).json() == created
    assert created in listed(any_plugboard)


def listed(plugboard: Plugboard, limit: int = 100) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    url: str | None = f"/api/workspaces?limit={limit}"
    while url:
        response = plugboard.operator.get(url)
        assert len(response.json()) <= limit
        results += response.json()
        link = response.headers.get("Link")
        url = link.partition("<")[2].partition(">")[0] if link else None
    return results


def test_workspaces_are_paged(plugboard: Plugboard) -> None:
    created = {plugboard.make_workspace(f"Paged {number}").id for number in range(5)}
    results = [item["id"] for item in listed(plugboard, limit=3)]

    assert created <= set(results)
    assert len(results) == len(set(results))


@pytest.mark.requirement("ENC-17")
def test_the_list_shows_that_workspaces_exist_and_nothing_in_them(workspace: Workspace) -> None:
    workspace.make_server(name="Canary server")
    workspace.make_agent(name="Canary agent")

    (own,) = [item for item in listed(workspace.plugboard) if item["id"] == workspace.id]
    assert own.keys() == {"id", "name", "createdAt", "updatedAt", "version"}


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "x" * 101}, {"name": "\t"}, {"name": 1}])
def test_a_workspace_needs_a_name(plugboard: Plugboard, body: dict[str, Any]) -> None:
    assert error_paths(plugboard.operator.post("/api/workspaces", json=body)) == ["name"]


@pytest.mark.parametrize("field", ["id", "apiKey", "ownerEmail"])
def test_a_workspace_has_no_other_field(plugboard: Plugboard, field: str) -> None:
    body = {"name": "x", field: "mine"}

    assert error_paths(plugboard.operator.post("/api/workspaces", json=body)) == [field]


@pytest.mark.requirement("REL-04")
def test_a_stale_rename_is_refused(any_workspace: Workspace) -> None:
    read = any_workspace.admin.get(any_workspace.path)
    renamed = any_workspace.admin.put(
        any_workspace.path, json={"name": "New"}, headers={"If-Match": read.headers["ETag"]}
    )

    assert renamed.status_code == 200
    assert renamed.json() == read.json() | {"name": "New", "version": 2, "updatedAt": renamed.json()["updatedAt"]}
    assert renamed.headers["ETag"] == '"2"'
    late = any_workspace.admin.put(any_workspace.path, json={"name": "Late"}, headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["code"]) == (412, "stale")
    assert any_workspace.admin.get(any_workspace.path).json() == renamed.json()


def test_an_empty_change_is_accepted(workspace: Workspace) -> None:
    assert workspace.admin.put(workspace.path, json={}).json()["name"] == "Acme"


@pytest.mark.parametrize("body", [{"name": ""}, {"name": None}])
def test_a_name_cannot_be_removed(workspace: Workspace, body: dict[str, Any]) -> None:
    assert error_paths(workspace.admin.put(workspace.path, json=body)) == ["name"]


def test_workspaces_may_have_the_same_name(plugboard: Plugboard) -> None:
    one, two = plugboard.make_workspace("Same"), plugboard.make_workspace("Same")

    assert one.id != two.id
    assert one.admin.get(two.path).status_code == 404
