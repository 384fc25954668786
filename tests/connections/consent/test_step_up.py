"""A tool that needs more than was granted: somebody is asked for it once, and where it is not granted, no more."""

from __future__ import annotations

import pytest

from demo.oauth_provider.server import Server, Tenant
from tests.connections.desk import Desk, kind_of
from tests.harness import Plugboard


@pytest.fixture
def acme(provider: Server) -> Tenant:
    """It asks for `read` at first, and its tool `admin` for more."""
    tenant = provider.tenant("acme")
    tenant.behave(challenge_scopes=("read",))
    return tenant


@pytest.fixture
def desk(plugboard: Plugboard) -> Desk:
    return Desk.at(plugboard)


def asked_scopes(tenant: Tenant) -> list[list[str]]:
    return [sorted(each.query["scope"].split()) for each in tenant.asked("authorize")]


@pytest.mark.requirement("OAU-17")
def test_a_tool_that_needs_more_says_what_and_works_once_somebody_grants_it(desk: Desk, acme: Tenant) -> None:
    server = desk.connected(desk.remote(acme))
    agent = desk.agent(server)
    assert desk.who(agent)["scopes"] == ["read"]

    called = desk.call(agent, "admin")
    assert kind_of(called) == "reconnect_required"
    assert "(admin)" in called["text"]
    told = desk.status(server)
    assert (told["connected"], told["reconnectRequired"]) == (True, False)
    assert (told["scopes"], told["askedScopes"], told["missingScopes"]) == (["read"], ["read"], ["admin"])

    desk.connected(server)

    assert desk.call(agent, "admin")["isError"] is False
    assert desk.who(agent)["scopes"] == ["read", "admin"]
    assert asked_scopes(acme) == [["read"], ["admin", "read"]]
    told = desk.status(server)
    assert (told["askedScopes"], told["scopes"], told["missingScopes"]) == (["read", "admin"], ["read", "admin"], [])


@pytest.mark.requirement("OAU-17")
def test_what_is_granted_serves_on_until_more_is(desk: Desk, acme: Tenant) -> None:
    server = desk.connected(desk.remote(acme))
    agent = desk.agent(server)
    family = desk.who(agent)["family"]

    desk.call(agent, "admin")

    assert desk.who(agent)["family"] == family
    assert desk.shown(server)["oauthConnected"] is True


def test_it_is_noted_once_that_more_is_needed_however_often_it_is_called(desk: Desk, acme: Tenant) -> None:
    server = desk.connected(desk.remote(acme))
    agent = desk.agent(server)
    version = desk.shown(server)["version"]

    kinds = {kind_of(desk.call(agent, "admin")) for _ in range(5)}

    assert kinds == {"reconnect_required"}
    assert desk.audited("server.scopes_needed") == [("server.scopes_needed", "system")]
    assert desk.shown(server)["version"] == version + 1


def test_of_a_provider_that_never_grants_it_nobody_is_asked_again(desk: Desk, acme: Tenant) -> None:
    acme.behave(grants=("read",))
    server = desk.connected(desk.remote(acme))
    agent = desk.agent(server)
    assert kind_of(desk.call(agent, "admin")) == "reconnect_required"
    desk.connected(server)
    asked = len(acme.asked("mcp"))

    called = desk.call(agent, "admin")

    assert kind_of(called) == "upstream_refused"
    assert "403" in called["text"]
    assert len([each for each in acme.asked("mcp")[asked:] if '"admin"' in each.body]) == 1
    told = desk.status(server)
    assert (told["scopes"], told["missingScopes"], told["reconnectRequired"]) == (["read"], ["admin"], False)
    assert desk.who(agent)["scopes"] == ["read"]


def test_a_provider_that_refuses_to_be_asked_for_it_takes_nothing_away(desk: Desk, acme: Tenant) -> None:
    acme.behave(scopes_supported=("read",))
    server = desk.connected(desk.remote(acme))
    agent = desk.agent(server)
    desk.call(agent, "admin")

    assert desk.connect(server) == {"error": "not_granted"}

    assert desk.who(agent)["scopes"] == ["read"]
    desk.disconnect(server)
    desk.connected(server)
    assert asked_scopes(acme) == [["read"], ["admin", "read"], ["read"]]


def test_what_was_granted_in_addition_is_asked_for_again_when_the_grant_has_ended(desk: Desk, acme: Tenant) -> None:
    server = desk.connected(desk.remote(acme))
    agent = desk.agent(server)
    desk.call(agent, "admin")
    desk.connected(server)
    acme.forget_grants()
    assert kind_of(desk.call(agent, "whoami")) == "reconnect_required"

    desk.connected(server)

    assert desk.call(agent, "admin")["isError"] is False
    assert asked_scopes(acme)[-1] == ["admin", "read"]


def test_who_disconnects_begins_again_with_the_least(desk: Desk, acme: Tenant) -> None:
    server = desk.connected(desk.remote(acme))
    desk.call(desk.agent(server), "admin")
    desk.connected(server)

    desk.disconnect(server)
    desk.connected(server)

    assert asked_scopes(acme) == [["read"], ["admin", "read"], ["read"]]
