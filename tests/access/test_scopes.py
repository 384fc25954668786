"""Who may do what. Written by hand, so that a change of a guard needs a change here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from api.access.guards import RequiresAnyKey, RequiresOperator, RequiresScope, guard_of
from api.access.principal import Scope
from api.main.app import build_router_app
from api.main.settings import Settings
from tests.harness import WEATHER, Plugboard, Workspace
from tests.operations import BY_CLIENT, GUARDED, IN_A_WORKSPACE, NOTION, Operation

READERS = {"admin", "manage", "read"}
MANAGERS = {"admin", "manage"}
ADMINS = {"admin"}
INVOKERS = {"admin", "invoke"}
OPERATORS = {"operator"}
ALL = {"admin", "manage", "read", "invoke", "operator"}

MAY: Mapping[str, set[str]] = {
    "listWorkspaces": OPERATORS,
    "createWorkspace": OPERATORS,
    "getWorkspace": READERS,
    "updateWorkspace": ADMINS,
    "patchWorkspace": ADMINS,
    "deleteWorkspace": ADMINS | OPERATORS,
    "listApiKeys": ADMINS,
    "createApiKey": ADMINS,
    "getApiKey": ADMINS,
    "revokeApiKey": ADMINS,
    "listServers": READERS,
    "createServer": MANAGERS,
    "getServer": READERS,
    "updateServer": MANAGERS,
    "patchServer": MANAGERS,
    "deleteServer": MANAGERS,
    "listAgents": READERS,
    "createAgent": MANAGERS,
    "getAgent": READERS,
    "updateAgent": MANAGERS,
    "patchAgent": MANAGERS,
    "deleteAgent": MANAGERS,
    "checkServer": MANAGERS,
    "connectServer": MANAGERS,
    "getConnection": READERS,
    "connectClient": MANAGERS,
    "disconnectServer": MANAGERS,
    "listServerTools": READERS,
    "listAgentTools": INVOKERS,
    "callTool": INVOKERS,
    "listAudit": ADMINS,
    "listServices": ALL,
    "getCaller": ALL,
    "getMetrics": OPERATORS,
}
BODIES: Mapping[str, Any] = {
    "createWorkspace": {"name": "New"},
    "updateWorkspace": {"name": "New"},
    "patchWorkspace": {"name": "New"},
    "createApiKey": {"name": "New", "scope": "read"},
    "createServer": WEATHER,
    "updateServer": {"name": "New"},
    "patchServer": {"name": "New"},
    "createAgent": {"name": "New"},
    "updateAgent": {"name": "New"},
    "patchAgent": {"name": "New"},
}


def test_the_table_covers_every_operation_that_requires_a_key() -> None:
    assert {operation.id for operation in GUARDED} == MAY.keys()


@pytest.mark.requirement("AUT-06")
@pytest.mark.parametrize("operation", GUARDED, ids=str)
def test_a_key_may_do_what_its_scope_allows_and_nothing_else(
    plugboard_with_notion: Plugboard, operation: Operation
) -> None:
    for scope in ALL:
        workspace = plugboard_with_notion.make_workspace()
        caller = plugboard_with_notion.operator if scope == "operator" else workspace.caller(scope)
        ids = ids_in(workspace, operation)
        response = operation.send(caller, ids, body_for(workspace, operation, ids))

        if scope in MAY[operation.id]:
            assert response.is_success, f"{scope}: {response.text}"
        else:
            assert (response.status_code, response.json()["code"]) == (403, "forbidden"), scope


def ids_in(workspace: Workspace, operation: Operation) -> dict[str, str]:
    make = {
        "workspaceId": lambda: workspace.id,
        "serverId": lambda: server_for(workspace, operation)["id"],
        "agentId": lambda: workspace.make_agent(enabledMcpServerIds=[workspace.make_silent_server()["id"]])["id"],
        "keyId": lambda: workspace.make_key("read")["id"],
    }
    return {name: make[name]() for name in operation.parameters}


def server_for(workspace: Workspace, operation: Operation) -> dict[str, Any]:
    if operation.id == "connectClient":
        return workspace.make_server(**BY_CLIENT)
    return workspace.make_server(**NOTION) if operation.is_about_a_connection else workspace.make_silent_server()


def body_for(workspace: Workspace, operation: Operation, ids: Mapping[str, str]) -> Any:
    if operation.id != "callTool":
        return BODIES.get(operation.id)
    agent = workspace.admin.get(f"{workspace.agents}/{ids['agentId']}").json()
    return {"toolName": f"mcp_{agent['enabledMcpServerIds'][0]}", "args": {"method": "ping"}}


@pytest.mark.requirement("AUT-06")
def test_the_guards_require_what_the_table_says() -> None:
    by_name = {operation: {str(scope) for scope in Scope if allows(guard, scope)} for operation, guard in guards()}

    assert by_name == MAY


def guards() -> Iterator[tuple[str, object]]:
    for route in build_router_app(Settings()).routes:
        for handler in getattr(route, "route_handlers", ()):
            doc, guard = handler.opt.get("doc"), guard_of(handler)
            if doc and isinstance(guard, RequiresScope | RequiresOperator | RequiresAnyKey):
                yield doc.id, guard
                if "PATCH" in handler.http_methods:
                    yield doc.id.replace("update", "patch"), guard


def allows(guard: object, scope: Scope) -> bool:
    match guard:
        case RequiresScope(scope=needed, operator_too=too):
            return scope.includes(needed) or (too and scope is Scope.OPERATOR)
        case RequiresOperator():
            return scope is Scope.OPERATOR
        case _:
            return True


@pytest.mark.requirement("AUT-06")
@pytest.mark.parametrize("operation", IN_A_WORKSPACE, ids=str)
def test_an_operator_learns_nothing_about_the_contents_of_a_workspace(
    workspace: Workspace, operation: Operation
) -> None:
    if "operator" in MAY[operation.id]:
        return
    operator, there = workspace.plugboard.operator, ids_in(workspace, operation)
    body = body_for(workspace, operation, there)
    nowhere = {name: text[:-4] + "0000" for name, text in there.items()}

    assert operation.send(operator, there, body).content == operation.send(operator, nowhere, body).content


def test_a_scope_includes_only_its_parts() -> None:
    included = {scope: {other for other in Scope if scope.includes(other)} for scope in Scope}

    assert included == {
        Scope.ADMIN: {Scope.ADMIN, Scope.MANAGE, Scope.READ, Scope.INVOKE},
        Scope.MANAGE: {Scope.MANAGE, Scope.READ},
        Scope.READ: {Scope.READ},
        Scope.INVOKE: {Scope.INVOKE},
        Scope.OPERATOR: {Scope.OPERATOR},
    }
