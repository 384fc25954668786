from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from api.main.settings import Settings
from tests.harness import Plugboard, Workspace, served

WITH_OAUTH = ("hubspot", "linear", "notion", "slack")
ALL = sorted([*WITH_OAUTH, "posthog"])
APP = {"NOTION_OAUTH_CLIENT_ID": "canary-id", "NOTION_OAUTH_CLIENT_SECRET": "canary-secret"}


def services(plugboard: Plugboard) -> dict[str, dict[str, Any]]:
    response = plugboard.operator.get("/api/services")
    assert response.status_code == 200, response.text
    return {service["serviceType"]: service for service in response.json()}


def served_with(folder: Path, environment: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    settings = Settings.from_environment({"PLUGBOARD_DATA_DIR": str(folder), **environment})
    with served(settings) as plugboard:
        response = plugboard.operator.get("/api/services")
        assert "canary" not in response.text
        return {service["serviceType"]: service for service in response.json()}


def test_there_are_five_services(plugboard: Plugboard) -> None:
    response = plugboard.operator.get("/api/services")

    assert [service["serviceType"] for service in response.json()] == ALL
    assert "Link" not in response.headers


def test_every_service_lists_its_requirements(plugboard: Plugboard) -> None:
    for name, service in services(plugboard).items():
        assert set(service) == {
            "serviceType",
            "title",
            "description",
            "authTypes",
            "urls",
            "configFields",
            "scopes",
            "tools",
            "configured",
            "needs",
            "redirectUri",
            "docsUrl",
            "consoleUrl",
        }
        assert service["title"].lower() == name
        assert service["description"]
        assert service["docsUrl"].startswith("https://")
        assert service["consoleUrl"].startswith("https://")


@pytest.mark.parametrize("name", WITH_OAUTH)
def test_an_oauth_service_describes_its_setup(plugboard: Plugboard, name: str) -> None:
    service = services(plugboard)[name]

    assert service["authTypes"] == ["oauth"]
    assert (service["urls"], service["configFields"]) == ([], [])
    assert service["needs"] == [f"{name.upper()}_OAUTH_CLIENT_ID", f"{name.upper()}_OAUTH_CLIENT_SECRET"]
    assert service["redirectUri"] == f"http://127.0.0.1:8400/api/mcp/oauth/{name}/callback"
    assert service["configured"] is False


def test_posthog_needs_a_key_from_each_user_and_nothing_from_the_operator(plugboard: Plugboard) -> None:
    posthog = services(plugboard)["posthog"]

    assert posthog["authTypes"] == ["header"]
    assert posthog["urls"] == ["https://us.posthog.com", "https://eu.posthog.com"]
    assert [(field["name"], field["secret"]) for field in posthog["configFields"]] == [("apiKey", True)]
    assert (posthog["scopes"], posthog["needs"], posthog["redirectUri"]) == ([], [], None)
    assert posthog["configured"] is True


def test_every_tool_is_named_after_its_service(plugboard: Plugboard) -> None:
    for name, service in services(plugboard).items():
        tools = [tool["name"] for tool in service["tools"]]
        assert len(set(tools)) == len(tools) > 0
        assert all(tool.startswith(f"{name}_") for tool in tools)
        assert all(tool["description"] and isinstance(tool["writes"], bool) for tool in service["tools"])


@pytest.mark.requirement("ENC-17")
def test_an_operators_app_configures_its_service_and_is_not_shown(tmp_path: Path) -> None:
    listed_services = served_with(
        tmp_path, APP | {"SLACK_OAUTH_CLIENT_ID": "canary", "LINEAR_OAUTH_CLIENT_SECRET": "canary"}
    )

    assert {name for name, service in listed_services.items() if service["configured"]} == {"notion", "posthog"}


@pytest.mark.parametrize("secret", ["", "   "])
def test_an_incomplete_app_does_not_configure_its_service(tmp_path: Path, secret: str) -> None:
    listed_services = served_with(tmp_path, APP | {"NOTION_OAUTH_CLIENT_SECRET": secret})

    assert listed_services["notion"]["configured"] is False


@pytest.mark.parametrize("base", ["https://plugboard.example.com", "https://plugboard.example.com/"])
def test_the_redirect_uri_is_at_the_public_address(tmp_path: Path, base: str) -> None:
    listed_services = served_with(tmp_path, {"OAUTH_REDIRECT_BASE_URL": base})

    assert listed_services["slack"]["redirectUri"] == "https://plugboard.example.com/api/mcp/oauth/slack/callback"


@pytest.mark.parametrize("scope", ["admin", "manage", "read", "invoke"])
def test_any_key_may_list_services(workspace: Workspace, scope: str) -> None:
    assert len(workspace.caller(scope).get("/api/services").json()) == 5


def test_a_key_is_required_to_list_services(plugboard: Plugboard) -> None:
    assert plugboard.caller().get("/api/services").status_code == 401
    assert plugboard.caller("pb_x_y").get("/api/services").status_code == 401


def test_the_listed_requirements_suffice_to_store_a_service(workspace: Workspace) -> None:
    for name, service in services(workspace.plugboard).items():
        for url in service["urls"] or [None]:
            server = workspace.make_server(
                name=service["title"],
                serviceType=name,
                authType=service["authTypes"][0],
                url=url,
                config={field["name"]: "canary" for field in service["configFields"]},
            )
            assert server["serviceType"] == name
