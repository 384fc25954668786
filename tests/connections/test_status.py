"""What people see of how a server is connected, and what is noted about it."""

from __future__ import annotations

import pytest

from api.kit.clock import rfc3339
from demo.oauth_provider.server import Server
from tests.connections.desk import Desk
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
def desk(timed: Plugboard) -> Desk:
    return Desk.at(timed)


def test_a_server_that_nobody_has_connected_is_not_connected(desk: Desk) -> None:
    server = desk.service("notion")

    assert desk.status(server) == {
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
    assert desk.shown(server)["oauthConnected"] is False


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
def test_of_a_connected_service_it_says_whose_it_is_with_which_scopes_and_until_when(
    desk: Desk, clock: StillClock, service: str, account: dict[str, str], scopes: list[str], life: int | None
) -> None:
    server = desk.connected(desk.service(service))

    told = desk.status(server)

    assert told["account"].pop("id")
    assert {name: told["account"][name] for name in account} == account
    assert (told["connected"], told["reconnectRequired"]) == (True, False)
    assert (told["askedScopes"], told["scopes"]) == (scopes, scopes)
    assert (told["missingScopes"], told["unaskedScopes"]) == ([], [])
    assert told["connectedAt"] == rfc3339(clock.now())
    assert told["expiresAt"] == (None if life is None else rfc3339(clock.now() + life))
    assert told["redirectUri"] == CALLBACK.format(service)
    assert desk.shown(server)["oauthConnected"] is True


@pytest.mark.requirement("OAU-17")
def test_less_than_was_asked_for_is_missing_and_more_is_unasked(desk: Desk, provider: Server) -> None:
    provider.tenant("slack").behave(grants=("channels:read", "users:read", "admin"))

    told = desk.status(desk.connected(desk.service("slack")))

    assert told["askedScopes"] == SLACK_SCOPES
    assert told["scopes"] == ["channels:read", "users:read", "admin"]
    assert told["missingScopes"] == ["channels:history", "chat:write", "groups:history", "groups:read"]
    assert told["unaskedScopes"] == ["admin", "users:read"]


def test_lists_and_reads_of_servers_say_whether_each_is_connected(desk: Desk, provider: Server) -> None:
    on, off = desk.connected(desk.service("notion")), desk.service("linear")
    remote = desk.connected(desk.remote(provider.tenant("acme")))
    other = desk.workspace.make_server(name="Header")["id"]

    listed = {each["id"]: each.get("oauthConnected") for each in desk.admin.get(desk.workspace.servers).json()}

    assert listed == {on: True, off: False, remote: True, other: None}
    assert {each: desk.shown(each).get("oauthConnected") for each in listed} == listed


def test_to_connect_makes_another_version_of_the_server(desk: Desk) -> None:
    server = desk.service("notion")
    before = desk.admin.get(desk.path(server))

    desk.connected(server)
    after = desk.admin.get(desk.path(server))
    late = desk.admin.put(desk.path(server), json={"name": "New"}, headers={"If-Match": before.headers["ETag"]})
    desk.disconnect(server)

    assert after.json()["version"] == before.json()["version"] + 1
    assert after.headers["ETag"] != before.headers["ETag"]
    assert late.status_code == 412
    assert desk.shown(server)["version"] == after.json()["version"] + 1


def test_it_is_noted_who_connected_and_who_disconnected(desk: Desk, clock: StillClock) -> None:
    server = desk.connected(desk.service("notion"))
    clock.advance(1)
    desk.disconnect(server)

    assert desk.audited("server.connected", "server.disconnected", "server.updated") == [
        ("server.connected", "api_key"),
        ("server.disconnected", "api_key"),
    ]


@pytest.mark.requirement("OAU-20")
def test_nothing_that_is_shown_has_a_token_in_it(desk: Desk, provider: Server) -> None:
    server = desk.connected(desk.service("linear"))
    linear = provider.tenant("linear")
    secrets = [*linear.live("access"), *linear.live("refresh"), str(linear.client.secret)]
    assert len(secrets) == 3

    shown = [desk.path(server), desk.path(server, "/oauth/status"), desk.workspace.servers, desk.workspace.audit]
    texts = [desk.admin.get(path).text for path in shown]
    texts.append(desk.admin.post(desk.path(server, "/oauth/disconnect")).text)

    assert not [text for text in texts for secret in secrets if secret in text]


@pytest.mark.parametrize("what", ["/oauth/status", "/oauth/authorize"])
def test_a_server_that_takes_no_oauth_has_no_connection(desk: Desk, what: str) -> None:
    answer = desk.admin.get(desk.path(desk.workspace.make_server()["id"], what))

    assert (answer.status_code, answer.json()["code"]) == (409, "not_connectable")


def test_another_workspace_sees_and_ends_no_connection_of_this_one(desk: Desk, timed: Plugboard) -> None:
    server = desk.connected(desk.service("notion"))
    stranger = Desk.at(timed)
    path = stranger.path(server, "/oauth")

    answers = [stranger.admin.get(f"{path}/status"), stranger.admin.get(f"{path}/authorize")]
    answers.append(stranger.admin.post(f"{path}/disconnect"))

    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert desk.status(server)["connected"] is True


@pytest.mark.parametrize(("scope", "reads", "changes"), [("read", 200, 403), ("invoke", 403, 403)])
def test_only_who_manages_connects_and_disconnects(desk: Desk, scope: str, reads: int, changes: int) -> None:
    server = desk.connected(desk.service("notion"))
    caller = desk.workspace.caller(scope)

    assert caller.get(desk.path(server, "/oauth/status")).status_code == reads
    assert caller.get(desk.path(server, "/oauth/authorize")).status_code == changes
    assert caller.post(desk.path(server, "/oauth/disconnect")).status_code == changes
    assert desk.status(server)["connected"] is True
