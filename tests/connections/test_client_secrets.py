"""A client's secret that came with a server is one authorization server's: no other that is named later is shown it."""

from __future__ import annotations

import pytest

from api.access.context import partition_of
from api.kit.crypto.reencryption import rewrap
from api.main.container import Container
from demo.oauth_provider.server import OAuthProvider, Tenant
from tests.connections.browser_flow import ConnectableServer, ConsentBrowser, mcp_server, result_of
from tests.connections.workspace_owner import in_another_process
from tests.harness import Plugboard

SECRET = "canary-secret-of-a-client"


@pytest.fixture
def acme(provider: OAuthProvider) -> Tenant:
    return provider.tenant("acme")


def connected(server: ConnectableServer) -> ConnectableServer:
    assert ConsentBrowser(server.plugboard).connect(server) == {"connected": server.id}
    return server


@pytest.mark.requirement("OAU-09")
def test_a_client_secret_is_sent_only_to_the_issuer_that_first_received_it(
    plugboard: Plugboard, provider: OAuthProvider, acme: Tenant
) -> None:
    evil = provider.tenant("evil")
    acme.add_client("ours", secret=SECRET)
    server = connected(mcp_server(plugboard, acme, config={"clientId": "ours", "clientSecret": SECRET}))
    acme.configure(authorization_servers=(evil.issuer,))

    responses = [server.start(), server.workspace.admin.post(f"{server.path}/oauth/disconnect"), server.start()]

    assert [response.status_code for response in responses] == [409, 200, 409]
    assert "names another authorization server" in responses[0].json()["detail"]
    assert evil.origin not in responses[0].text
    assert (evil.requests_to("authorize"), evil.requests_to("token")) == ([], [])
    acme.configure(authorization_servers=())
    connected(server)


@pytest.mark.requirement("OAU-09")
def test_another_secret_may_be_used_with_another_issuer(
    plugboard: Plugboard, provider: OAuthProvider, acme: Tenant
) -> None:
    beta = provider.tenant("beta")
    acme.add_client("ours", secret=SECRET)
    beta.add_client("ours", secret="another")
    server = connected(mcp_server(plugboard, acme, config={"clientId": "ours", "clientSecret": SECRET}))
    acme.configure(authorization_servers=(beta.issuer,))

    server.change(config={"clientId": "ours", "clientSecret": "another"})

    connected(server)
    assert beta.counts["exchanges"] == 1
    assert SECRET not in str([(request.headers, request.body) for request in beta.recorded_requests])


@pytest.mark.requirement("OAU-09")
def test_a_secret_entered_during_a_consent_is_not_sent_to_its_issuer(
    plugboard: Plugboard, provider: OAuthProvider, acme: Tenant
) -> None:
    evil = provider.tenant("evil")
    evil.add_client("ours", secret="another")
    acme.configure(authorization_servers=(evil.issuer,))
    server = mcp_server(plugboard, acme, config={"clientId": "ours", "clientSecret": "another"})
    visitor = ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())
    acme.configure(authorization_servers=())
    server.change(config={"clientId": "ours", "clientSecret": SECRET})

    assert result_of(visitor.land(callback)) == {"error": "server_changed"}
    assert evil.requests_to("token") == []
    acme.add_client("ours", secret=SECRET)
    connected(server)


@pytest.mark.requirement("OAU-09")
def test_a_client_credentials_secret_is_sent_only_to_its_first_issuer(
    plugboard: Plugboard, provider: OAuthProvider, acme: Tenant
) -> None:
    evil, config = provider.tenant("evil"), {"clientId": "ours", "clientSecret": SECRET}
    acme.add_client("ours", secret=SECRET, grants=("client_credentials",))
    server = mcp_server(plugboard, acme, oauthGrant="client_credentials", config=config)
    assert server.call()["isError"] is False
    acme.configure(authorization_servers=(evil.issuer,))
    acme.expire_tokens()

    for action in ("disconnect", "connect"):
        assert server.workspace.admin.post(f"{server.path}/oauth/{action}").status_code == 200
    result = server.call()

    assert result["error"]["kind"] == "upstream_unavailable"
    assert "names another authorization server" in result["text"]
    assert evil.requests_to("token") == []


@pytest.mark.requirement("OAU-09", "ENC-08")
def test_the_issuer_of_a_secret_is_remembered_after_a_key_rotation(
    plugboard: Plugboard, provider: OAuthProvider, acme: Tenant
) -> None:
    acme.add_client("ours", secret=SECRET)
    server = connected(mcp_server(plugboard, acme, config={"clientId": "ours", "clientSecret": SECRET}))
    partition = partition_of(server.workspace.id)

    async def rewrapped(parts: Container) -> None:
        await parts.key_ring.rotate(partition)
        await rewrap(parts.store, parts.key_ring, partition)

    in_another_process(plugboard, rewrapped)
    acme.configure(authorization_servers=(provider.tenant("evil").issuer,))

    assert server.start().status_code == 409


def test_the_issuer_of_a_secret_is_deleted_with_its_server(plugboard: Plugboard, acme: Tenant) -> None:
    acme.add_client("ours", secret=SECRET)
    server = connected(mcp_server(plugboard, acme, config={"clientId": "ours", "clientSecret": SECRET}))
    partition = partition_of(server.workspace.id)

    def kept() -> list[str]:
        result = in_another_process(plugboard, lambda parts: parts.store.query(partition))
        return [item.key.sk for item in result if server.id in item.key.sk]

    assert f"FIRSTUSE#{server.id}" in kept()
    assert server.workspace.admin.delete(server.path).status_code == 204
    assert kept() == []
