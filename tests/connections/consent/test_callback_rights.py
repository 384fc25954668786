"""Who began must still be allowed when the browser comes back, and what it was begun for must still be there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from api.kit.clock import rfc3339
from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.connections.browser_flow import Callback, ConnectableServer, ConsentBrowser, mcp_server, result_of, service
from tests.connections.workspace_owner import revocation_jobs, wait_until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard

ELSEWHERE = "https://moved.example.com/mcp"
Change = Callable[[ConnectableServer, str], httpx2.Response]


def revoke_key(server: ConnectableServer, key_id: str) -> httpx2.Response:
    return server.workspace.admin.delete(f"{server.workspace.api_keys}/{key_id}")


def delete_workspace(server: ConnectableServer, _key_id: str) -> httpx2.Response:
    return server.workspace.admin.delete(server.workspace.path)


def delete_server(server: ConnectableServer, _key_id: str) -> httpx2.Response:
    return server.workspace.admin.delete(server.path)


def move_server(server: ConnectableServer, _key_id: str) -> httpx2.Response:
    return server.workspace.admin.put(server.path, json={"url": ELSEWHERE})


def move_along(server: ConnectableServer, _key_id: str) -> httpx2.Response:
    """Moves the server to another path of its origin."""
    return server.workspace.admin.put(server.path, json={"url": f"{server.get()['url']}/other"})


def use_no_oauth(server: ConnectableServer, _key_id: str) -> httpx2.Response:
    return server.workspace.admin.put(server.path, json={"authType": "none"})


def use_client_credentials(server: ConnectableServer, _key_id: str) -> httpx2.Response:
    client = {"clientId": "ours", "clientSecret": "canary"}
    changed = {"oauthGrant": "client_credentials", "config": client}
    return server.workspace.admin.put(server.path, json=changed)


CHANGES: dict[str, tuple[Change, str]] = {
    "the key is revoked": (revoke_key, "not_allowed"),
    "the workspace is deleted": (delete_workspace, "not_allowed"),
    "the server is deleted": (delete_server, "server_changed"),
    "the server has moved": (move_server, "server_changed"),
    "the server has moved to another path": (move_along, "server_changed"),
    "the server needs no authorization": (use_no_oauth, "server_changed"),
    "the server needs nobody's consent": (use_client_credentials, "server_changed"),
}


def started_by_a_key(server: ConnectableServer, **key: str) -> tuple[str, str]:
    """The key's id, and the page that it has begun."""
    api_key = server.workspace.make_key("manage", **key)
    response = server.plugboard.caller(api_key["apiKey"]).get(f"{server.path}/oauth/authorize")
    assert response.status_code == 200, response.text
    return api_key["id"], httpx2.URL(response.json()["authUrl"]).path


def callback_during(
    visitor: ConsentBrowser, callback: Callback, tenant: Tenant, mishap: Callable[[], httpx2.Response]
) -> dict[str, str]:
    """The provider has given its tokens, and before its answer arrives something happens."""
    tenant.inject_fault("token", Fault("hold", after=True))
    with ThreadPoolExecutor(1) as pool:
        landing = pool.submit(visitor.land, callback)
        tenant.wait_until_held("token")
        assert mishap().status_code in (200, 204)
        tenant.release_held()
        return result_of(landing.result())


@pytest.mark.requirement("OAU-12")
@pytest.mark.parametrize(("mishap", "code"), CHANGES.values(), ids=CHANGES.keys())
def test_a_revoked_right_prevents_the_token_request(
    plugboard: Plugboard, provider: OAuthProvider, mishap: Change, code: str
) -> None:
    server, visitor = mcp_server(plugboard, provider.tenant("acme")), ConsentBrowser(plugboard)
    key_id, page = started_by_a_key(server)
    callback = visitor.consent(page)

    assert mishap(server, key_id).status_code in (200, 204)

    assert result_of(visitor.land(callback)) == {"error": code}
    assert server.tenant.requests_to("token") == []


@pytest.mark.requirement("OAU-12")
@pytest.mark.parametrize(("mishap", "code"), CHANGES.values(), ids=CHANGES.keys())
def test_a_right_revoked_during_the_exchange_revokes_the_new_grant(
    plugboard: Plugboard, provider: OAuthProvider, mishap: Change, code: str
) -> None:
    server, visitor, acme = (
        mcp_server(plugboard, provider.tenant("acme")),
        ConsentBrowser(plugboard),
        provider.tenant("acme"),
    )
    key_id, page = started_by_a_key(server)
    callback = visitor.consent(page)

    assert callback_during(visitor, callback, acme, lambda: mishap(server, key_id)) == {"error": code}

    assert acme.counts["exchanges"] == 1
    wait_until(lambda: acme.live_tokens("access") == acme.live_tokens("refresh") == [])
    wait_until(lambda: not revocation_jobs(plugboard))


