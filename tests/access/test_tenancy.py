"""Another workspace learns nothing."""

from __future__ import annotations

from collections.abc import Mapping

import httpx2
import pytest

from tests.harness import Plugboard, Workspace
from tests.operations import IN_A_WORKSPACE, Operation, stripped

BODY = {"name": "New"}
BODIES = {"callTool": {"toolName": "mcp_weather_forecast"}}
WITH_IDS = [operation for operation in IN_A_WORKSPACE if len(operation.parameters) > 1]


@pytest.fixture(scope="module")
def ours(on_sqlite: Plugboard) -> Workspace:
    return on_sqlite.make_workspace("Ours")


@pytest.fixture(scope="module")
def theirs(on_sqlite: Plugboard) -> Workspace:
    return on_sqlite.make_workspace("Theirs")


def everything(workspace: Workspace) -> dict[str, str]:
    return {
        "workspaceId": workspace.id,
        "serverId": workspace.make_server()["id"],
        "agentId": workspace.make_agent()["id"],
        "keyId": workspace.make_key("read")["id"],
    }


def missing(ids: Mapping[str, str]) -> dict[str, str]:
    """Well-formed ids of the workspace that belong to no object."""
    return {name: text[:-6] + "000000" for name, text in ids.items()}


@pytest.mark.requirement("AUT-08")
@pytest.mark.parametrize("operation", WITH_IDS, ids=str)
def test_an_object_of_another_workspace_looks_nonexistent(
    ours: Workspace, theirs: Workspace, operation: Operation
) -> None:
    foreign = everything(theirs)
    nobodys = missing(everything(ours))

    for query in ("", "?detach=true") if operation.id == "deleteServer" else ("",):
        there = send(ours, operation, {**foreign, "workspaceId": ours.id}, query)
        nowhere = send(ours, operation, {**nobodys, "workspaceId": ours.id}, query)
        assert there.status_code == 404
        assert stripped(there) == stripped(nowhere)
        assert foreign["workspaceId"] not in there.text


@pytest.mark.requirement("AUT-08")
@pytest.mark.parametrize("operation", IN_A_WORKSPACE, ids=str)
def test_another_workspace_looks_nonexistent(ours: Workspace, theirs: Workspace, operation: Operation) -> None:
    foreign = everything(theirs)

    there = send(ours, operation, foreign)
    nowhere = send(ours, operation, missing(foreign))

    assert there.status_code == 404
    assert stripped(there) == stripped(nowhere)
    assert theirs.admin.get(theirs.path).json()["name"] == "Theirs"


@pytest.mark.requirement("AUT-08")
@pytest.mark.parametrize("scope", ["read", "invoke"])
def test_a_key_with_fewer_rights_learns_no_more_of_another_workspace(
    ours: Workspace, theirs: Workspace, scope: str
) -> None:
    caller, foreign = ours.caller(scope), everything(theirs)
    for operation in IN_A_WORKSPACE:
        body = BODIES.get(operation.id, BODY)
        there, nowhere = (operation.send(caller, ids, body) for ids in (foreign, missing(foreign)))
        assert stripped(there) == stripped(nowhere)
        assert there.status_code == 404


@pytest.mark.requirement("AUT-08")
def test_objects_of_another_workspace_cannot_be_referenced(ours: Workspace, theirs: Workspace) -> None:
    foreign = everything(theirs)

    def refused(path: str, body: object) -> httpx2.Response:
        response = ours.admin.post(path, json=body)
        assert response.status_code == 422
        return response

    nobody = missing(foreign)
    for ids in (foreign, nobody):
        agent = refused(ours.agents, {"name": "a", "enabledMcpServerIds": [ids["serverId"]]})
        assert agent.json()["errors"] == [
            {"path": "enabledMcpServerIds.0", "message": f"There is no MCP server {ids['serverId']} in this workspace."}
        ]
        key = refused(ours.api_keys, {"name": "k", "scope": "invoke", "agentIds": [ids["agentId"]]})
        assert key.json()["errors"] == [
            {"path": "agentIds.0", "message": f"There is no agent {ids['agentId']} in this workspace."}
        ]


def test_two_workspaces_may_use_the_same_names(ours: Workspace, theirs: Workspace) -> None:
    slug = {"name": "Same", "slug": "same"}

    assert ours.make_server(**slug)["slug"] == theirs.make_server(**slug)["slug"] == "same"


def test_lists_contain_only_objects_of_the_workspace(ours: Workspace, theirs: Workspace) -> None:
    foreign = everything(theirs)
    everything(ours)
    for path in (ours.servers, ours.agents, ours.api_keys, ours.audit):
        result = ours.admin.get(path, params={"limit": 100}).text
        assert not [text for text in foreign.values() if text in result]


@pytest.mark.requirement("REL-11")
def test_a_cursor_of_another_workspace_is_refused(ours: Workspace, theirs: Workspace) -> None:
    for workspace in (ours, theirs):
        for _ in range(2):
            workspace.make_server()
    link = theirs.admin.get(theirs.servers, params={"limit": 1}).headers["Link"]
    cursor = link.partition("cursor=")[2].partition(">")[0]

    response = ours.admin.get(ours.servers, params={"limit": 1, "cursor": cursor})

    assert (response.status_code, response.json()["code"]) == (400, "invalid_cursor")


def send(workspace: Workspace, operation: Operation, ids: Mapping[str, str], query: str = "") -> httpx2.Response:
    body = BODIES.get(operation.id, BODY) if operation.takes_body else None
    return workspace.admin.request(operation.method, operation.path(ids) + query, json=body)
