"""With a server, with what it was connected for, or with its workspace, a grant ends: here, and where it was given."""

from __future__ import annotations

from typing import Any

import pytest

from api.access.context import partition_of
from api.kit.crypto.data_keys import NoDataKey
from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.connections.workspace_owner import (
    WorkspaceOwner,
    failure_kind,
    in_another_process,
    revocation_jobs,
    stored_grants,
    wait_until,
)
from tests.harness import WEATHER, Plugboard

MANY = 60
ELSEWHERE = "https://mcp.elsewhere.example.com/mcp"
GIVEN = {"clientId": "acme-client", "clientSecret": "canary-acme-secret"}


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


@pytest.fixture
def acme(provider: OAuthProvider) -> Tenant:
    return provider.tenant("acme")


def is_revoked(owner: WorkspaceOwner, tenant: Tenant) -> bool:
    wait_until(lambda: revocation_jobs(owner.workspace.plugboard) == [])
    return (tenant.live_tokens("access"), tenant.live_tokens("refresh")) == ([], [])


def is_intact(owner: WorkspaceOwner, tenant: Tenant) -> bool:
    return revocation_jobs(owner.workspace.plugboard) == [] and len(tenant.live_tokens("access")) == 1 == stored_grants(
        owner
    )


@pytest.mark.requirement("OAU-16")
def test_deleting_a_server_revokes_its_grant(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(owner.remote(acme))

    assert owner.delete(server).status_code == 204

    assert stored_grants(owner) == 0
    assert is_revoked(owner, acme)


@pytest.mark.requirement("OAU-16")
def test_detaching_and_deleting_a_server_revokes_its_grant(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(owner.remote(acme))
    for _ in range(12):  # more than are taken off in one write
        owner.agent(server)

    response = owner.delete(server)
    assert (response.status_code, is_intact(owner, acme)) == (409, True)

    assert owner.delete(server, params={"detach": "true"}).status_code == 204
    assert stored_grants(owner) == 0
    assert is_revoked(owner, acme)
    assert len(acme.requests_to("revoke")) == 2


@pytest.mark.requirement("OAU-16")
@pytest.mark.parametrize("way", ["delete", "put"])
def test_a_refused_change_revokes_nothing(owner: WorkspaceOwner, acme: Tenant, way: str) -> None:
    server = owner.connected(owner.remote(acme))
    old = {"If-Match": '"1"'}

    if way == "delete":
        response = owner.delete(server, headers=old)
    else:
        response = owner.admin.put(owner.path(server), json={"url": ELSEWHERE}, headers=old)

    assert response.status_code == 412
    assert is_intact(owner, acme)
    assert owner.whoami(owner.agent(server))["person"] == "Ada"


@pytest.mark.requirement("OAU-16")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"url": ELSEWHERE}, id="another origin"),
        pytest.param({"authType": "none"}, id="no credentials"),
        pytest.param({"authType": "header", "config": WEATHER["config"]}, id="credentials of another kind"),
        pytest.param({"serviceType": "notion", "url": None}, id="a service"),
        pytest.param({"config": GIVEN}, id="another client"),
        pytest.param({"config": {"scope": "read"}}, id="other scopes"),
        pytest.param({"config": GIVEN, "oauthGrant": "client_credentials"}, id="nobody's consent"),
    ],
)
def test_a_server_with_a_new_origin_loses_its_grant(
    owner: WorkspaceOwner, acme: Tenant, change: dict[str, Any]
) -> None:
    server = owner.connected(owner.remote(acme))

    response = owner.admin.put(owner.path(server), json=change)

    assert response.status_code == 200, response.text
    assert response.json().get("oauthConnected") in (False, None) or "oauthGrant" in change
    assert stored_grants(owner) == 0
    assert is_revoked(owner, acme)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Renamed", "slug": "renamed", "description": "New."},
        {"enabled": False, "timeoutSeconds": 5, "exposure": "tools"},
    ],
)
def test_a_change_that_keeps_the_resource_keeps_the_grant(
    owner: WorkspaceOwner, acme: Tenant, change: dict[str, Any]
) -> None:
    server = owner.connected(owner.remote(acme))

    response = owner.admin.put(owner.path(server), json=change)

    assert response.json()["oauthConnected"] is True
    assert is_intact(owner, acme)


@pytest.mark.requirement("OAU-16")
def test_a_changed_server_can_be_connected_again_with_its_new_client(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(owner.remote(acme))
    acme.add_client(GIVEN["clientId"], secret=GIVEN["clientSecret"])
    owner.admin.put(owner.path(server), json={"config": GIVEN})
    agent = owner.agent(server)
    assert failure_kind(owner.call(agent, "whoami")) == "not_connected"

    owner.connected(server)

    assert owner.whoami(agent)["client"] == GIVEN["clientId"]
    wait_until(lambda: revocation_jobs(owner.workspace.plugboard) == [])
    assert len(acme.live_tokens("access")) == len(acme.live_tokens("refresh")) == 1


@pytest.mark.slow
@pytest.mark.requirement("OAU-16")
def test_deleting_a_workspace_revokes_all_its_grants(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    """Their number is beyond one page, and beyond what one write can carry."""
    acme, other = provider.tenant("acme"), WorkspaceOwner.at(owner.workspace.plugboard)
    for number in range(MANY):
        owner.connected(owner.remote(acme, slug=f"remote-{number}"))
    kept = other.connected(other.remote(provider.tenant("kept")))
    assert len(acme.live_tokens("refresh")) == MANY

    assert owner.admin.delete(owner.workspace.path).status_code == 204

    assert is_revoked(owner, acme)
    assert len(acme.requests_to("revoke")) == 2 * MANY
    assert other.status(kept)["connected"] is True
    assert len(provider.tenant("kept").live_tokens("access")) == 1


@pytest.mark.requirement("OAU-16", "ENC-11")
def test_the_grants_of_a_workspace_are_revoked_after_its_data_keys_are_destroyed(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    """Each with the client that it was given to: the operator's, one that was registered, one that was entered."""
    acme, beta, notion = (provider.tenant(name) for name in ("acme", "beta", "notion"))
    beta.add_client(GIVEN["clientId"], secret=GIVEN["clientSecret"])
    owner.connected(owner.remote(acme))
    owner.connected(owner.remote(beta, slug="beta", config=GIVEN))
    owner.connected(owner.service("notion"))
    for tenant in (acme, beta, notion):
        tenant.inject_fault("revoke", Fault("hold"))

    assert owner.admin.delete(owner.workspace.path).status_code == 204

    for tenant in (acme, beta, notion):
        tenant.wait_until_held("revoke")
    with pytest.raises(NoDataKey):
        in_another_process(
            owner.workspace.plugboard, lambda parts: parts.vault.sealer(partition_of(owner.workspace.id))
        )
    for tenant in (acme, beta, notion):
        tenant.release_held()
    assert [is_revoked(owner, tenant) for tenant in (acme, beta, notion)] == [True, True, True]


@pytest.mark.requirement("OAU-16")
def test_a_refused_deletion_of_a_workspace_keeps_its_grants(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(owner.remote(acme))

    response = owner.admin.delete(owner.workspace.path, headers={"If-Match": '"77"'})

    assert response.status_code == 412
    assert is_intact(owner, acme)
    assert owner.whoami(owner.agent(server))["person"] == "Ada"
