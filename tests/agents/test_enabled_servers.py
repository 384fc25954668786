"""The servers that an agent enables, their order, and their tools."""

from typing import Any

import pytest

from api.agents.schemas import MAX_SERVERS
from tests.harness import Workspace, error_paths


def make(workspace: Workspace, many: int) -> list[str]:
    return [workspace.make_server(name=f"S{number}")["id"] for number in range(many)]


def put(workspace: Workspace, agent: dict[str, Any], **fields: Any) -> dict[str, Any]:
    response = workspace.admin.put(f"{workspace.agents}/{agent['id']}", json=fields)
    assert response.status_code == 200, response.text
    changed: dict[str, Any] = response.json()
    return changed


def test_the_order_of_the_servers_is_kept(any_workspace: Workspace) -> None:
    first, second, third = make(any_workspace, 3)
    agent = any_workspace.make_agent(enabledMcpServerIds=[third, first, second])
    assert agent["enabledMcpServerIds"] == [third, first, second]

    changed = put(any_workspace, agent, enabledMcpServerIds=[second, third, first])
    assert changed["enabledMcpServerIds"] == [second, third, first]
    assert any_workspace.admin.get(f"{any_workspace.agents}/{agent['id']}").json() == changed


@pytest.mark.slow
def test_one_request_replaces_forty_servers_by_forty_others(any_workspace: Workspace) -> None:
    servers = make(any_workspace, 2 * MAX_SERVERS)
    before, after = servers[:MAX_SERVERS], servers[MAX_SERVERS:]
    agent = any_workspace.make_agent(
        enabledMcpServerIds=before, enabledMcpServerToolNames={item: ["a"] for item in before}
    )

    changed = put(
        any_workspace, agent, enabledMcpServerIds=after, enabledMcpServerToolNames={item: ["b"] for item in after}
    )

    assert changed["enabledMcpServerIds"] == after
    assert changed["enabledMcpServerToolNames"] == {item: ["b"] for item in after}
    assert any_workspace.admin.get(f"{any_workspace.agents}/{agent['id']}").json() == changed
    assert any_workspace.admin.delete(f"{any_workspace.servers}/{before[0]}").status_code == 204
    assert any_workspace.admin.delete(f"{any_workspace.servers}/{after[0]}").status_code == 409


def test_forty_servers_and_an_idempotency_key_fit_into_one_write(workspace: Workspace) -> None:
    servers = make(workspace, MAX_SERVERS)

    response = workspace.admin.post(
        workspace.agents, json={"name": "S", "enabledMcpServerIds": servers}, headers={"Idempotency-Key": "k1"}
    )

    assert response.status_code == 201
    gone = workspace.admin.delete(f"{workspace.agents}/{response.json()['id']}")
    assert gone.status_code == 204
    assert workspace.admin.delete(f"{workspace.servers}/{servers[-1]}").status_code == 204


def test_forty_one_servers_are_refused(workspace: Workspace) -> None:
    servers = make(workspace, MAX_SERVERS + 1)

    response = workspace.admin.post(workspace.agents, json={"name": "S", "enabledMcpServerIds": servers})

    assert error_paths(response) == ["enabledMcpServerIds"]


def test_a_server_is_listed_once(workspace: Workspace) -> None:
    (server,) = make(workspace, 1)
    agent = workspace.make_agent(enabledMcpServerIds=[server])
    twice = {"enabledMcpServerIds": [server, server]}

    assert error_paths(workspace.admin.post(workspace.agents, json={"name": "S"} | twice)) == ["enabledMcpServerIds"]
    assert error_paths(workspace.admin.put(f"{workspace.agents}/{agent['id']}", json=twice)) == ["enabledMcpServerIds"]


def test_a_missing_and_a_foreign_server_get_the_same_error(any_workspace: Workspace) -> None:
    theirs = any_workspace.plugboard.make_workspace().make_server()["id"]
    gone, here = make(any_workspace, 2)
    any_workspace.admin.delete(f"{any_workspace.servers}/{gone}")
    never = "server_" + "0" * 33
    agent = any_workspace.make_agent(enabledMcpServerIds=[here])

    messages = set()
    for strange in (theirs, gone, never, "no_id_at_all"):
        ids = {"enabledMcpServerIds": [here, strange]}
        for response in (
            any_workspace.admin.post(any_workspace.agents, json={"name": "S"} | ids),
            any_workspace.admin.put(f"{any_workspace.agents}/{agent['id']}", json=ids),
        ):
            assert error_paths(response) == ["enabledMcpServerIds.1"]
            messages.add(response.text.replace(strange, "<id>"))
    assert len(messages) == 1
    assert any_workspace.admin.get(any_workspace.agents).json() == [agent]


