from typing import Any

import pytest

from tests.harness import Workspace, error_paths

UNKNOWN_ID = "server_" + "0" * 33

GOOD: list[tuple[str, Any]] = [
    ("name", "S"),
    ("name", "n" * 100),
    ("name", "サポート ☎"),
    ("description", "d" * 500),
    ("description", "Lines\n\tand tabs."),
    ("instructions", ""),
    ("instructions", "Be brief.\n" * 3200),
    ("enabledMcpServerIds", []),
    ("enabledMcpServerToolNames", {}),
]

BAD: list[tuple[str, Any, str]] = [
    *(("name", value, "name") for value in ["", "  ", "n" * 101, "two\nlines", "nul\x00", None, 7]),
    *(("description", value, "description") for value in ["d" * 501, "bell\x07", None, 7]),
    *(("instructions", value, "instructions") for value in ["i" * 32_001, "bell\x07", None, 7, ["Be brief."]]),
    *(("enabledMcpServerIds", value, "enabledMcpServerIds") for value in [None, "server_x", {}, 7]),
    ("enabledMcpServerIds", [UNKNOWN_ID, UNKNOWN_ID], "enabledMcpServerIds"),
    ("enabledMcpServerIds", [f"server_{number}" for number in range(41)], "enabledMcpServerIds"),
    *(
        ("enabledMcpServerIds", [value], "enabledMcpServerIds.0")
        for value in ["", "a" * 41, "Server_1", "a#b", 7, None]
    ),
    ("enabledMcpServerIds", [UNKNOWN_ID], "enabledMcpServerIds.0"),
    *(("enabledMcpServerToolNames", value, "enabledMcpServerToolNames") for value in [None, [], "get_weather"]),
    ("enabledMcpServerToolNames", {f"server_{n}": [] for n in range(41)}, "enabledMcpServerToolNames"),
    ("enabledMcpServerToolNames", {UNKNOWN_ID: []}, f"enabledMcpServerToolNames.{UNKNOWN_ID}"),
    *(
        ("enabledMcpServerToolNames", {"server_1": value}, "enabledMcpServerToolNames.server_1")
        for value in ["get_weather", ["a", "a"], [f"t{number}" for number in range(501)]]
    ),
    *(
        ("enabledMcpServerToolNames", {"server_1": [value]}, "enabledMcpServerToolNames.server_1.0")
        for value in ["", "t" * 129, "a\nb", "nul\x00", None, 7]
    ),
    *((name, "x", name) for name in ["id", "version", "createdAt", "updatedAt", "model", "servers", "Name", "slug"]),
]


def test_an_agent_is_returned_as_it_is_stored(any_workspace: Workspace) -> None:
    server = any_workspace.make_server()["id"]
    draft = {
        "name": "Support",
        "description": "Answers tickets.",
        "instructions": "Be brief.",
        "enabledMcpServerIds": [server],
        "enabledMcpServerToolNames": {server: ["get_weather"]},
    }

    response = any_workspace.admin.post(any_workspace.agents, json=draft)

    created = response.json()
    assert (response.status_code, response.headers["ETag"]) == (201, '"1"')
    assert response.headers["Location"] == f"{any_workspace.agents}/{created['id']}"
    assert created == draft | {
        "id": created["id"],
        "createdAt": created["createdAt"],
        "updatedAt": created["createdAt"],
        "version": 1,
    }
    assert any_workspace.admin.get(response.headers["Location"]).json() == created
    assert any_workspace.admin.get(any_workspace.agents).json() == [created]


def test_an_omitted_field_has_a_default(workspace: Workspace) -> None:
    created = workspace.admin.post(workspace.agents, json={"name": "Support"}).json()

    assert (created["description"], created["instructions"]) == ("", "")
    assert (created["enabledMcpServerIds"], created["enabledMcpServerToolNames"]) == ([], {})


def test_a_name_is_required(workspace: Workspace) -> None:
    assert error_paths(workspace.admin.post(workspace.agents, json={})) == ["name"]


@pytest.mark.parametrize(("field", "value"), GOOD)
def test_a_field_is_stored_unchanged(workspace: Workspace, field: str, value: object) -> None:
    assert workspace.make_agent(**{field: value})[field] == value

    path = f"{workspace.agents}/{workspace.make_agent(name='Other', description='Old', instructions='Old')['id']}"
    changed = workspace.admin.put(path, json={field: value})
    assert changed.status_code == 200
    assert changed.json()[field] == value
    assert workspace.admin.get(path).json() == changed.json()


@pytest.mark.parametrize(("field", "value", "path"), BAD)
def test_an_invalid_field_is_refused_by_its_path(workspace: Workspace, field: str, value: object, path: str) -> None:
    response = workspace.admin.post(workspace.agents, json={"name": "Support"} | {field: value})
    assert error_paths(response) == [path]
    assert workspace.admin.get(workspace.agents).json() == []

    agent = workspace.make_agent()
    at = f"{workspace.agents}/{agent['id']}"
    assert error_paths(workspace.admin.put(at, json={field: value})) == [path]
    assert workspace.admin.get(at).json() == agent


