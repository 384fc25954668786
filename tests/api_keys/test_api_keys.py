from __future__ import annotations

import re
from typing import Any

import pytest

from tests.harness import Workspace, error_paths

FOREVER = {"expiresAt": None, "agentIds": None, "lastUsedAt": None}


def test_a_key_is_shown_once(any_workspace: Workspace) -> None:
    response = any_workspace.admin.post(any_workspace.api_keys, json={"name": "CI", "scope": "manage"})

    assert response.status_code == 201
    created = response.json()
    admin = any_workspace.admin.get(any_workspace.api_keys).json()
    own = next(key for key in admin if key["id"] != created["id"])
    assert response.headers["Location"] == f"{any_workspace.api_keys}/{created['id']}"
    assert response.headers["ETag"] == '"1"'
    assert created == FOREVER | {
        "id": created["id"],
        "name": "CI",
        "scope": "manage",
        "createdAt": created["createdAt"],
        "createdBy": own["id"],
        "version": 1,
        "apiKey": created["apiKey"],
    }
    listed = [{**key, "lastUsedAt": None} for key in admin if key["id"] == created["id"]]
    assert listed == [{name: value for name, value in created.items() if name != "apiKey"}]


@pytest.mark.requirement("ENC-17")
def test_no_list_shows_a_key(workspace: Workspace) -> None:
    api_key = workspace.make_key("invoke")
    listed = workspace.admin.get(workspace.api_keys)

    assert api_key["id"] in listed.text
    assert not re.search(r"pb_|apiKey|hash|pepper", listed.text)


def test_the_first_key_was_created_by_the_operator(workspace: Workspace) -> None:
    (first,) = workspace.admin.get(workspace.api_keys).json()

    assert (first["scope"], first["name"]) == ("admin", "First admin key")
    assert first["createdBy"].startswith("key_")


@pytest.mark.parametrize("scope", ["admin", "manage", "read", "invoke"])
def test_a_key_has_one_of_four_scopes(workspace: Workspace, scope: str) -> None:
    assert workspace.make_key(scope)["scope"] == scope


@pytest.mark.requirement("AUT-06")
@pytest.mark.parametrize("scope", ["operator", "Admin", "", None, ["admin"], "read write"])
def test_an_unknown_scope_is_refused(workspace: Workspace, scope: object) -> None:
    response = workspace.admin.post(workspace.api_keys, json={"name": "x", "scope": scope})

    assert error_paths(response) == ["scope"]


def test_an_invoke_key_may_be_limited_to_agents(workspace: Workspace) -> None:
    agents = [workspace.make_agent()["id"] for _ in range(2)]

    assert workspace.make_key("invoke", agentIds=agents)["agentIds"] == agents


@pytest.mark.parametrize("scope", ["admin", "manage", "read"])
def test_only_invoke_keys_are_limited_to_agents(workspace: Workspace, scope: str) -> None:
    agent = workspace.make_agent()["id"]
    response = workspace.admin.post(workspace.api_keys, json={"name": "x", "scope": scope, "agentIds": [agent]})

    assert response.status_code == 422
    assert "Only a key with scope `invoke` can be limited to agents." in response.text


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"agentIds": []}, "agentIds"),
        ({"agentIds": ["agent_x"]}, "agentIds.0"),
        ({"agentIds": "agent_x"}, "agentIds"),
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"name": None}, "name"),
        ({"apiKey": "pb_mine"}, "apiKey"),
        ({"id": "key_mine"}, "id"),
        ({"expiresAt": "tomorrow"}, "expiresAt"),
        ({"expiresAt": "2030-01-01"}, "expiresAt"),
        ({"expiresAt": "2030-01-01T00:00:00"}, "expiresAt"),
        ({"expiresAt": "2030-02-30T00:00:00Z"}, "expiresAt"),
        ({"expiresAt": "2030-01-01T24:00:00Z"}, "expiresAt"),
        ({"expiresAt": "2030-01-01T00:00:00+25:00"}, "expiresAt"),
        ({"expiresAt": "٢٠٣٠-01-01T00:00:00Z"}, "expiresAt"),
        ({"expiresAt": 1_900_000_000}, "expiresAt"),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"),
    ],
)
def test_an_invalid_key_draft_is_refused_by_field(workspace: Workspace, changed: dict[str, Any], path: str) -> None:
    response = workspace.admin.post(workspace.api_keys, json={"name": "x", "scope": "invoke"} | changed)

    assert error_paths(response) == [path]
    assert len(workspace.admin.get(workspace.api_keys).json()) == 1


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "0999-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00"]
)
def test_every_accepted_time_can_be_returned(workspace: Workspace, time: str) -> None:
    response = workspace.admin.post(workspace.api_keys, json={"name": "x", "scope": "read", "expiresAt": time})

    assert response.status_code in {201, 422}
    if response.status_code == 201:
        assert re.fullmatch(r"\d{4}-.*Z", response.json()["expiresAt"])


def test_keys_are_paged(workspace: Workspace) -> None:
    created = {workspace.make_key("read")["id"] for _ in range(5)}
    results: list[str] = []
    url: str | None = f"{workspace.api_keys}?limit=2"
    while url:
        response = workspace.admin.get(url)
        results += [key["id"] for key in response.json()]
        link = response.headers.get("Link")
        url = link.partition("<")[2].partition(">")[0] if link else None

    assert len(results) == len(set(results)) == 6
    assert created < set(results)


def test_a_stale_revocation_is_refused(any_workspace: Workspace) -> None:
    path = f"{any_workspace.api_keys}/{any_workspace.make_key('read')['id']}"

    assert any_workspace.admin.delete(path, headers={"If-Match": '"2"'}).status_code == 412
    gone = any_workspace.admin.delete(path, headers={"If-Match": '"2", "1"'})
    assert (gone.status_code, gone.content) == (204, b"")
    assert path.rpartition("/")[2] not in any_workspace.admin.get(any_workspace.api_keys).text


def test_the_location_of_a_new_key_answers_without_the_key(any_workspace: Workspace) -> None:
    created = any_workspace.admin.post(any_workspace.api_keys, json={"name": "CI", "scope": "manage"})

    shown = any_workspace.admin.get(created.headers["Location"])

    assert (shown.status_code, shown.headers["ETag"]) == (200, '"1"')
    assert shown.json() == {name: value for name, value in created.json().items() if name != "apiKey"}
    assert created.json()["apiKey"] not in shown.text


def test_a_key_of_another_workspace_is_not_found(workspace: Workspace) -> None:
    foreign = workspace.plugboard.make_workspace().make_key("read")
    unknown = f"{workspace.api_keys}/key_00000000000000000000"

    answers = [workspace.admin.get(path) for path in (f"{workspace.api_keys}/{foreign['id']}", unknown)]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json() == answers[1].json()
