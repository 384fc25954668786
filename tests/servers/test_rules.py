"""The valid combinations of authType, serviceType, URL and config."""

from itertools import product
from typing import Any

import pytest

from tests.harness import Workspace, error_paths

AUTH_TYPES = ("none", "header", "basic", "oauth")
WITH_OAUTH = ("hubspot", "linear", "notion", "slack")
URL = "https://mcp.example.com/mcp"
POSTHOG = ("https://us.posthog.com", "https://eu.posthog.com")

CONFIGS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "headerValue": {"headerValue": "Bearer canary"},
    "headers": {"headers": {"X-Key": "canary"}},
    "both headers": {"headerValue": "Bearer canary", "headers": {"X-Key": "canary"}},
    "basic": {"username": "ada", "password": "canary"},
    "no password": {"username": "ada"},
    "no username": {"password": "canary"},
    "apiKey": {"apiKey": "phx_canary"},
    "apiKey and more": {"apiKey": "phx_canary", "headerValue": "Bearer canary"},
    "nulls": {"headerValue": None, "headers": None, "username": None, "password": None, "apiKey": None},
    "no headers": {"headers": {}},
}
NOTHING = {"nothing", "nulls", "no headers"}

# What each kind of server takes, and what is wrong with the rest.
TAKEN = {
    ("external", "none"): NOTHING,
    ("external", "header"): {"headerValue", "headers", "both headers"},
    ("external", "basic"): {"basic"},
    ("external", "oauth"): NOTHING,
    ("posthog", "header"): {"apiKey"},
    **{(service, "oauth"): NOTHING for service in WITH_OAUTH},
}
SERVICES = ("external", "posthog", *WITH_OAUTH)


def draft(service: str, auth_type: str, config: str) -> dict[str, Any]:
    urls = {"external": {"url": URL}, "posthog": {"url": POSTHOG[0]}}.get(service, {})
    return {"name": "S", "serviceType": service, "authType": auth_type, "config": CONFIGS[config], **urls}


@pytest.mark.parametrize(("service", "auth_type"), [*product(SERVICES, AUTH_TYPES)])
def test_only_valid_combinations_are_stored(workspace: Workspace, service: str, auth_type: str) -> None:
    for config, values in CONFIGS.items():
        response = workspace.admin.post(workspace.servers, json=draft(service, auth_type, config))

        if (service, auth_type) not in TAKEN:
            assert error_paths(response) == ["authType"], config
        elif config not in TAKEN[service, auth_type]:
            assert {path.partition(".")[0] for path in error_paths(response)} == {"config"}, config
        else:
            assert response.status_code == 201, response.text
            given = values if config not in NOTHING else {}
            assert response.json()["configured"] == sorted(given)


@pytest.mark.parametrize(("service", "auth_type"), [*product(SERVICES, AUTH_TYPES)])
def test_a_change_follows_the_same_rules(workspace: Workspace, service: str, auth_type: str) -> None:
    for config, values in CONFIGS.items():
        server = workspace.make_server(authType="none", config={})
        wanted = draft(service, auth_type, config)

        response = workspace.admin.put(f"{workspace.servers}/{server['id']}", json=wanted)

        if (service, auth_type) not in TAKEN:
            assert error_paths(response) == ["authType"], config
        elif config not in TAKEN[service, auth_type] | NOTHING:  # credentials may come later, wrong ones may not
            assert {path.partition(".")[0] for path in error_paths(response)} == {"config"}, config
        else:
            assert response.status_code == 200, response.text
            given = values if config not in NOTHING else {}
            assert response.json()["configured"] == sorted(given)


@pytest.mark.parametrize(
    ("service", "auth_type", "config", "wrong"),
    [
        ("external", "none", "headerValue", ["config.headerValue"]),
        ("external", "none", "basic", ["config.password", "config.username"]),
        ("external", "header", "nothing", ["config.headerValue"]),
        ("external", "header", "no headers", ["config.headerValue"]),
        ("external", "basic", "nothing", ["config.username", "config.password"]),
        ("external", "basic", "no password", ["config.password"]),
        ("external", "basic", "no username", ["config.username"]),
        ("external", "oauth", "headers", ["config.headers"]),
        ("posthog", "header", "nothing", ["config.apiKey"]),
        ("posthog", "header", "headerValue", ["config.headerValue", "config.apiKey"]),
        ("posthog", "header", "apiKey and more", ["config.headerValue"]),
        ("linear", "oauth", "apiKey", ["config.apiKey"]),
    ],
)
def test_the_error_names_the_missing_credential(
    workspace: Workspace, service: str, auth_type: str, config: str, wrong: list[str]
) -> None:
    assert error_paths(workspace.admin.post(workspace.servers, json=draft(service, auth_type, config))) == wrong


