"""Who disconnects a server is forgotten at once, in every process, and revoked where they had consented."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import Fault, OAuthProvider
from tests.connections.workspace_owner import (
    ThreadedCall,
    WorkspaceOwner,
    failure_kind,
    revocation_jobs,
    stored_grants,
    wait_until,
)
from tests.harness import Plugboard, served

SERVICES = ["notion", "linear", "hubspot", "slack"]


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


@pytest.fixture(scope="module")
def beside(one_plugboard: Plugboard) -> Iterator[Plugboard]:
    """Another process on the same database."""
    with served(one_plugboard.settings) as other:
        yield other


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize("service", SERVICES)
def test_the_tokens_of_a_disconnected_service_are_revoked(
    owner: WorkspaceOwner, provider: OAuthProvider, service: str
) -> None:
    server = owner.connected(owner.service(service))
    tenant = provider.tenant(service)
    until_held = {kind: tenant.live_tokens(kind) for kind in ("access", "refresh")}

    status = owner.disconnect(server)

    assert (status["connected"], status["account"], status["scopes"], status["expiresAt"]) == (False, None, [], None)
    assert stored_grants(owner) == 0
    wait_until(lambda: revocation_jobs(owner.workspace.plugboard) == [])
    assert len(until_held["access"]) == 1
    # HubSpot lets nothing but the refresh token be revoked; its access token ends within half an hour
    assert tenant.live_tokens("access") == (until_held["access"] if service == "hubspot" else [])
    assert tenant.live_tokens("refresh") == []
    assert owner.status(server) == status


@pytest.mark.requirement("OAU-15")
def test_the_tokens_of_a_disconnected_remote_server_are_revoked(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    owner.disconnect(owner.connected(owner.remote(acme)))

    wait_until(lambda: revocation_jobs(owner.workspace.plugboard) == [])

    assert (acme.live_tokens("access"), acme.live_tokens("refresh")) == ([], [])
    assert [request.fields["token_type_hint"] for request in acme.requests_to("revoke")] == [
        "refresh_token",
        "access_token",
    ]
    assert {request.status for request in acme.requests_to("revoke")} == {200}


@pytest.mark.requirement("OAU-15")
def test_a_disconnect_affects_the_next_call_in_every_process(
    owner: WorkspaceOwner, beside: Plugboard, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    agent, there = owner.agent(server), owner.in_another(beside)
    assert owner.whoami(agent)["person"] == there.whoami(agent)["person"] == "Ada"
    acme.inject_fault("revoke", Fault("hold"))  # so that it is nothing but forgotten

    owner.disconnect(server)
    acme.wait_until_held("revoke")
    request_count = len(acme.requests_to("mcp"))

    assert failure_kind(there.call(agent, "whoami")) == failure_kind(owner.call(agent, "whoami")) == "not_connected"
    assert len(acme.requests_to("mcp")) == request_count
    assert there.status(server)["connected"] is False
    assert len(acme.live_tokens("access")) == 1
    acme.release_held()
    wait_until(lambda: revocation_jobs(beside) == [])


def test_a_new_connection_works_in_every_process(
    owner: WorkspaceOwner, beside: Plugboard, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    agent, there = owner.agent(server), owner.in_another(beside)
    first = there.whoami(agent)["family"]

    owner.disconnect(server)
    acme.configure(person="Grace")
    there.connected(server)

    assert owner.whoami(agent)["person"] == there.whoami(agent)["person"] == "Grace"
    assert owner.whoami(agent)["family"] != first


def test_disconnecting_is_idempotent(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    server = owner.connected(owner.service("notion"))

    responses = [owner.disconnect(server) for _ in range(3)]

    assert responses[0] == responses[1] == responses[2]
    assert owner.audited("server.disconnected") == [("server.disconnected", "api_key")]
    wait_until(lambda: revocation_jobs(owner.workspace.plugboard) == [])
    assert len(provider.tenant("notion").requests_to("revoke")) == 1


def test_an_unconnected_server_can_be_disconnected(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    server = owner.service("notion")

    assert owner.disconnect(server)["connected"] is False
    assert owner.audited("server.disconnected") == []
    assert provider.tenant("notion").requests_to("revoke") == []


@pytest.mark.requirement("OAU-15")
def test_a_grant_that_the_provider_revoked_can_be_disconnected(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.revoke_grants()
    assert failure_kind(owner.call(owner.agent(server), "whoami")) == "reconnect_required"
    assert owner.status(server)["reconnectRequired"] is True

    status = owner.disconnect(server)

    assert (status["connected"], status["reconnectRequired"]) == (False, False)
    assert stored_grants(owner) == 0
    wait_until(lambda: revocation_jobs(owner.workspace.plugboard) == [])


@pytest.mark.requirement("OAU-15")
def test_a_call_in_progress_finishes_and_the_next_one_finds_no_connection(
    owner: WorkspaceOwner, beside: Plugboard, provider: OAuthProvider
) -> None:
    """The call starts before the disconnect, which revokes its token."""
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    agent = owner.agent(server)
    owner.whoami(agent)
    request_count = len(acme.requests_to("mcp"))
    acme.inject_fault("mcp", Fault("hold", after=True))
    called: list[object] = []

    with ThreadedCall(lambda: called.append(owner.call(agent, "echo", text="still here")["text"])):
        acme.wait_until_held("mcp")
        owner.in_another(beside).disconnect(server)
        wait_until(lambda: acme.live_tokens("access") == [])
        assert failure_kind(owner.in_another(beside).call(agent, "whoami")) == "not_connected"
        acme.release_held()

    assert called == ["still here"]
    assert failure_kind(owner.call(agent, "whoami")) == "not_connected"
    assert len(acme.requests_to("mcp")) == request_count + 1


@pytest.mark.requirement("OAU-15")
def test_tokens_received_during_a_disconnect_are_revoked(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    agent = owner.agent(server)
    acme.expire_tokens()
    acme.inject_fault("token", Fault("hold", after=True))
    kinds: list[str] = []

    with ThreadedCall(lambda: kinds.append(failure_kind(owner.call(agent, "whoami")))):
        acme.wait_until_held("token")
        owner.disconnect(server)
        acme.release_held()

    assert kinds == ["not_connected"]
    wait_until(lambda: revocation_jobs(owner.workspace.plugboard) == [])
    assert (acme.live_tokens("access"), acme.live_tokens("refresh")) == ([], [])
