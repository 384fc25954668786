"""PUT accepts any subset of fields, each write makes a version, and `If-Match` refuses stale writes."""

from pathlib import Path
from typing import Any

import pytest

from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.harness import Workspace, served

CHANGES: dict[str, Any] = {
    "name": "Forecast",
    "slug": "forecast",
    "description": "Tomorrow's.",
    "url": "https://api.weather.example.com/v2/mcp",
    "enabled": False,
    "timeoutSeconds": 5,
    "exposure": "generic",
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_change_of_one_field_leaves_the_others(workspace: Workspace, field: str) -> None:
    server = workspace.make_server(description="Today's.")
    path = f"{workspace.servers}/{server['id']}"

    changed = workspace.admin.put(path, json={field: CHANGES[field]})

    expected = server | {field: CHANGES[field], "version": 2, "updatedAt": changed.json()["updatedAt"]}
    assert changed.json() == expected
    assert changed.headers["ETag"] == '"2"'
    assert workspace.admin.get(path).json() == expected
    assert workspace.admin.get(workspace.servers).json() == [expected]


def test_all_fields_can_change_together(any_workspace: Workspace) -> None:
    server = any_workspace.make_server()

    changed = any_workspace.admin.put(f"{any_workspace.servers}/{server['id']}", json=CHANGES).json()

    assert changed == server | CHANGES | {"version": 2, "updatedAt": changed["updatedAt"]}


def test_a_change_updates_only_the_time_of_the_change(tmp_path: Path) -> None:
    clock = StillClock()
    with served(Settings(data_dir=tmp_path), clock) as plugboard:
        workspace = plugboard.make_workspace()
        server = workspace.make_server()
        clock.advance(1.5)
        changed = workspace.admin.put(f"{workspace.servers}/{server['id']}", json={"name": "Forecast"}).json()

    assert (server["createdAt"], server["updatedAt"]) == ("2027-01-15T08:00:00.000Z", "2027-01-15T08:00:00.000Z")
    assert (changed["createdAt"], changed["updatedAt"]) == ("2027-01-15T08:00:00.000Z", "2027-01-15T08:00:01.500Z")


def test_every_change_increments_the_version(any_workspace: Workspace) -> None:
    path = f"{any_workspace.servers}/{any_workspace.make_server()['id']}"

    for version in range(2, 6):
        changed = any_workspace.admin.put(path, json={"description": f"The {version}th."})
        assert changed.json()["version"] == version
        assert changed.headers["ETag"] == any_workspace.admin.get(path).headers["ETag"] == f'"{version}"'


def test_a_refused_change_keeps_the_version(workspace: Workspace) -> None:
    server = workspace.make_server()
    path = f"{workspace.servers}/{server['id']}"

    assert workspace.admin.put(path, json={"name": "New", "timeoutSeconds": 99}).status_code == 422
    assert workspace.admin.put(path, json={"name": "New", "url": "https://localhost"}).status_code == 422
    assert workspace.admin.put(path, json={"name": "New", "slug": "server"}).status_code == 422

    assert workspace.admin.get(path).json() == server


@pytest.mark.requirement("REL-04")
@pytest.mark.parametrize("tags", ['"2"', "2", "*", '"1", "2"', '"7","2"', '"2" ,"7"'])
def test_a_write_with_the_current_version_succeeds(workspace: Workspace, tags: str) -> None:
    path = f"{workspace.servers}/{workspace.make_server()['id']}"
    workspace.admin.put(path, json={"name": "Second"})

    changed = workspace.admin.put(path, json={"name": "Third"}, headers={"If-Match": tags})

    assert (changed.status_code, changed.json()["version"]) == (200, 3)
    assert workspace.admin.delete(path, headers={"If-Match": '"3"'}).status_code == 204


@pytest.mark.requirement("REL-04")
@pytest.mark.parametrize("tags", ['"1"', '"3"', 'W/"2"', '"1", W/"2"', "1", "'2'", '"02"', '"2', '""', "", "W/*"])
def test_a_stale_write_changes_nothing(workspace: Workspace, tags: str) -> None:
    path = f"{workspace.servers}/{workspace.make_server()['id']}"
    second = workspace.admin.put(path, json={"name": "Second"}).json()

    changed = workspace.admin.put(
        path, json={"name": "Third", "config": {"headerValue": None}}, headers={"If-Match": tags}
    )
    deleted = workspace.admin.delete(path, headers={"If-Match": tags})

    for response in (changed, deleted):
        assert (response.status_code, response.json()["code"]) == (412, "stale")
    assert workspace.admin.get(path).json() == second
    assert [item["action"] for item in workspace.admin.get(workspace.audit).json()].count("server.updated") == 1


@pytest.mark.requirement("REL-04")
def test_every_store_enforces_versions(any_workspace: Workspace) -> None:
    path = f"{any_workspace.servers}/{any_workspace.make_server()['id']}"

    second = any_workspace.admin.put(path, json={"name": "Second"}, headers={"If-Match": '"1"'})
    stale = any_workspace.admin.put(path, json={"name": "Third"}, headers={"If-Match": '"1"'})

    assert (second.status_code, stale.status_code) == (200, 412)
    assert any_workspace.admin.delete(path, headers={"If-Match": '"1"'}).status_code == 412
    assert any_workspace.admin.get(path).json() == second.json()
    assert any_workspace.admin.delete(path, headers={"If-Match": '"2"'}).status_code == 204


def test_a_stale_write_is_refused_before_its_content_is_checked(workspace: Workspace) -> None:
    path = f"{workspace.servers}/{workspace.make_server()['id']}"

    stale = workspace.admin.put(path, json={"authType": "basic", "url": None}, headers={"If-Match": '"9"'})

    assert stale.status_code == 412


def test_a_write_without_a_version_succeeds(workspace: Workspace) -> None:
    path = f"{workspace.servers}/{workspace.make_server()['id']}"

    assert workspace.admin.put(path, json={"name": "Forecast"}).status_code == 200
    assert workspace.admin.delete(path).status_code == 204


def test_a_server_can_be_disabled_and_enabled(workspace: Workspace) -> None:
    server = workspace.make_server(enabled=False)
    path = f"{workspace.servers}/{server['id']}"

    assert server["enabled"] is False
    assert server["configured"] == ["headerValue"]
    assert workspace.admin.put(path, json={"enabled": True}).json()["enabled"] is True
    assert workspace.admin.put(path, json={"name": "Forecast"}).json()["enabled"] is True
    assert workspace.admin.put(path, json={"enabled": False}).json()["configured"] == ["headerValue"]


def test_an_agent_may_enable_a_disabled_server(workspace: Workspace) -> None:
    server = workspace.make_server(enabled=False)

    assert workspace.make_agent(enabledMcpServerIds=[server["id"]])["enabledMcpServerIds"] == [server["id"]]


@pytest.mark.parametrize("server_id", ["server_x", "x", "server_" + "0" * 33, "%00", "ü", "a" * 500])
def test_an_id_of_another_kind_is_not_found(workspace: Workspace, server_id: str) -> None:
    path = f"{workspace.servers}/{server_id}"

    for method in ("GET", "DELETE"):
        assert workspace.admin.request(method, path).status_code == 404
    assert workspace.admin.put(path, json={"name": "New"}).status_code == 404


def test_a_deleted_server_is_not_found(any_workspace: Workspace) -> None:
    path = f"{any_workspace.servers}/{any_workspace.make_server()['id']}"
    assert any_workspace.admin.delete(path).status_code == 204

    for response in (
        any_workspace.admin.get(path),
        any_workspace.admin.put(path, json={"name": "New"}, headers={"If-Match": "*"}),
        any_workspace.admin.delete(path, headers={"If-Match": '"1"'}),
    ):
        assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert any_workspace.admin.get(any_workspace.servers).json() == []


def test_a_server_of_another_workspace_looks_nonexistent(workspace: Workspace) -> None:
    theirs = workspace.plugboard.make_workspace().make_server()["id"]
    nobodys = "server_" + "0" * 33

    for method, body in (("GET", None), ("PUT", {"name": "Mine"}), ("DELETE", None)):
        responses = [
            workspace.admin.request(method, f"{workspace.servers}/{item}", json=body) for item in (theirs, nobodys)
        ]
        assert [response.status_code for response in responses] == [404, 404]
        assert responses[0].content == responses[1].content