def test_a_null_rule_is_no_rule_in_a_change_and_refused_in_a_new_agent(workspace: Workspace) -> None:
    server = workspace.make_server()["id"]
    rule = {"enabledMcpServerToolNames": {server: None}}
    path = f"{workspace.agents}/{workspace.make_agent(enabledMcpServerIds=[server])['id']}"
    workspace.admin.put(path, json={"enabledMcpServerToolNames": {server: ["a"]}})

    changed = workspace.admin.put(path, json=rule)
    refused = workspace.admin.post(workspace.agents, json={"name": "Support"} | rule)

    assert changed.json()["enabledMcpServerToolNames"] == {}
    assert error_paths(refused) == [f"enabledMcpServerToolNames.{server}"]


def test_a_change_of_one_field_leaves_the_others(workspace: Workspace) -> None:
    server = workspace.make_server()["id"]
    agent = workspace.make_agent(
        description="Answers.",
        instructions="Be brief.",
        enabledMcpServerIds=[server],
        enabledMcpServerToolNames={server: ["a"]},
    )
    expected, path = agent, f"{workspace.agents}/{agent['id']}"
    changes = {"name": "Sales", "description": "Sells.", "instructions": "Be bold."}

    for version, (field, value) in enumerate(changes.items(), start=2):
        changed = workspace.admin.put(path, json={field: value})
        expected = expected | {field: value, "version": version, "updatedAt": changed.json()["updatedAt"]}
        assert changed.json() == expected
        assert changed.headers["ETag"] == f'"{version}"'
    assert workspace.admin.get(path).json() == expected


@pytest.mark.requirement("REL-04")
@pytest.mark.parametrize("tags", ['"1"', '"3"', 'W/"2"', "1", "3", ""])
def test_a_stale_write_changes_nothing(workspace: Workspace, tags: str) -> None:
    path = f"{workspace.agents}/{workspace.make_agent()['id']}"
    second = workspace.admin.put(path, json={"name": "Second"}).json()

    changed = workspace.admin.put(path, json={"name": "Third"}, headers={"If-Match": tags})
    deleted = workspace.admin.delete(path, headers={"If-Match": tags})

    assert (changed.status_code, deleted.status_code) == (412, 412)
    assert workspace.admin.get(path).json() == second


@pytest.mark.requirement("REL-04")
def test_every_store_enforces_versions(any_workspace: Workspace) -> None:
    path = f"{any_workspace.agents}/{any_workspace.make_agent()['id']}"

    assert any_workspace.admin.put(path, json={"name": "B"}, headers={"If-Match": '"1"'}).status_code == 200
    assert any_workspace.admin.put(path, json={"name": "C"}, headers={"If-Match": '"1"'}).status_code == 412
    assert any_workspace.admin.put(path, json={"name": "C"}, headers={"If-Match": "*"}).json()["version"] == 3
    assert any_workspace.admin.delete(path, headers={"If-Match": '"2"'}).status_code == 412
    assert any_workspace.admin.delete(path, headers={"If-Match": '"2", "3"'}).status_code == 204


def test_a_deleted_agent_is_not_found(any_workspace: Workspace) -> None:
    path = f"{any_workspace.agents}/{any_workspace.make_agent()['id']}"
    gone = any_workspace.admin.delete(path)

    assert (gone.status_code, gone.content) == (204, b"")
    for response in (
        any_workspace.admin.get(path),
        any_workspace.admin.put(path, json={"name": "New"}),
        any_workspace.admin.delete(path),
    ):
        assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert any_workspace.admin.get(any_workspace.agents).json() == []


def test_an_agent_of_another_workspace_looks_nonexistent(workspace: Workspace) -> None:
    theirs = workspace.plugboard.make_workspace().make_agent()["id"]
    nobodys = "agent_" + "0" * 33

    for method, body in (("GET", None), ("PUT", {"name": "Mine"}), ("DELETE", None)):
        responses = [
            workspace.admin.request(method, f"{workspace.agents}/{item}", json=body) for item in (theirs, nobodys)
        ]
        assert [response.status_code for response in responses] == [404, 404]
        assert responses[0].content == responses[1].content


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_paging_lists_every_agent_once(any_workspace: Workspace, limit: int) -> None:
    created = [any_workspace.make_agent(name=f"A{number}") for number in range(7)]
    result, following = [], f"{any_workspace.agents}?limit={limit}"

    while following:
        response = any_workspace.admin.get(following)
        assert len(response.json()) <= limit
        result += response.json()
        following = response.links["next"]["url"] if "next" in response.links else ""

    assert result == created


@pytest.mark.requirement("AUD-01")
def test_the_audit_trail_records_every_change_of_an_agent(workspace: Workspace) -> None:
    server = workspace.make_server()["id"]
    agent = workspace.make_agent()
    path = f"{workspace.agents}/{agent['id']}"
    workspace.admin.put(path, json={"name": "Sales", "enabledMcpServerIds": [server]})
    workspace.admin.delete(path)

    texts = [item for item in workspace.admin.get(workspace.audit).json() if item["target"]["id"] == agent["id"]]

    assert [(item["action"], item["fields"]) for item in reversed(texts)] == [
        ("agent.created", []),
        ("agent.updated", ["enabledMcpServerIds", "name"]),
        ("agent.deleted", []),
    ]
