"""Step-up consent: additional scopes are requested once, and not again if they are refused."""

from __future__ import annotations

import pytest

from demo.oauth_provider.server import OAuthProvider, Tenant
from tests.connections.workspace_owner import WorkspaceOwner, failure_kind
from tests.harness import Plugboard


@pytest.fixture
def acme(provider: OAuthProvider) -> Tenant:
    """It asks for `read` at first, and its tool `admin` for more."""
    tenant = provider.tenant("acme")
    tenant.configure(challenge_scopes=("read",))
    return tenant


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


def requested_scopes(tenant: Tenant) -> list[list[str]]:
    return [sorted(request.query["scope"].split()) for request in tenant.requests_to("authorize")]


@pytest.mark.requirement("OAU-17")
def test_a_tool_that_needs_more_scopes_names_them_and_works_once_they_are_granted(
    owner: WorkspaceOwner, acme: Tenant
) -> None:
    server = owner.connected(owner.remote(acme))
    agent = owner.agent(server)
    assert owner.whoami(agent)["scopes"] == ["read"]

    result = owner.call(agent, "admin")
    assert failure_kind(result) == "reconnect_required"
    assert "scopes: admin." in result["text"]
    status = owner.status(server)
    assert (status["connected"], status["reconnectRequired"]) == (True, False)
    assert (status["scopes"], status["askedScopes"], status["missingScopes"]) == (["read"], ["read"], ["admin"])

    owner.connected(server)

    assert owner.call(agent, "admin")["isError"] is False
    assert owner.whoami(agent)["scopes"] == ["read", "admin"]
    assert requested_scopes(acme) == [["read"], ["admin", "read"]]
    status = owner.status(server)
    assert (status["askedScopes"], status["scopes"], status["missingScopes"]) == (
        ["read", "admin"],
        ["read", "admin"],
        [],
    )


@pytest.mark.requirement("OAU-17")
def test_the_old_grant_works_until_additional_scopes_are_granted(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(owner.remote(acme))
    agent = owner.agent(server)
    family = owner.whoami(agent)["family"]

    owner.call(agent, "admin")

    assert owner.whoami(agent)["family"] == family
    assert owner.shown(server)["oauthConnected"] is True


def test_missing_scopes_are_recorded_once_over_many_calls(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(owner.remote(acme))
    agent = owner.agent(server)
    version = owner.shown(server)["version"]

    kinds = {failure_kind(owner.call(agent, "admin")) for _ in range(5)}

    assert kinds == {"reconnect_required"}
    assert owner.audited("server.scopes_needed") == [("server.scopes_needed", "system")]
    assert owner.shown(server)["version"] == version + 1


def test_scopes_that_the_provider_never_grants_are_not_requested_again(owner: WorkspaceOwner, acme: Tenant) -> None:
    acme.configure(grants=("read",))
    server = owner.connected(owner.remote(acme))
    agent = owner.agent(server)
    assert failure_kind(owner.call(agent, "admin")) == "reconnect_required"
    owner.connected(server)
    request_count = len(acme.requests_to("mcp"))

    result = owner.call(agent, "admin")

    assert failure_kind(result) == "upstream_refused"
    assert "403" in result["text"]
    assert len([request for request in acme.requests_to("mcp")[request_count:] if '"admin"' in request.body]) == 1
    status = owner.status(server)
    assert (status["scopes"], status["missingScopes"], status["reconnectRequired"]) == (["read"], ["admin"], False)
    assert owner.whoami(agent)["scopes"] == ["read"]


def test_a_refused_step_up_keeps_the_old_grant(owner: WorkspaceOwner, acme: Tenant) -> None:
    acme.configure(scopes_supported=("read",))
    server = owner.connected(owner.remote(acme))
    agent = owner.agent(server)
    owner.call(agent, "admin")

    assert owner.connect(server) == {"error": "not_granted"}

    assert owner.whoami(agent)["scopes"] == ["read"]
    owner.disconnect(server)
    owner.connected(server)
    assert requested_scopes(acme) == [["read"], ["admin", "read"], ["read"]]


def test_additional_scopes_are_requested_again_after_the_grant_has_ended(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(owner.remote(acme))
    agent = owner.agent(server)
    owner.call(agent, "admin")
    owner.connected(server)
    acme.revoke_grants()
    assert failure_kind(owner.call(agent, "whoami")) == "reconnect_required"

    owner.connected(server)

    assert owner.call(agent, "admin")["isError"] is False
    assert requested_scopes(acme)[-1] == ["admin", "read"]


def test_after_a_disconnect_the_initial_scopes_are_requested(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(owner.remote(acme))
    owner.call(owner.agent(server), "admin")
    owner.connected(server)

    owner.disconnect(server)
    owner.connected(server)

    assert requested_scopes(acme) == [["read"], ["admin", "read"], ["read"]]
