from typing import Any

import pytest

from tests.harness import Workspace, error_paths


def actions(workspace: Workspace) -> list[tuple[str, str]]:
    """Of the newest hundred, oldest first."""
    body = workspace.admin.get(workspace.audit, params={"limit": 100}).json()
    return [(record["action"], record["target"]["id"]) for record in reversed(body)]


def agents_of(workspace: Workspace, server_id: str, many: int) -> list[dict[str, Any]]:
    return [
        workspace.make_agent(
            name=f"Agent {number}",
            enabledMcpServerIds=[server_id],
            enabledMcpServerToolNames={server_id: ["get_weather"]},
        )
        for number in range(many)
    ]


def test_a_deleted_server_is_not_found(any_workspace: Workspace) -> None:
    server = any_workspace.make_server()

    response = any_workspace.admin.delete(f"{any_workspace.servers}/{server['id']}")

    assert (response.status_code, response.content) == (204, b"")
    assert any_workspace.admin.get(any_workspace.servers).json() == []
    assert actions(any_workspace)[-1] == ("server.deleted", server["id"])


def test_a_server_in_use_is_not_deleted_and_the_error_names_its_agents(any_workspace: Workspace) -> None:
    server = any_workspace.make_server()
    agents = agents_of(any_workspace, server["id"], 2)
    path = f"{any_workspace.servers}/{server['id']}"

    for query in ("", "?detach=false"):
        response = any_workspace.admin.delete(path + query)
        assert (response.status_code, response.json()["code"]) == (409, "in_use")
        assert all(agent["id"] in response.json()["detail"] for agent in agents)
        assert "and more" not in response.json()["detail"]
    assert any_workspace.admin.get(path).json() == server


def test_the_error_names_ten_agents_and_counts_the_others(workspace: Workspace) -> None:
    server = workspace.make_server()
    agents = agents_of(workspace, server["id"], 11)

    detail = workspace.admin.delete(f"{workspace.servers}/{server['id']}").json()["detail"]

    assert sum(agent["id"] in detail for agent in agents) == 10
    assert "and more" in detail


def test_a_server_that_no_agent_enables_can_be_deleted(any_workspace: Workspace) -> None:
    created, other = any_workspace.make_server(), any_workspace.make_server()
    kept, gone = agents_of(any_workspace, created["id"], 2)
    path = f"{any_workspace.servers}/{created['id']}"

    any_workspace.admin.delete(f"{any_workspace.agents}/{gone['id']}")
    assert any_workspace.admin.delete(path).status_code == 409
    any_workspace.admin.put(f"{any_workspace.agents}/{kept['id']}", json={"enabledMcpServerIds": [other["id"]]})

    assert any_workspace.admin.delete(path).status_code == 204


def test_a_server_is_deleted_and_detached_from_its_agents(any_workspace: Workspace) -> None:
    created, other = any_workspace.make_server(), any_workspace.make_server()
    agents = [
        any_workspace.make_agent(
            enabledMcpServerIds=[other["id"], created["id"]],
            enabledMcpServerToolNames={created["id"]: ["a"], other["id"]: ["b"]},
        )
        for _ in range(3)
    ]
    untouched = any_workspace.make_agent(enabledMcpServerIds=[other["id"]])

    response = any_workspace.admin.delete(f"{any_workspace.servers}/{created['id']}", params={"detach": "true"})

    assert response.status_code == 204
    assert any_workspace.admin.get(any_workspace.servers).json() == [other]
    *detached, last = any_workspace.admin.get(any_workspace.agents).json()
    assert last == untouched
    for before, after in zip(agents, detached, strict=True):
        assert after == before | {
            "enabledMcpServerIds": [other["id"]],
            "enabledMcpServerToolNames": {other["id"]: ["b"]},
            "version": 2,
            "updatedAt": after["updatedAt"],
        }
    text = actions(any_workspace)[-4:]
    assert sorted(text) == sorted(
        [*(("agent.updated", agent["id"]) for agent in agents), ("server.deleted", created["id"])]
    )
    assert any_workspace.admin.delete(f"{any_workspace.servers}/{other['id']}").status_code == 409


