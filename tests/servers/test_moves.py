"""A credential is never sent to a place that it was not entered for: moving a server deletes it."""

from typing import Any

import pytest

from tests.harness import Workspace

pytestmark = pytest.mark.requirement("EGR-10")

URL = "https://mcp.example.com/mcp"
CONFIGS: dict[str, dict[str, Any]] = {
    "none": {},
    "header": {"headerValue": "Bearer canary", "headers": {"X-Key": "canary"}},
    "basic": {"username": "ada", "password": "canary"},
    "oauth": {},
}
US, EU = "https://us.posthog.com", "https://eu.posthog.com"
POSTHOG = {"serviceType": "posthog", "authType": "header", "url": US, "config": {"apiKey": "phx_canary"}}

SAME_ORIGIN = [
    (URL, "https://mcp.example.com"),
    (URL, "https://mcp.example.com/other?x=1"),
    (URL, "https://MCP.Example.COM/mcp"),
    (URL, "HTTPS://mcp.example.com/mcp"),
    (URL, "https://mcp.example.com:443/mcp"),
    ("https://mcp.example.com:443/mcp", URL),
    (URL, "https://mcp.example.com./mcp"),
    ("https://mcp.example.com:8443/a", "https://mcp.example.com:8443/b"),
    ("https://[2606:4700:4700::1111]/", "https://[2606:4700:4700:0:0:0:0:1111]:443/mcp"),
]
OTHER_ORIGIN = [
    (URL, "https://mcp.example.org/mcp"),
    (URL, "https://example.com/mcp"),
    (URL, "https://evil.mcp.example.com/mcp"),
    (URL, "https://mcp.example.com.evil.com/mcp"),
    (URL, "https://mcp.example.com:8443/mcp"),
    ("https://mcp.example.com:8443/mcp", URL),
    ("https://mcp.example.com:8443/mcp", "https://mcp.example.com:8444/mcp"),
    ("https://8.8.8.8/mcp", "https://8.8.4.4/mcp"),
]


def put(workspace: Workspace, created: dict[str, Any], **fields: Any) -> dict[str, Any]:
    response = workspace.admin.put(f"{workspace.servers}/{created['id']}", json=fields)
    assert response.status_code == 200, response.text
    changed: dict[str, Any] = response.json()
    return changed


@pytest.mark.parametrize(("before", "after"), SAME_ORIGIN)
def test_another_url_of_the_same_origin_keeps_the_credentials(workspace: Workspace, before: str, after: str) -> None:
    server = workspace.make_server(url=before, config=CONFIGS["header"])
    stored = workspace.stored_credentials(server["id"])

    changed = put(workspace, server, url=after)

    assert changed["url"] == after
    assert changed["configured"] == ["headerValue", "headers"]
    assert workspace.stored_credentials(server["id"]) == stored


@pytest.mark.parametrize(("before", "after"), OTHER_ORIGIN)
@pytest.mark.parametrize("auth_type", ["header", "basic"])
def test_another_origin_drops_the_credentials(workspace: Workspace, auth_type: str, before: str, after: str) -> None:
    server = workspace.make_server(url=before, authType=auth_type, config=CONFIGS[auth_type])

    assert put(workspace, server, url=after)["configured"] == []
    assert workspace.stored_credentials(server["id"]) == {}
    assert put(workspace, server, url=before)["configured"] == []


def test_another_origin_accepts_new_credentials(workspace: Workspace) -> None:
    server = workspace.make_server(url=URL, config=CONFIGS["header"])

    changed = put(workspace, server, url="https://mcp.example.org", config={"headerValue": "Bearer canary-new"})

    assert changed["configured"] == ["headerValue"]
    assert workspace.stored_credentials(server["id"]) == {"headerValue": "Bearer canary-new"}


def test_another_origin_gets_none_of_the_stored_headers(workspace: Workspace) -> None:
    server = workspace.make_server(url=URL, config=CONFIGS["header"])

    changed = put(workspace, server, url="https://mcp.example.org", config={"headers": {"X-Tenant": "canary-new"}})

    assert changed["configured"] == ["headers"]
    assert workspace.stored_credentials(server["id"]) == {"headers": '{"X-Tenant":"canary-new"}'}


