"""`GET /api/me`: what the caller's key is."""

from __future__ import annotations

import pytest

from tests.harness import Workspace


@pytest.mark.parametrize("scope", ["admin", "manage", "read", "invoke"])
def test_a_key_of_a_workspace_sees_what_it_is(any_workspace: Workspace, scope: str) -> None:
    made = any_workspace.make_key(scope, name="CI", expiresAt="2099-01-01T00:00:00Z")

    response = any_workspace.plugboard.caller(made["apiKey"]).get("/api/me")

    assert response.status_code == 200
    assert response.json() == {
        "kind": "api_key",
        "id": made["id"],
        "name": "CI",
        "prefix": f"pb_{made['id'].removeprefix('key_')}",
        "scope": scope,
        "workspaceId": any_workspace.id,
        "agentIds": None,
        "expiresAt": made["expiresAt"],
    }
    assert made["apiKey"].startswith(response.json()["prefix"])


def test_a_key_that_is_limited_to_agents_sees_which(workspace: Workspace) -> None:
    agents = sorted(workspace.make_agent()["id"] for _ in range(2))

    caller = workspace.caller("invoke", agentIds=agents[::-1])

    assert caller.get("/api/me").json()["agentIds"] == agents


def test_an_operator_key_belongs_to_no_workspace(workspace: Workspace) -> None:
    shown = workspace.plugboard.operator.get("/api/me").json()

    assert (shown["kind"], shown["scope"]) == ("operator", "operator")
    assert (shown["workspaceId"], shown["agentIds"], shown["expiresAt"]) == (None, None, None)
    assert workspace.plugboard.operator_key.startswith(shown["prefix"])


def test_nothing_secret_is_shown(workspace: Workspace) -> None:
    text = workspace.admin.get("/api/me").text

    assert workspace.key.rpartition("_")[2] not in text
    assert "hash" not in text
    assert "pepper" not in text


def test_a_revoked_key_is_nothing(workspace: Workspace) -> None:
    made = workspace.make_key("read")
    caller = workspace.plugboard.caller(made["apiKey"])
    assert caller.get("/api/me").status_code == 200

    workspace.admin.delete(f"{workspace.api_keys}/{made['id']}")

    assert caller.get("/api/me").status_code == 401
    assert workspace.plugboard.caller().get("/api/me").status_code == 401
