"""A service that consists of a folder with a manifest and no code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from api.main.settings import Settings
from demo.oauth_provider.server import OAuthProvider, Tenant
from integrations import load_services
from tests.connections.workspace_owner import WorkspaceOwner, revocation_jobs, wait_until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, served

MANIFEST = """
name = "acme-desk"
title = "Acme Desk"
description = "Read the tickets of a help desk."
console_url = "https://desk.acme.example/apps"
docs_url = "https://desk.acme.example/docs"
auth_types = ["oauth"]
api_base_url = "https://api.desk.acme.example"

[oauth]
authorize_url = "https://desk.acme.example/oauth/authorize"
authorize_params = { actor = "app" }
token_url = "https://desk.acme.example/oauth/token"
client_auth = "body"
token_body = "form"
scopes = ["read", "issues:create"]
scope_separator = ","
pkce = true

[oauth.revoke]
url = "https://desk.acme.example/oauth/revoke"
client_auth = "body"
body = "form"
tokens = { refresh = "refresh_token", access = "access_token" }

[oauth.account]
id = "desk.number"
workspace = "desk.name"

[probe]
path = "/api/me"

[[tools]]
name = "acme_desk_list_tickets"
description = "List the tickets."
writes = false
"""
AS_IF_ACME = {"access_life": 1800.0, "expires_in": 1800.0, "answer_changes": {"desk": {"number": 77, "name": "First"}}}


@pytest.fixture
def vendor(provider: OAuthProvider) -> Tenant:
    """It speaks as one of those that are known, with another app and in other words."""
    tenant = provider.tenant("linear")
    tenant.add_client("desk-app", secret="canary-desk", auth="client_secret_post")
    tenant.configure(**AS_IF_ACME)
    return tenant


@pytest.fixture
def environment(provider: OAuthProvider, tmp_path: Path) -> dict[str, str]:
    linear = provider.url("/linear")
    return {
        "PLUGBOARD_DATA_DIR": str(tmp_path / "var"),
        "ACME_DESK_OAUTH_CLIENT_ID": "desk-app",
        "ACME_DESK_OAUTH_CLIENT_SECRET": "canary-desk",
        "ACME_DESK_OAUTH_AUTHORIZE_URL": f"{linear}/oauth/authorize",
        "ACME_DESK_OAUTH_TOKEN_URL": f"{linear}/oauth/token",
        "ACME_DESK_OAUTH_REVOKE_URL": f"{linear}/oauth/revoke",
        "ACME_DESK_API_BASE_URL": linear,
    }


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    folder = tmp_path / "services" / "acme-desk"
    folder.mkdir(parents=True)
    (folder / "manifest.toml").write_text(MANIFEST)
    return folder.parent


@pytest.fixture
def sixth(environment: dict[str, str], catalog: Path) -> Iterator[Plugboard]:
    with served(Settings.from_environment(environment), catalog=load_services(catalog)) as plugboard:
        yield plugboard


def test_a_sixth_service_is_connected_called_renewed_and_disconnected(sixth: Plugboard, vendor: Tenant) -> None:
    owner = WorkspaceOwner.at(sixth)
    server = owner.service("acme-desk")
    assert owner.check(server)["status"] == "unauthorized"

    owner.connected(server)

    status = owner.status(server)
    assert status["account"] == {"id": "77", "name": None, "workspace": "First", "url": None}
    assert (status["askedScopes"], status["scopes"]) == (["read", "issues:create"],) * 2
    assert status["redirectUri"].endswith("/api/mcp/oauth/acme-desk/callback")
    authorize = vendor.requests_to("authorize")[0].query
    assert (authorize["actor"], authorize["scope"]) == ("app", "read,issues:create")
    assert authorize["code_challenge_method"] == "S256"
    assert owner.check(server)["status"] == "ok"

    vendor.expire_tokens()
    assert owner.check(server)["status"] == "ok"
    assert (vendor.counts["refreshes"], vendor.counts["reuses"]) == (1, 0)

    owner.disconnect(server)
    wait_until(lambda: revocation_jobs(sixth) == [])
    assert (vendor.live_tokens("access"), vendor.live_tokens("refresh")) == ([], [])
    assert owner.check(server)["status"] == "unauthorized"


def test_a_sixth_service_is_listed_with_its_variables(sixth: Plugboard) -> None:
    listed = WorkspaceOwner.at(sixth).admin.get("/api/services").json()

    assert [(item["serviceType"], item["configured"]) for item in listed] == [("acme-desk", True)]
    assert listed[0]["needs"] == ["ACME_DESK_OAUTH_CLIENT_ID", "ACME_DESK_OAUTH_CLIENT_SECRET"]
    assert [tool["name"] for tool in listed[0]["tools"]] == ["acme_desk_list_tickets"]


def test_connecting_a_service_without_an_app_names_the_variables(environment: dict[str, str], catalog: Path) -> None:
    del environment["ACME_DESK_OAUTH_CLIENT_SECRET"]
    with served(Settings.from_environment(environment), catalog=load_services(catalog)) as plugboard:
        owner = WorkspaceOwner.at(plugboard)
        response = owner.admin.get(owner.path(owner.service("acme-desk"), "/oauth/authorize"))

    assert (response.status_code, response.json()["code"]) == (409, "not_connectable")
    assert "ACME_DESK_OAUTH_CLIENT_ID" in response.json()["detail"]
    assert "ACME_DESK_OAUTH_CLIENT_SECRET" in response.json()["detail"]


@pytest.mark.requirement("OAU-15")
def test_a_grant_of_a_removed_service_is_revoked_when_the_service_returns(
    vendor: Tenant, environment: dict[str, str], catalog: Path
) -> None:
    """As when an older version runs for a day."""
    settings, clock, services = Settings.from_environment(environment), StillClock(), load_services(catalog)
    with served(settings, clock, catalog=services) as newer:
        owner = WorkspaceOwner.at(newer)
        server = owner.connected(owner.service("acme-desk"))

    with served(settings, clock) as older:
        there = owner.in_another(older)
        assert there.status(server)["connected"] is True
        assert there.admin.get(there.path(server, "/oauth/authorize")).status_code == 409
        assert there.disconnect(server)["connected"] is False
        wait_until(lambda: revocation_jobs(older)[0].data["tries"])
    assert vendor.requests_to("revoke") == []

    clock.advance(86_400)
    with served(settings, clock, catalog=services) as newer:
        wait_until(lambda: revocation_jobs(newer) == [])
    assert (vendor.live_tokens("access"), vendor.live_tokens("refresh")) == ([], [])