def test_the_error_names_the_requirements_of_the_service(workspace: Workspace) -> None:
    def message(**sent: Any) -> str:
        response = workspace.admin.post(workspace.servers, json={"name": "S"} | sent)
        assert response.status_code == 422
        return str(response.json()["errors"][0]["message"])

    assert "`oauth`" in message(serviceType="slack", authType="header", config={"headerValue": "v"})
    assert "`header`" in message(serviceType="posthog", authType="oauth", url=POSTHOG[0])
    known = message(serviceType="gmail", authType="oauth")
    assert all(service in known for service in SERVICES)
    posthog = message(serviceType="posthog", authType="header", config={"apiKey": "k"})
    assert all(url in posthog for url in POSTHOG)


@pytest.mark.requirement("EGR-10")
@pytest.mark.parametrize("url", POSTHOG)
def test_posthog_has_one_of_two_urls(workspace: Workspace, url: str) -> None:
    server = workspace.make_server(serviceType="posthog", url=url, config={"apiKey": "phx_canary"})

    assert server["url"] == url
    assert server["configured"] == ["apiKey"]


@pytest.mark.requirement("EGR-10")
@pytest.mark.parametrize(
    "url",
    [
        None,
        "https://us.posthog.com/",
        "https://us.posthog.com:443",
        "https://US.posthog.com",
        "http://us.posthog.com",
        "https://app.posthog.com",
        "https://posthog.com",
        "https://us.posthog.com.",
        "https://us.posthog.com.example.com",
        "https://us.posthog.com/api",
        " https://us.posthog.com",
        "https://example.com",
    ],
)
def test_posthog_accepts_no_other_url(workspace: Workspace, url: str | None) -> None:
    sent = {"name": "P", "serviceType": "posthog", "authType": "header", "config": {"apiKey": "k"}, "url": url}
    assert error_paths(workspace.admin.post(workspace.servers, json=sent)) == ["url"]

    server = workspace.make_server(serviceType="posthog", url=POSTHOG[0], config={"apiKey": "k"})
    assert error_paths(workspace.admin.put(f"{workspace.servers}/{server['id']}", json={"url": url})) == ["url"]


@pytest.mark.parametrize("service", WITH_OAUTH)
def test_a_service_has_its_own_url(workspace: Workspace, service: str) -> None:
    server = workspace.make_server(serviceType=service, authType="oauth", url=None, config={})
    path = f"{workspace.servers}/{server['id']}"

    assert server["url"] is None
    assert server["oauthConnected"] is False
    assert error_paths(workspace.admin.put(path, json={"url": "https://example.com"})) == ["url"]
    assert workspace.admin.put(path, json={"url": None}).status_code == 200
    sent = {"name": "S", "serviceType": service, "authType": "oauth", "url": f"https://{service}.com"}
    assert error_paths(workspace.admin.post(workspace.servers, json=sent)) == ["url"]


def test_any_remote_server_can_have_oauth(workspace: Workspace) -> None:
    server = workspace.make_server(authType="oauth", config={})

    assert (server["serviceType"], server["authType"]) == ("external", "oauth")
    assert server["oauthConnected"] is False


@pytest.mark.parametrize("service", ["posthog", *WITH_OAUTH])
@pytest.mark.parametrize("exposure", ["generic", "tools"])
def test_a_service_has_no_exposure(workspace: Workspace, service: str, exposure: str) -> None:
    auth_type, config = ("header", "apiKey") if service == "posthog" else ("oauth", "nothing")
    sent = draft(service, auth_type, config)
    assert error_paths(workspace.admin.post(workspace.servers, json=sent | {"exposure": exposure})) == ["exposure"]

    created = workspace.admin.post(workspace.servers, json=sent | {"exposure": "both"}).json()
    path = f"{workspace.servers}/{created['id']}"
    assert error_paths(workspace.admin.put(path, json={"exposure": exposure})) == ["exposure"]
    assert workspace.admin.get(path).json() == created


def test_a_server_with_an_exposure_cannot_silently_become_a_service(workspace: Workspace) -> None:
    server = workspace.make_server(exposure="tools")
    path = f"{workspace.servers}/{server['id']}"
    becomes = {"serviceType": "linear", "authType": "oauth"}

    assert error_paths(workspace.admin.put(path, json=becomes)) == ["exposure"]
    assert workspace.admin.put(path, json=becomes | {"exposure": "both"}).json()["url"] is None
