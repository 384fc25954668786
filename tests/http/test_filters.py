"""Lists are filtered, searched and ordered within bounds, and no query parameter is ignored."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest

from tests.harness import Workspace, error_paths

Json = dict[str, Any]


def names(response: httpx2.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [item["name"] for item in response.json()]


def next_page(response: httpx2.Response) -> str | None:
    match = re.fullmatch(r'<(.+)>; rel="next"', response.headers.get("Link", ""))
    return match and match[1]


@pytest.fixture
def servers(workspace: Workspace) -> str:
    workspace.make_server(name="Weather", description="Rain and SUN.")
    workspace.make_server(name="Stocks", url="https://stocks.example.com/mcp", authType="none", config={})
    workspace.make_server(name="Wiki", enabled=False)
    workspace.make_server(name="Notes", serviceType="notion", authType="oauth", url=None, config={})
    return workspace.servers


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q=WEATHER", ["Weather", "Wiki"]),  # the URL of both
        ("q=sun", ["Weather"]),
        ("q=wiki", ["Wiki"]),
        ("q=nothing", []),
        ("serviceType=notion", ["Notes"]),
        ("serviceType=external", ["Weather", "Stocks", "Wiki"]),
        ("authType=none", ["Stocks"]),
        ("enabled=false", ["Wiki"]),
        ("enabled=true&authType=header", ["Weather"]),
        ("state=ready", ["Weather", "Stocks"]),
        ("state=incomplete", ["Notes"]),
        ("state=disabled", ["Wiki"]),
        ("order=newest", ["Notes", "Wiki", "Stocks", "Weather"]),
        ("order=newest&q=w", ["Wiki", "Weather"]),
        ("order=oldest", ["Weather", "Stocks", "Wiki", "Notes"]),
    ],
)
def test_servers_are_filtered(workspace: Workspace, servers: str, query: str, expected: list[str]) -> None:
    assert names(workspace.admin.get(f"{servers}?{query}")) == expected


def test_a_cleared_credential_makes_a_server_incomplete(workspace: Workspace) -> None:
    server = workspace.make_server()
    workspace.admin.put(f"{workspace.servers}/{server['id']}", json={"config": {"headerValue": None}})

    assert names(workspace.admin.get(f"{workspace.servers}?state=incomplete")) == [server["name"]]


def test_agents_keys_and_workspaces_are_filtered(workspace: Workspace) -> None:
    server = workspace.make_server()["id"]
    workspace.make_agent(name="Support", enabledMcpServerIds=[server])
    workspace.make_agent(name="Sales", description="supports sales")
    workspace.make_key("read", name="Reader")
    admin, operator = workspace.admin, workspace.plugboard.operator
    unique = workspace.plugboard.make_workspace("Umbrella 7f3")

    assert names(admin.get(f"{workspace.agents}?q=support")) == ["Support", "Sales"]
    assert names(admin.get(f"{workspace.agents}?q=sales")) == ["Sales"]
    assert names(admin.get(f"{workspace.agents}?server={server}")) == ["Support"]
    assert names(admin.get(f"{workspace.agents}?order=newest")) == ["Sales", "Support"]
    assert names(admin.get(f"{workspace.api_keys}?scope=read")) == ["Reader"]
    assert names(admin.get(f"{workspace.api_keys}?q=READ&scope=admin")) == []
    found, page = [], "/api/workspaces?q=umbrella%207F3"
    while page:
        response = operator.get(page)
        found += response.json()
        page = next_page(response) or ""
    assert [item["id"] for item in found] == [unique.id]


def test_audit_records_are_filtered(workspace: Workspace) -> None:
    server, agent = workspace.make_server(), workspace.make_agent()
    manager = workspace.make_key("manage")
    workspace.plugboard.caller(manager["apiKey"]).put(f"{workspace.servers}/{server['id']}", json={"name": "New"})

    def actions(query: str) -> list[str]:
        response = workspace.admin.get(f"{workspace.audit}?{query}")
        assert response.status_code == 200, response.text
        return [record["action"] for record in response.json()]

    assert actions(f"server={server['id']}") == ["server.updated", "server.created"]
    assert actions(f"actor={manager['id']}") == ["server.updated"]
    assert actions(f"agent={agent['id']}") == ["agent.created"]
    assert actions(f"server={server['id']}&actor={manager['id']}&kind=config") == ["server.updated"]
    assert actions("tool=forecast") == actions("outcome=ok") == []
    since = workspace.admin.get(f"{workspace.agents}/{agent['id']}").json()["createdAt"]
    assert "agent.created" in actions(f"since={since}")
    assert "agent.created" not in actions(f"until={since}")
    assert actions("since=2999-01-01T00:00:00Z") == actions("until=1969-01-01T00:00:00Z") == []
    assert len(actions("since=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59Z")) == len(actions(""))


@pytest.mark.parametrize(
    ("path", "query", "message"),
    [
        ("servers", "serviceType=linaer", "Must be one of `external`, {services}. Did you mean `linear`?"),
        ("servers", "authType=NONE", "Must be one of `none`, `header`, `basic`, `oauth`. Use `none`."),
        ("audit", "outcome=tool_eror", "Must be one of `ok`, `tool_error`, {}Did you mean `tool_error`?"),
        ("audit", "outcome=fail", "Must be one of `ok`, `tool_error`, {}`abandoned`."),
        ("audit", "server=weather", "Must be a server's id, of the form `server_…`, not its name or slug."),
        ("audit", "agent=Support", "Must be an agent's id, of the form `agent_…`, not its name or slug."),
        ("agents", "server=weather", "Must be a server's id, of the form `server_…`, not its name or slug."),
        ("audit", "since=2027-01-02T00:00:00Z&until=2027-01-01T00:00:00Z", "Must not be before `since`."),
    ],
)
def test_a_mistyped_value_of_a_filter_is_refused(workspace: Workspace, path: str, query: str, message: str) -> None:
    response = workspace.admin.get(f"{getattr(workspace, path)}?{query}")

    assert response.status_code == 422, response.text
    (error,) = response.json()["errors"]
    assert f"{error['path']}=" in query
    begin, _, end = message.partition("{")
    assert error["message"].startswith(begin)
    assert error["message"].endswith(end.partition("}")[2])


def test_the_ids_of_deleted_objects_are_values_of_filters(workspace: Workspace) -> None:
    server, agent = workspace.make_server()["id"], workspace.make_agent()["id"]
    assert workspace.admin.delete(f"{workspace.servers}/{server}").status_code == 204
    assert workspace.admin.delete(f"{workspace.agents}/{agent}").status_code == 204

    assert workspace.admin.get(f"{workspace.agents}?server={server}").json() == []
    for query, actions in (
        (f"server={server}", ["server.deleted", "server.created"]),
        (f"agent={agent}", ["agent.deleted", "agent.created"]),
    ):
        assert [record["action"] for record in workspace.admin.get(f"{workspace.audit}?{query}").json()] == actions


def test_pages_of_a_filtered_list_are_complete(workspace: Workspace) -> None:
    for number in range(7):
        workspace.make_agent(name=f"{'Even' if number % 2 == 0 else 'Odd'} {number}")

    found: list[str] = []
    page: str | None = f"{workspace.agents}?q=even&limit=2&order=newest"
    while page:
        response = workspace.admin.get(page)
        found += names(response)
        page = next_page(response)

    assert found == ["Even 6", "Even 4", "Even 2", "Even 0"]


def test_a_cursor_is_refused_with_other_filters(workspace: Workspace, servers: str) -> None:
    first = workspace.admin.get(f"{servers}?limit=1&authType=header")
    following = next_page(first)
    assert following is not None
    assert names(workspace.admin.get(following)) == ["Wiki"]

    for changed in (
        following.replace("authType=header", "authType=none"),
        following.replace("authType=header&", ""),
        following + "&order=newest",
    ):
        response = workspace.admin.get(changed)
        assert (response.status_code, response.json()["code"]) == (400, "invalid_cursor")


@pytest.mark.parametrize(
    "query",
    ["authType=bearer", "enabled=yes", "enabled=", "state=", "order=name", "q=", f"q={'x' * 201}", "serviceType="],
)
def test_a_value_that_a_filter_does_not_have_is_refused(workspace: Workspace, query: str) -> None:
    assert error_paths(workspace.admin.get(f"{workspace.servers}?{query}")) == [query.partition("=")[0]]


@pytest.mark.parametrize("query", ["kind=all", "since=yesterday", "until=", "tool="])
def test_a_value_that_a_filter_of_the_audit_does_not_have_is_refused(workspace: Workspace, query: str) -> None:
    assert error_paths(workspace.admin.get(f"{workspace.audit}?{query}")) == [query.partition("=")[0]]


@pytest.mark.parametrize(
    ("method", "path", "known"),
    [
        ("GET", "{servers}", "limit, cursor, q, serviceType, authType, enabled, state, order"),
        ("POST", "{servers}", None),
        ("GET", "{path}", None),
        ("GET", "{audit}", "limit, cursor, kind, actor, agent, server, tool, outcome, since, until"),
        ("GET", "/api/services", None),
        ("GET", "{agents}/{agent}/tools", "format"),
        ("POST", "{agents}/{agent}/tool-calls", None),
        ("DELETE", "{servers}/{server}", "detach"),
    ],
)
def test_an_unknown_query_parameter_is_refused(workspace: Workspace, method: str, path: str, known: str | None) -> None:
    server, agent = workspace.make_server()["id"], workspace.make_agent()["id"]
    parts = {"servers": workspace.servers, "path": workspace.path, "audit": workspace.audit, "agents": workspace.agents}
    url = path.format(**parts, server=server, agent=agent)

    response = workspace.admin.request(method, f"{url}?colour=red&{'k' * 80}=1", json={"toolName": "x", "args": {}})

    assert error_paths(response) == ["colour", "…"]
    listed = f"Parameters: {known}." if known else "This request takes none."
    assert response.json()["errors"][0]["message"] == f"There is no such query parameter. {listed}"
    assert workspace.admin.get(f"{workspace.servers}/{server}").status_code == 200


def test_who_may_not_read_learns_no_parameters(workspace: Workspace) -> None:
    assert workspace.plugboard.caller().get(f"{workspace.servers}?colour=red").status_code == 401
    assert workspace.caller("invoke").get(f"{workspace.servers}?colour=red").status_code == 403
