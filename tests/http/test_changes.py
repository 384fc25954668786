"""What was read can be sent back, a change of nothing makes no version, and PATCH does what PUT does."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.harness import Workspace, error_paths

Json = dict[str, Any]
METHODS = ("PUT", "PATCH")
KINDS = ("workspace", "server", "OAuth server", "service", "agent")
pytestmark = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(params=KINDS)
def path(request: pytest.FixtureRequest, workspace: Workspace) -> str:
    """Of an object of each kind that can be changed."""
    match request.param:
        case "workspace":
            return workspace.path
        case "server":
            return f"{workspace.servers}/{workspace.make_server()['id']}"
        case "OAuth server":
            return f"{workspace.servers}/{workspace.make_server(authType='oauth', config={})['id']}"
        case "service":
            created = workspace.make_server(authType="oauth", serviceType="notion", url=None, config={})
            return f"{workspace.servers}/{created['id']}"
        case _:
            server = workspace.make_server()["id"]
            rules = {"enabledMcpServerIds": [server], "enabledMcpServerToolNames": {server: ["get"]}}
            return f"{workspace.agents}/{workspace.make_agent(**rules)['id']}"


def read(workspace: Workspace, path: str) -> Json:
    response = workspace.admin.get(path)
    assert response.status_code == 200, response.text
    result: Json = response.json()
    return result


def changes_recorded(workspace: Workspace) -> int:
    return sum(record["action"].endswith(".updated") for record in workspace.admin.get(workspace.audit).json())


def test_what_was_read_can_be_sent_back(workspace: Workspace, path: str, method: str) -> None:
    before = read(workspace, path)

    same = workspace.admin.request(method, path, json=before)
    changed = workspace.admin.request(method, path, json=before | {"name": "Another"})

    assert (same.status_code, same.json()) == (200, before)
    assert (changed.status_code, changed.json()["name"], changed.json()["version"]) == (200, "Another", 2)
    assert changes_recorded(workspace) == 1


def test_a_change_of_nothing_makes_no_version(workspace: Workspace, path: str, method: str) -> None:
    before = read(workspace, path)

    for body in ({}, {"name": before["name"]}, {"name": before["name"], "version": 1}):
        response = workspace.admin.request(method, path, json=body)
        assert (response.status_code, response.json(), response.headers["ETag"]) == (200, before, '"1"')
    assert changes_recorded(workspace) == 0


@pytest.mark.parametrize("field", ["id", "createdAt", "updatedAt", "configured", "oauthConnected"])
@pytest.mark.parametrize("value", ["another", None, 7, {}])
def test_another_value_of_a_read_only_field_is_refused(
    workspace: Workspace, method: str, field: str, value: object
) -> None:
    path = f"{workspace.servers}/{workspace.make_server(authType='oauth', config={})['id']}"

    response = workspace.admin.request(method, path, json={"name": "Another", field: value})

    assert error_paths(response) == [field]
    assert response.json()["errors"][0]["message"] == "Read-only: omit it, or send it as it was read."
    assert read(workspace, path)["version"] == 1


def test_a_version_in_the_body_is_a_precondition(workspace: Workspace, path: str, method: str) -> None:
    first = read(workspace, path)

    changed = workspace.admin.request(method, path, json={"name": "Second", "version": 1})
    stale = workspace.admin.request(method, path, json=first | {"name": "Third"})

    assert (changed.status_code, changed.json()["version"]) == (200, 2)
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    for version in (0, 3, 2**63 - 1):
        assert workspace.admin.request(method, path, json={"name": "Third", "version": version}).status_code == 412
    for text in (None, "2", [], True, 2.5, -2, 2**63):
        assert error_paths(workspace.admin.request(method, path, json={"version": text})) == ["version"]
    assert read(workspace, path) == changed.json()


def test_if_match_takes_a_version_without_quotes(workspace: Workspace, path: str, method: str) -> None:
    def send(tag: str) -> httpx2.Response:
        return workspace.admin.request(method, path, json={"name": f"After {tag}"}, headers={"If-Match": tag})

    assert send("1").json()["version"] == 2
    assert send('"7", 2').json()["version"] == 3
    assert [send(tag).status_code for tag in ("2", "03", "W/3", "3.0", "-3")] == [412] * 5


def test_unknown_fields_are_still_refused(workspace: Workspace, path: str, method: str) -> None:
    assert error_paths(workspace.admin.request(method, path, json={"apiKey": "x", "sealed": {}})) == [
        "apiKey",
        "sealed",
    ]


def test_a_patch_may_be_sent_as_merge_patch(workspace: Workspace, path: str, method: str) -> None:
    headers = {"Content-Type": "application/merge-patch+json"}

    response = workspace.admin.request(method, path, content=b'{"name": "Another"}', headers=headers)

    assert response.status_code == (200 if method == "PATCH" else 415)


def test_tool_rules_are_replaced_by_put_and_merged_by_patch(workspace: Workspace, method: str) -> None:
    a, b, c = (workspace.make_server()["id"] for _ in range(3))
    rules = {a: ["one"], b: ["two"]}
    agent = workspace.make_agent(enabledMcpServerIds=[a, b, c], enabledMcpServerToolNames=rules)
    path = f"{workspace.agents}/{agent['id']}"

    changed = workspace.admin.request(method, path, json={"enabledMcpServerToolNames": {b: None, c: ["three"]}})

    kept = {a: ["one"]} if method == "PATCH" else {}
    assert changed.json()["enabledMcpServerToolNames"] == kept | {c: ["three"]}
    other = workspace.admin.request(method, path, json={"enabledMcpServerToolNames": {"server_x": ["a"]}})
    assert error_paths(other) == ["enabledMcpServerToolNames.server_x"]
