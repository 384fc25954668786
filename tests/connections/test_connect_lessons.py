"""What people stumbled over, once, when they connected."""

from __future__ import annotations

import pytest

from api.main.settings import Settings
from demo.oauth_provider.server import Server
from tests.connections.desk import Desk, until
from tests.connections.world import Visitor, mcp_server, told
from tests.harness import Plugboard, caller


@pytest.fixture
def desk(plugboard: Plugboard) -> Desk:
    return Desk.at(plugboard)


def test_who_is_not_known_at_the_provider_any_more_is_registered_anew(plugboard: Plugboard, provider: Server) -> None:
    acme = provider.tenant("acme")
    server, visitor = mcp_server(plugboard, acme), Visitor(plugboard)
    visitor.connect(server)
    acme.clients.clear()

    lost = visitor.go(server.page())
    with caller(lost) as client:
        assert client.get(lost).status_code == 400
    again = visitor.land(visitor.consent(server.page()))

    assert told(again) == {"connected": server.id}
    assert acme.counts["registrations"] == 2


def test_who_has_come_back_is_not_registered_again(plugboard: Plugboard, provider: Server) -> None:
    acme = provider.tenant("acme")
    server, visitor = mcp_server(plugboard, acme), Visitor(plugboard)

    acme.behave(consent="deny")
    assert told(visitor.land(visitor.consent(server.page()))) == {"error": "denied"}
    acme.behave(consent="at once")
    visitor.connect(server)
    visitor.connect(server)

    assert acme.counts["registrations"] == 1


def test_the_public_address_goes_with_the_port() -> None:
    assert Settings.from_environment({"PLUGBOARD_PORT": "8460"}).public_url == "http://127.0.0.1:8460"
    assert Settings.from_environment({}).public_url == "http://127.0.0.1:8400"


def test_another_account_takes_the_place_of_one_that_is_revoked(desk: Desk, provider: Server) -> None:
    notion = provider.tenant("notion")
    server = desk.connected(desk.service("notion"))
    first = notion.live("access")
    notion.behave(person="Grace", workspace="Globex")

    desk.connect(server)

    until(lambda: not set(first) & set(notion.live("access")))
    assert desk.status(server)["account"]["workspace"] == "Globex"
    assert desk.check(server)["status"] == "ok"


def test_the_same_account_keeps_what_it_had(desk: Desk, provider: Server) -> None:
    notion = provider.tenant("notion")
    server = desk.connected(desk.service("notion"))
    first = notion.live("access")

    desk.connect(server)

    assert set(first) <= set(notion.live("access"))
    assert notion.asked("revoke") == []


def test_another_url_at_the_same_host_is_another_server(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))

    changed = desk.admin.put(desk.path(server), json={"url": f"{acme.mcp_url}-other"}).json()

    assert changed["oauthConnected"] is False
    until(lambda: not acme.live("refresh"))


def test_a_client_that_asks_in_its_own_name_shows_what_it_has_got(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    acme.add_client("machine", secret="canary-machine", grants=("client_credentials",))
    config = {"clientId": "machine", "clientSecret": "canary-machine", "scope": "read"}
    server = desk.remote(acme, oauthGrant="client_credentials", config=config)
    agent = desk.agent(server)

    lacking = desk.call(agent, "admin")

    assert lacking["error"] == {"kind": "reconnect_required"}
    assert "(admin). Add them to `scope`" in lacking["text"]
    assert (desk.status(server)["connected"], desk.status(server)["scopes"]) == (True, ["read"])
