"""A server with the client credentials grant stays disconnected until it is connected again, in every process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.connections.workspace_owner import (
    ThreadedCall,
    WorkspaceOwner,
    failure_kind,
    revocation_jobs,
    stored_grants,
    wait_until,
)
from tests.harness import Plugboard, served

MACHINE = {"clientId": "machine", "clientSecret": "canary-machine"}
NOT_CONNECTED = "The server 'Remote' is not connected. A workspace manager must connect it (`POST …/oauth/connect`)."


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


@pytest.fixture
def acme(provider: OAuthProvider) -> Tenant:
    tenant = provider.tenant("acme")
    for name in ("machine", "other"):
        tenant.add_client(name, secret=f"canary-{name}", grants=("client_credentials",))
    return tenant


@pytest.fixture(scope="module")
def beside(one_plugboard: Plugboard) -> Iterator[Plugboard]:
    """Another process on the same database."""
    with served(one_plugboard.settings) as other:
        yield other


def machine(owner: WorkspaceOwner, tenant: Tenant, **changed: Any) -> str:
    return owner.remote(tenant, **{"oauthGrant": "client_credentials", "config": MACHINE, **changed})


def seen(owner: WorkspaceOwner, server: str) -> list[bool]:
    """Whether the server is connected, as its view, its status, its check and the list of servers say."""
    (listed,) = (item for item in owner.admin.get(owner.workspace.servers).json() if item["id"] == server)
    return [
        owner.shown(server)["oauthConnected"],
        owner.status(server)["connected"],
        owner.check(server)["status"] == "ok",
        listed["oauthConnected"],
    ]


@pytest.mark.requirement("OAU-15")
def test_a_disconnected_server_requests_no_token_in_any_process(
    owner: WorkspaceOwner, beside: Plugboard, acme: Tenant
) -> None:
    server = machine(owner, acme)
    agent, there = owner.agent(server), owner.in_another(beside)
    assert owner.whoami(agent)["client"] == there.whoami(agent)["client"] == "machine"  # both remember the token
    asked, sent = len(acme.requests_to("token")), len(acme.requests_to("mcp"))

    owner.disconnect(server)

    for process in (there, owner):
        call = process.call(agent, "whoami")
        assert (failure_kind(call), call["text"]) == ("not_connected", f"Error: {NOT_CONNECTED}")
        listed = process.admin.get(f"{process.workspace.agents}/{agent}/tools").json()
        assert [(item["reason"], item["detail"]) for item in listed["unavailable"]] == [
            ("not_connected", NOT_CONNECTED)
        ]
        assert seen(process, server) == [False] * 4
    assert (len(acme.requests_to("token")), len(acme.requests_to("mcp"))) == (asked, sent)
    assert stored_grants(owner) == 0


@pytest.mark.requirement("OAU-15")
def test_its_token_is_revoked(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = machine(owner, acme)
    assert owner.check(server)["status"] == "ok"
    assert len(acme.live_tokens("access")) == 1

    status = owner.disconnect(server)

    assert (status["connected"], status["scopes"], status["expiresAt"]) == (False, [], None)
    wait_until(lambda: revocation_jobs(owner.workspace.plugboard) == [])
    assert acme.live_tokens("access") == []
    assert owner.status(server) == status


def test_a_server_that_never_had_a_token_stays_disconnected(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = machine(owner, acme)
    assert (owner.shown(server)["oauthConnected"], owner.status(server)["connected"]) == (True, True)

    responses = [owner.disconnect(server) for _ in range(2)]

    assert responses[0] == responses[1]
    assert seen(owner, server) == [False] * 4
    assert owner.check(server)["status"] == "unauthorized"
    assert owner.check(server)["detail"] == NOT_CONNECTED
    assert owner.audited("server.disconnected") == [("server.disconnected", "api_key")]
    assert acme.requests_to("token") == []


def test_a_server_is_connected_again_without_consent(owner: WorkspaceOwner, beside: Plugboard, acme: Tenant) -> None:
    server = machine(owner, acme)
    agent, there = owner.agent(server), owner.in_another(beside)
    owner.whoami(agent)
    owner.disconnect(server)
    assert failure_kind(there.call(agent, "whoami")) == "not_connected"
    version = owner.shown(server)["version"]

    statuses = [there.connect_client(server) for _ in range(2)]

    assert [status["connected"] for status in statuses] == [True, True]
    assert seen(owner, server) == seen(there, server) == [True] * 4
    assert owner.whoami(agent)["client"] == there.whoami(agent)["client"] == "machine"
    assert owner.shown(server)["version"] == version + 1
    assert owner.audited("server.connected", "server.disconnected") == [
        ("server.disconnected", "api_key"),
        ("server.connected", "api_key"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Renamed"},
        {"config": {"clientId": "other", "clientSecret": "canary-other"}},
        {"enabled": True, "timeoutSeconds": 5},
    ],
)
def test_no_other_change_connects_a_server(owner: WorkspaceOwner, acme: Tenant, change: dict[str, Any]) -> None:
    server = machine(owner, acme)
    owner.disconnect(server)

    assert owner.admin.put(owner.path(server), json=change).status_code == 200

    assert seen(owner, server) == [False] * 4
    assert acme.requests_to("token") == []


def test_another_grant_type_in_between_connects_no_server(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = machine(owner, acme)
    owner.disconnect(server)

    for grant in ("authorization_code", "client_credentials"):
        assert owner.admin.put(owner.path(server), json={"oauthGrant": grant}).status_code == 200

    assert seen(owner, server) == [False] * 4
    assert acme.requests_to("token") == []


def test_disconnected_servers_are_incomplete(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = machine(owner, acme)
    owner.disconnect(server)

    found = owner.admin.get(owner.workspace.servers, params={"state": "incomplete"}).json()

    assert [item["id"] for item in found] == [server]


@pytest.mark.requirement("OAU-15")
def test_a_token_that_arrives_after_the_disconnect_is_revoked(
    owner: WorkspaceOwner, beside: Plugboard, acme: Tenant
) -> None:
    server = machine(owner, acme)
    agent = owner.agent(server)
    acme.inject_fault("token", Fault("hold", after=True))
    kinds: list[str] = []

    with ThreadedCall(lambda: kinds.append(failure_kind(owner.call(agent, "whoami")))):
        acme.wait_until_held("token")
        owner.in_another(beside).disconnect(server)
        acme.release_held()

    assert kinds == ["not_connected"]
    wait_until(lambda: revocation_jobs(owner.workspace.plugboard) == [])
    assert (acme.live_tokens("access"), acme.counts["client_credentials"]) == ([], 1)


def test_a_refused_client_is_connected_and_the_status_says_why_it_fails(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = machine(owner, acme, config=MACHINE | {"clientSecret": "canary-wrong"})

    check = owner.check(server)
    status = owner.status(server)

    assert (check["status"], status["connected"], owner.shown(server)["oauthConnected"]) == ("unauthorized", True, True)
    assert "(invalid_client). Check `clientId`" in check["detail"]
    assert status["problem"] == check["detail"]


def test_a_server_that_needs_consent_is_not_connected_without(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.remote(acme)

    response = owner.admin.post(owner.path(server, "/oauth/connect"))

    assert (response.status_code, response.json()["code"]) == (409, "not_connectable")
    assert "`GET …/oauth/authorize`" in response.json()["detail"]
    assert owner.status(server)["connected"] is False


def test_a_consent_connects_a_server_for_every_grant_type(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = machine(owner, acme)
    owner.disconnect(server)
    acme.add_client("machine", secret="canary-machine", grants=("authorization_code", "client_credentials"))
    assert owner.admin.put(owner.path(server), json={"oauthGrant": "authorization_code"}).status_code == 200
    owner.connected(server)

    assert owner.admin.put(owner.path(server), json={"oauthGrant": "client_credentials"}).status_code == 200

    assert seen(owner, server) == [True] * 4