def test_every_missing_server_is_named(workspace: Workspace) -> None:
    (here,) = make(workspace, 1)
    ids = ["server_a", here, "server_b"]

    response = workspace.admin.post(workspace.agents, json={"name": "S", "enabledMcpServerIds": ids})

    assert error_paths(response) == ["enabledMcpServerIds.0", "enabledMcpServerIds.2"]
    assert "server_b" in response.json()["errors"][1]["message"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_the_slug_of_a_server_is_answered_with_its_id(workspace: Workspace, method: str) -> None:
    server = workspace.make_server(name="Weather")
    workspace.plugboard.make_workspace().make_server(name="Theirs")
    path = workspace.agents
    if method != "POST":
        path += f"/{workspace.make_agent(enabledMcpServerIds=[server['id']])['id']}"
    ids = {"enabledMcpServerIds": ["weather", "theirs", server["id"]]}
    rules = {"enabledMcpServerIds": [server["id"]], "enabledMcpServerToolNames": {"weather": ["a"]}}

    by_slug, rule = (workspace.admin.request(method, path, json={"name": "S"} | body) for body in (ids, rules))
    unknown = workspace.admin.request(method, path, json={"name": "S", "enabledMcpServerIds": ["theirs"]})

    hint = f"`weather` is the slug of a server. Give its id: `{server['id']}`."
    assert by_slug.json()["errors"] == [{"path": "enabledMcpServerIds.0", "message": hint}]
    assert rule.json()["errors"] == [{"path": "enabledMcpServerToolNames.weather", "message": hint}]
    assert "There is no MCP server theirs in this workspace." in unknown.text
    named = workspace.admin.request(method, path, json={"name": "S", "enabledMcpServerIds": ["Weather API"]})
    assert named.json()["errors"][0]["message"] == "Must be a server's id, which begins with `server_`."


def test_tool_rules_are_stored_unchanged(any_workspace: Workspace) -> None:
    all_tools, some, none = make(any_workspace, 3)
    rules = {some: ["z", "Get Weather!", "天気"], none: []}

    agent = any_workspace.make_agent(enabledMcpServerIds=[all_tools, some, none], enabledMcpServerToolNames=rules)

    assert agent["enabledMcpServerToolNames"] == rules
    assert any_workspace.admin.get(f"{any_workspace.agents}/{agent['id']}").json() == agent


def test_new_tool_rules_replace_the_old_ones(workspace: Workspace) -> None:
    first, second = make(workspace, 2)
    agent = workspace.make_agent(
        enabledMcpServerIds=[first, second], enabledMcpServerToolNames={first: ["a"], second: ["b"]}
    )

    assert put(workspace, agent, enabledMcpServerToolNames={second: []})["enabledMcpServerToolNames"] == {second: []}
    assert put(workspace, agent, name="Renamed")["enabledMcpServerToolNames"] == {second: []}
    assert put(workspace, agent, enabledMcpServerToolNames={})["enabledMcpServerToolNames"] == {}


def test_a_rule_for_a_server_that_is_not_enabled_is_refused(workspace: Workspace) -> None:
    enabled, other = make(workspace, 2)
    agent = workspace.make_agent(enabledMcpServerIds=[enabled], enabledMcpServerToolNames={enabled: ["a"]})
    path = f"{workspace.agents}/{agent['id']}"
    rule = {"enabledMcpServerToolNames": {enabled: ["a"], other: ["b"]}}

    response = workspace.admin.post(workspace.agents, json={"name": "S", "enabledMcpServerIds": [enabled]} | rule)
    assert error_paths(response) == [f"enabledMcpServerToolNames.{other}"]
    assert error_paths(workspace.admin.put(path, json=rule)) == [f"enabledMcpServerToolNames.{other}"]
    both = {"enabledMcpServerIds": [other], "enabledMcpServerToolNames": {enabled: ["a"]}}
    assert error_paths(workspace.admin.put(path, json=both)) == [f"enabledMcpServerToolNames.{enabled}"]
    assert workspace.admin.get(path).json() == agent


def test_disabling_a_server_removes_its_rule(workspace: Workspace) -> None:
    first, second = make(workspace, 2)
    agent = workspace.make_agent(
        enabledMcpServerIds=[first, second], enabledMcpServerToolNames={first: ["a"], second: []}
    )

    assert put(workspace, agent, enabledMcpServerIds=[second])["enabledMcpServerToolNames"] == {second: []}
    again = put(workspace, agent, enabledMcpServerIds=[first, second])
    assert again["enabledMcpServerToolNames"] == {second: []}


def test_a_rule_and_its_server_may_come_in_one_request(workspace: Workspace) -> None:
    first, second = make(workspace, 2)
    agent = workspace.make_agent(enabledMcpServerIds=[first], enabledMcpServerToolNames={first: ["a"]})

    changed = put(workspace, agent, enabledMcpServerIds=[second], enabledMcpServerToolNames={second: ["b"]})

    assert changed["enabledMcpServerToolNames"] == {second: ["b"]}


def test_a_rule_may_name_five_hundred_tools(workspace: Workspace) -> None:
    (server,) = make(workspace, 1)
    names = [f"tool_{number}_{'t' * 100}" for number in range(500)]

    agent = workspace.make_agent(enabledMcpServerIds=[server], enabledMcpServerToolNames={server: names})

    assert agent["enabledMcpServerToolNames"] == {server: names}


def test_rules_too_large_for_one_agent_are_refused(workspace: Workspace) -> None:
    servers = make(workspace, 20)
    rules = {server: [f"{number:03}{'t' * 60}" for number in range(500)] for server in servers}

    response = workspace.admin.post(
        workspace.agents, json={"name": "S", "enabledMcpServerIds": servers, "enabledMcpServerToolNames": rules}
    )

    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert workspace.admin.get(workspace.agents).json() == []
    assert workspace.admin.delete(f"{workspace.servers}/{servers[0]}").status_code == 204