@pytest.mark.requirement("REL-07", "AUD-01")
@pytest.mark.parametrize("many", [10, 11, 70])
def test_a_server_is_detached_from_any_number_of_agents(workspace: Workspace, many: int) -> None:
    server = workspace.make_server()
    agents = agents_of(workspace, server["id"], many)

    response = workspace.admin.delete(f"{workspace.servers}/{server['id']}", params={"detach": "true"})

    assert response.status_code == 204
    after = workspace.admin.get(workspace.agents, params={"limit": 100}).json()
    assert [agent["id"] for agent in after] == [agent["id"] for agent in agents]
    assert all(agent["enabledMcpServerIds"] == [] for agent in after)
    assert all(agent["enabledMcpServerToolNames"] == {} for agent in after)
    assert {agent["version"] for agent in after} == {2}
    text = actions(workspace)
    assert sorted(text[-many - 1 :]) == sorted(
        [*(("agent.updated", agent["id"]) for agent in agents), ("server.deleted", server["id"])]
    )


def test_a_server_is_detached_from_agents_of_the_maximum_size(any_workspace: Workspace) -> None:
    created, *others = [any_workspace.make_server()["id"] for _ in range(6)]
    rules = {other: [f"{number:0128}" for number in range(500)] for other in others}
    for _ in range(15):
        any_workspace.make_agent(enabledMcpServerIds=[created, *others], enabledMcpServerToolNames=rules)

    response = any_workspace.admin.delete(f"{any_workspace.servers}/{created}", params={"detach": "true"})

    assert response.status_code == 204
    assert all(agent["enabledMcpServerIds"] == others for agent in any_workspace.admin.get(any_workspace.agents).json())


def test_a_server_is_detached_from_many_agents_on_every_store(any_workspace: Workspace) -> None:
    server = any_workspace.make_server()
    agents_of(any_workspace, server["id"], 31)  # one more than a single write takes

    assert any_workspace.admin.delete(f"{any_workspace.servers}/{server['id']}?detach=true").status_code == 204

    after = any_workspace.admin.get(any_workspace.agents, params={"limit": 100}).json()
    assert [agent["enabledMcpServerIds"] for agent in after] == [[]] * 31
    assert any_workspace.admin.get(any_workspace.servers).json() == []


def test_detaching_without_agents_has_no_effect(workspace: Workspace) -> None:
    server = workspace.make_server()

    assert workspace.admin.delete(f"{workspace.servers}/{server['id']}?detach=true").status_code == 204


@pytest.mark.parametrize("text", ["1", "yes", "True", ""])
def test_detach_must_be_true_or_false(workspace: Workspace, text: str) -> None:
    server = workspace.make_server()
    path = f"{workspace.servers}/{server['id']}"

    assert error_paths(workspace.admin.delete(path, params={"detach": text})) == ["detach"]
    assert workspace.admin.get(path).status_code == 200


def test_a_stale_delete_detaches_no_agent(workspace: Workspace) -> None:
    server = workspace.make_server()
    agents = agents_of(workspace, server["id"], 2)
    path = f"{workspace.servers}/{server['id']}"

    response = workspace.admin.delete(path, params={"detach": "true"}, headers={"If-Match": '"2"'})

    assert response.status_code == 412
    assert workspace.admin.get(workspace.agents).json() == agents


def test_a_delete_with_the_current_version_detaches_all_agents(workspace: Workspace) -> None:
    server = workspace.make_server()
    agents_of(workspace, server["id"], 33)

    response = workspace.admin.delete(
        f"{workspace.servers}/{server['id']}", params={"detach": "true"}, headers={"If-Match": '"1"'}
    )

    assert response.status_code == 204