@pytest.mark.requirement("OAU-12")
@pytest.mark.parametrize("name", ["notion", "linear", "hubspot", "slack"])
def test_a_right_revoked_during_the_exchange_revokes_the_new_grant_of_a_service(
    plugboard: Plugboard, provider: OAuthProvider, name: str
) -> None:
    server, visitor = service(plugboard, provider, name), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())

    told_last = callback_during(visitor, callback, server.tenant, lambda: delete_workspace(server, ""))

    assert told_last == {"error": "not_allowed"}
    wait_until(lambda: server.tenant.counts["revocations"] > 0)
    wait_until(lambda: not revocation_jobs(plugboard))


@pytest.mark.requirement("OAU-12")
def test_a_key_that_expired_during_the_consent_connects_nothing(
    timed: Plugboard, provider: OAuthProvider, clock: StillClock
) -> None:
    server, visitor = service(timed, provider), ConsentBrowser(timed)
    _, page = started_by_a_key(server, expiresAt=rfc3339(clock.now() + 120))
    callback = visitor.consent(page)

    clock.advance(121)

    assert result_of(visitor.land(callback)) == {"error": "not_allowed"}
    server.assert_untouched()


@pytest.mark.requirement("OAU-12")
@pytest.mark.parametrize(("mishap", "code"), [CHANGES["the key is revoked"], CHANGES["the workspace is deleted"]])
def test_a_key_without_the_right_to_connect_causes_no_redirect(
    plugboard: Plugboard, provider: OAuthProvider, mishap: Change, code: str
) -> None:
    server, visitor = service(plugboard, provider), ConsentBrowser(plugboard)
    key_id, page = started_by_a_key(server)

    assert mishap(server, key_id).status_code == 204

    assert result_of(visitor.sent("GET", page)) == {"error": code}
    assert result_of(visitor.press(page)) == {"error": code}
    assert visitor.cookies == {}
    assert provider.recorded_requests == []


@pytest.mark.requirement("OAU-12")
@pytest.mark.parametrize("scope", ["invoke", "read"])
def test_a_key_without_the_manage_scope_cannot_start_a_connect(
    plugboard: Plugboard, provider: OAuthProvider, scope: str
) -> None:
    server = service(plugboard, provider)

    response = server.workspace.caller(scope).get(f"{server.path}/oauth/authorize")

    assert response.status_code == 403


@pytest.mark.requirement("OAU-12")
def test_a_key_of_another_workspace_cannot_start_a_connect(plugboard: Plugboard, provider: OAuthProvider) -> None:
    server, other = service(plugboard, provider), plugboard.make_workspace()

    assert other.admin.get(f"{server.path}/oauth/authorize").status_code == 404
    assert other.admin.get(f"{other.servers}/{server.id}/oauth/authorize").status_code == 404
    assert plugboard.caller().get(f"{server.path}/oauth/authorize").status_code == 401


@pytest.mark.requirement("OAU-12")
def test_a_grant_of_a_removed_client_is_revoked(plugboard: Plugboard, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    acme.add_client("ours", secret="canary")
    server = mcp_server(plugboard, acme, config={"clientId": "ours", "clientSecret": "canary"})
    visitor = ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())
    change = {"config": {"clientId": "another", "clientSecret": "canary"}}

    last = callback_during(visitor, callback, acme, lambda: server.workspace.admin.put(server.path, json=change))

    assert last == {"error": "server_changed"}
    server.assert_not_connected()
    wait_until(lambda: acme.live_tokens("access") == acme.live_tokens("refresh") == [])


def test_a_server_renamed_during_the_consent_is_connected(plugboard: Plugboard, provider: OAuthProvider) -> None:
    server, visitor = mcp_server(plugboard, provider.tenant("acme")), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())

    server.change(name="Renamed", description="Meanwhile.")

    assert result_of(visitor.land(callback)) == {"connected": server.id}
    assert server.get()["name"] == "Renamed"


def test_a_server_renamed_during_the_exchange_is_connected(plugboard: Plugboard, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server, visitor = mcp_server(plugboard, acme), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())

    last = callback_during(
        visitor, callback, acme, lambda: server.workspace.admin.put(server.path, json={"name": "Renamed"})
    )

    assert last == {"connected": server.id}
    assert (server.get()["name"], server.get()["oauthConnected"]) == ("Renamed", True)
