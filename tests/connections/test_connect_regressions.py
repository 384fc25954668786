"""What people stumbled over, once, when they connected."""

from __future__ import annotations

import pytest

from api.main.settings import Settings
from demo.oauth_provider.server import OAuthProvider
from tests.connections.browser_flow import ConsentBrowser, mcp_server, result_of
from tests.connections.workspace_owner import WorkspaceOwner, wait_until
from tests.harness import Plugboard, caller


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


def test_a_client_that_the_provider_has_deleted_is_registered_again(
    plugboard: Plugboard, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server, visitor = mcp_server(plugboard, acme), ConsentBrowser(plugboard)
    visitor.connect(server)
    acme.clients.clear()

    lost = visitor.go(server.page())
    with caller(lost) as client:
        assert client.get(lost).status_code == 400
    again = visitor.land(visitor.consent(server.page()))

    assert result_of(again) == {"connected": server.id}
    assert acme.counts["registrations"] == 2


def test_a_client_whose_browser_returned_is_not_registered_again(plugboard: Plugboard, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server, visitor = mcp_server(plugboard, acme), ConsentBrowser(plugboard)

    acme.configure(consent="deny")
    assert result_of(visitor.land(visitor.consent(server.page()))) == {"error": "denied"}
    acme.configure(consent="at once")
    visitor.connect(server)
    visitor.connect(server)

    assert acme.counts["registrations"] == 1


def test_the_public_address_follows_the_port() -> None:
    assert Settings.from_environment({"PLUGBOARD_PORT": "8460"}).public_url == "http://127.0.0.1:8460"
    assert Settings.from_environment({}).public_url == "http://127.0.0.1:8400"


def test_another_account_replaces_a_revoked_one(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    notion = provider.tenant("notion")
    server = owner.connected(owner.service("notion"))
    first = notion.live_tokens("access")
    notion.configure(person="Grace", workspace="Globex")

    owner.connect(server)

    wait_until(lambda: not set(first) & set(notion.live_tokens("access")))
    assert owner.status(server)["account"]["workspace"] == "Globex"
    assert owner.check(server)["status"] == "ok"


def test_connecting_the_same_account_again_keeps_its_tokens(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    notion = provider.tenant("notion")
    server = owner.connected(owner.service("notion"))
    first = notion.live_tokens("access")

    owner.connect(server)

    assert set(first) <= set(notion.live_tokens("access"))
    assert notion.requests_to("revoke") == []


def test_another_url_on_the_same_host_is_another_resource(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))

    changed = owner.admin.put(owner.path(server), json={"url": f"{acme.mcp_url}-other"}).json()

    assert changed["oauthConnected"] is False
    wait_until(lambda: not acme.live_tokens("refresh"))


def test_a_client_credentials_grant_shows_its_scopes(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    acme.add_client("machine", secret="canary-machine", grants=("client_credentials",))
    config = {"clientId": "machine", "clientSecret": "canary-machine", "scope": "read"}
    server = owner.remote(acme, oauthGrant="client_credentials", config=config)
    agent = owner.agent(server)

    lacking = owner.call(agent, "admin")

    assert lacking["error"] == {"kind": "reconnect_required"}
    assert "scopes: admin. Add them to `scope`" in lacking["text"]
    assert (owner.status(server)["connected"], owner.status(server)["scopes"]) == (True, ["read"])