@pytest.mark.parametrize("config", [{}, {"headerValue": None}, {"headers": None}])
def test_another_origin_drops_credentials_despite_an_empty_config(
    workspace: Workspace, config: dict[str, None]
) -> None:
    server = workspace.make_server(url=URL, config=CONFIGS["header"])

    assert put(workspace, server, url="https://mcp.example.org", config=config)["configured"] == []
    assert workspace.stored_credentials(server["id"]) == {}


@pytest.mark.parametrize("after", CONFIGS)
@pytest.mark.parametrize("before", CONFIGS)
def test_another_auth_type_drops_the_credentials(workspace: Workspace, before: str, after: str) -> None:
    server = workspace.make_server(url=URL, authType=before, config=CONFIGS[before])

    changed = put(workspace, server, authType=after)

    kept = CONFIGS[before] if before == after else {}
    assert changed["configured"] == sorted(kept)
    assert sorted(workspace.stored_credentials(server["id"])) == sorted(kept)
    assert put(workspace, server, authType=before)["configured"] == sorted(kept)


@pytest.mark.parametrize("after", CONFIGS)
@pytest.mark.parametrize("before", CONFIGS)
def test_another_auth_type_accepts_its_own_credentials(workspace: Workspace, before: str, after: str) -> None:
    server = workspace.make_server(url=URL, authType=before, config=CONFIGS[before])

    changed = put(workspace, server, authType=after, config=CONFIGS[after])

    assert changed["configured"] == sorted(CONFIGS[after])
    assert sorted(workspace.stored_credentials(server["id"])) == sorted(CONFIGS[after])


def test_a_move_to_a_service_and_back_drops_the_credentials(workspace: Workspace) -> None:
    server = workspace.make_server(url=URL, config=CONFIGS["header"])

    service = put(workspace, server, serviceType="linear", authType="oauth")
    assert (service["url"], service["configured"]) == (None, [])
    assert workspace.stored_credentials(server["id"]) == {}

    back = put(workspace, server, serviceType="external", authType="header", url=URL)
    assert (back["url"], back["configured"]) == (URL, [])
    assert workspace.stored_credentials(server["id"]) == {}
    assert put(workspace, server, config=CONFIGS["header"])["configured"] == ["headerValue", "headers"]


def test_a_service_that_becomes_external_needs_a_url(workspace: Workspace) -> None:
    server = workspace.make_server(serviceType="linear", authType="oauth", url=None, config={})

    response = workspace.admin.put(f"{workspace.servers}/{server['id']}", json={"serviceType": "external"})

    assert response.status_code == 422
    assert [error["path"] for error in response.json()["errors"]] == ["url"]


def test_another_service_with_the_same_url_drops_the_credentials(workspace: Workspace) -> None:
    server = workspace.make_server(**POSTHOG)

    external = put(workspace, server, serviceType="external")
    assert (external["url"], external["configured"]) == (US, [])

    put(workspace, server, config={"headerValue": "Bearer canary"})
    assert put(workspace, server, serviceType="posthog")["configured"] == []
    assert workspace.stored_credentials(server["id"]) == {}


def test_the_other_region_of_posthog_is_another_origin(workspace: Workspace) -> None:
    server = workspace.make_server(**POSTHOG)

    assert put(workspace, server, url=EU)["configured"] == []
    assert put(workspace, server, url=US, config={"apiKey": "phx_canary-2"})["configured"] == ["apiKey"]
    assert workspace.stored_credentials(server["id"]) == {"apiKey": "phx_canary-2"}


@pytest.mark.parametrize("config", [{"headerValue": "Bearer canary"}, {"apiKey": "k", "headers": {"X-Key": "v"}}])
def test_a_move_refuses_credentials_of_another_type(workspace: Workspace, config: dict[str, Any]) -> None:
    server = workspace.make_server(url=US, config=CONFIGS["header"])

    path = f"{workspace.servers}/{server['id']}"
    response = workspace.admin.put(path, json={"serviceType": "posthog", "config": config})

    assert response.status_code == 422
    assert workspace.admin.get(path).json() == server
    assert len(workspace.stored_credentials(server["id"])) == 2


def test_the_audit_trail_records_dropped_credentials(workspace: Workspace) -> None:
    server = workspace.make_server(url=URL, config=CONFIGS["header"])
    put(workspace, server, url="https://mcp.example.org")

    newest = workspace.admin.get(workspace.audit).json()[0]

    assert newest["action"] == "server.updated"
    assert newest["fields"] == ["config.headerValue", "config.headers", "url"]
