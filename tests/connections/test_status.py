"""What people see of how a server is connected, and what is noted about it."""

from __future__ import annotations

import pytest

from api.kit.clock import rfc3339
from demo.oauth_provider.server import OAuthProvider
from tests.connections.workspace_owner import WorkspaceOwner
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard

CALLBACK = "http://127.0.0.1:8400/api/mcp/oauth/{}/callback"
HUBSPOT_SCOPES = [
    "crm.objects.contacts.read",
    "crm.objects.companies.read",
    "crm.objects.deals.read",
    "crm.objects.owners.read",
    "oauth",
]
SLACK_SCOPES = ["channels:read", "channels:history", "groups:read", "groups:history", "chat:write"]


@pytest.fixture
def owner(timed: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(timed)


def test_a_new_server_is_not_connected(owner: WorkspaceOwner) -> None:
    server = owner.service("notion")

    assert owner.status(server) == {
        "connected": False,
        "account": None,
        "scopes": [],
        "askedScopes": [],
        "missingScopes": [],
        "unaskedScopes": [],
        "connectedAt": None,
        "expiresAt": None,
        "reconnectRequired": False,
        "redirectUri": CALLBACK.format("notion"),
    }
    assert owner.shown(server)["oauthConnected"] is False


@pytest.mark.requirement("OAU-17")
@pytest.mark.parametrize(
    ("service", "account", "scopes", "life"),
    [
        ("notion", {"name": "Ada", "workspace": "Acme"}, [], None),
        ("linear", {"name": "Plugboard", "workspace": "Acme", "url": "https://linear.app/acme"}, ["read"], 86399),
        ("hubspot", {"workspace": None}, HUBSPOT_SCOPES, 1800),
        ("slack", {"workspace": "Acme"}, SLACK_SCOPES, None),
    ],
)
def test_the_status_has_account_scopes_and_expiry(
    owner: WorkspaceOwner, clock: StillClock, service: str, account: dict[str, str], scopes: list[str], life: int | None
) -> None:
    server = owner.connected(owner.service(service))

    status = owner.status(server)

    assert status["account"].pop("id")
    assert {name: status["account"][name] for name in account} == account
    assert (status["connected"], status["reconnectRequired"]) == (True, False)
    assert (status["askedScopes"], status["scopes"]) == (scopes, scopes)
    assert (status["missingScopes"], status["unaskedScopes"]) == ([], [])
    assert status["connectedAt"] == rfc3339(clock.now())
    assert status["expiresAt"] == (None if life is None else rfc3339(clock.now() + life))
    assert status["redirectUri"] == CALLBACK.format(service)
    assert owner.shown(server)["oauthConnected"] is True


@pytest.mark.requirement("OAU-17")
def test_missing_and_additional_scopes_are_reported(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    provider.tenant("slack").configure(grants=("channels:read", "users:read", "admin"))

    status = owner.status(owner.connected(owner.service("slack")))

    assert status["askedScopes"] == SLACK_SCOPES
    assert status["scopes"] == ["channels:read", "users:read", "admin"]
    assert status["missingScopes"] == ["channels:history", "chat:write", "groups:history", "groups:read"]
    assert status["unaskedScopes"] == ["admin", "users:read"]


def test_servers_show_whether_they_are_connected(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    on, off = owner.connected(owner.service("notion")), owner.service("linear")
    remote = owner.connected(owner.remote(provider.tenant("acme")))
    other = owner.workspace.make_server(name="Header")["id"]

    listed = {item["id"]: item.get("oauthConnected") for item in owner.admin.get(owner.workspace.servers).json()}

    assert listed == {on: True, off: False, remote: True, other: None}
    assert {item: owner.shown(item).get("oauthConnected") for item in listed} == listed


def test_connecting_changes_the_version_of_the_server(owner: WorkspaceOwner) -> None:
    server = owner.service("notion")
    before = owner.admin.get(owner.path(server))

    owner.connected(server)
    after = owner.admin.get(owner.path(server))
    late = owner.admin.put(owner.path(server), json={"name": "New"}, headers={"If-Match": before.headers["ETag"]})
    owner.disconnect(server)

    assert after.json()["version"] == before.json()["version"] + 1
    assert after.headers["ETag"] != before.headers["ETag"]
    assert late.status_code == 412
    assert owner.shown(server)["version"] == after.json()["version"] + 1


def test_connecting_and_disconnecting_are_audited_with_the_actor(owner: WorkspaceOwner, clock: StillClock) -> None:
    server = owner.connected(owner.service("notion"))
    clock.advance(1)
    owner.disconnect(server)

    assert owner.audited("server.connected", "server.disconnected", "server.updated") == [
        ("server.connected", "api_key"),
        ("server.disconnected", "api_key"),
    ]


@pytest.mark.requirement("OAU-20")
def test_no_response_contains_a_token(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    server = owner.connected(owner.service("linear"))
    linear = provider.tenant("linear")
    secrets = [*linear.live_tokens("access"), *linear.live_tokens("refresh"), str(linear.client.secret)]
    assert len(secrets) == 3

    shown = [owner.path(server), owner.path(server, "/oauth/status"), owner.workspace.servers, owner.workspace.audit]
    texts = [owner.admin.get(path).text for path in shown]
    texts.append(owner.admin.post(owner.path(server, "/oauth/disconnect")).text)

    assert not [text for text in texts for secret in secrets if secret in text]


@pytest.mark.parametrize("what", ["/oauth/status", "/oauth/authorize"])
def test_a_server_without_oauth_has_no_connection(owner: WorkspaceOwner, what: str) -> None:
    response = owner.admin.get(owner.path(owner.workspace.make_server()["id"], what))

    assert (response.status_code, response.json()["code"]) == (409, "not_connectable")


def test_another_workspace_cannot_read_or_end_a_connection(owner: WorkspaceOwner, timed: Plugboard) -> None:
    server = owner.connected(owner.service("notion"))
    stranger = WorkspaceOwner.at(timed)
    path = stranger.path(server, "/oauth")

    responses = [stranger.admin.get(f"{path}/status"), stranger.admin.get(f"{path}/authorize")]
    responses.append(stranger.admin.post(f"{path}/disconnect"))

    assert [response.status_code for response in responses] == [404, 404, 404]
    assert owner.status(server)["connected"] is True


@pytest.mark.parametrize(("scope", "reads", "changes"), [("read", 200, 403), ("invoke", 403, 403)])
def test_connecting_and_disconnecting_require_the_manage_scope(
    owner: WorkspaceOwner, scope: str, reads: int, changes: int
) -> None:
    server = owner.connected(owner.service("notion"))
    caller = owner.workspace.caller(scope)

    assert caller.get(owner.path(server, "/oauth/status")).status_code == reads
    assert caller.get(owner.path(server, "/oauth/authorize")).status_code == changes
    assert caller.post(owner.path(server, "/oauth/disconnect")).status_code == changes
    assert owner.status(server)["connected"] is True
