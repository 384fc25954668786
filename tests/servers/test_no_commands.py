"""Servers are reached over HTTP only: nothing that could start a program is accepted."""

from typing import Any

import pytest

from tests.harness import WEATHER, Workspace, error_paths

pytestmark = pytest.mark.requirement("EGR-14")

STARTS_A_PROGRAM: dict[str, Any] = {
    "command": "npx",
    "args": ["-y", "some-server"],
    "env": {"PATH": "/opt"},
    "cwd": "/opt",
    "stdio": {"command": "npx"},
    "transport": "stdio",
    "type": "stdio",
    "mcpServers": {"a": {"command": "npx"}},
}
AGENT = {"name": "Support"}
API_KEY = {"name": "CI", "scope": "read"}


@pytest.mark.parametrize("field", STARTS_A_PROGRAM)
def test_a_field_that_would_start_a_program_is_refused(workspace: Workspace, field: str) -> None:
    extra = {field: STARTS_A_PROGRAM[field]}
    server, agent = workspace.make_server(), workspace.make_agent()
    takes: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", workspace.servers, WEATHER),
        ("PUT", f"{workspace.servers}/{server['id']}", {}),
        ("PUT", f"{workspace.servers}/{server['id']}", WEATHER),
        ("POST", workspace.agents, AGENT),
        ("PUT", f"{workspace.agents}/{agent['id']}", {}),
        ("POST", workspace.api_keys, API_KEY),
        ("PUT", workspace.path, {"name": "Acme"}),
    ]

    for method, path, body in takes:
        assert error_paths(workspace.admin.request(method, path, json=body | extra)) == [field], path
    response = workspace.plugboard.operator.post("/api/workspaces", json={"name": "Acme"} | extra)
    assert error_paths(response) == [field]
    assert workspace.admin.get(workspace.servers).json() == [server]
    assert workspace.admin.get(workspace.agents).json() == [agent]


@pytest.mark.parametrize("field", STARTS_A_PROGRAM)
def test_a_credential_that_would_start_a_program_is_refused(workspace: Workspace, field: str) -> None:
    config = {"headerValue": "Bearer canary", field: STARTS_A_PROGRAM[field]}
    server = workspace.make_server()

    for method, path in (("POST", workspace.servers), ("PUT", f"{workspace.servers}/{server['id']}")):
        assert error_paths(workspace.admin.request(method, path, json=WEATHER | {"config": config})) == [
            f"config.{field}"
        ]


@pytest.mark.parametrize("service_type", ["stdio", "command", "local"])
def test_no_service_type_starts_a_program(workspace: Workspace, service_type: str) -> None:
    response = workspace.admin.post(workspace.servers, json=WEATHER | {"serviceType": service_type})

    assert error_paths(response) == ["serviceType"]


@pytest.mark.parametrize("url", ["stdio:///bin/sh", "file:///etc/passwd", "npx:some-server", "unix:///tmp/socket"])
def test_no_url_starts_a_program(workspace: Workspace, url: str) -> None:
    assert error_paths(workspace.admin.post(workspace.servers, json=WEATHER | {"url": url})) == ["url"]
