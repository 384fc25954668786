"""Who disconnects a server is forgotten at once, in every process, and revoked where they had consented."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from demo.oauth_provider.server import Fault, Server
from tests.connections.desk import Aside, Desk, entries, kind_of, stored_grants, until
from tests.harness import Plugboard, served

SERVICES = ["notion", "linear", "hubspot", "slack"]


@pytest.fixture
def desk(plugboard: Plugboard) -> Desk:
    return Desk.at(plugboard)


@pytest.fixture(scope="module")
def beside(one_plugboard: Plugboard) -> Iterator[Plugboard]:
    """Another process on the same database."""
    with served(one_plugboard.settings) as other:
        yield other


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize("service", SERVICES)
def test_the_tokens_of_a_disconnected_service_are_of_no_use_any_more(
    desk: Desk, provider: Server, service: str
) -> None:
    server = desk.connected(desk.service(service))
    tenant = provider.tenant(service)
    held = {kind: tenant.live(kind) for kind in ("access", "refresh")}

    told = desk.disconnect(server)

    assert (told["connected"], told["account"], told["scopes"], told["expiresAt"]) == (False, None, [], None)
    assert stored_grants(desk) == 0
    until(lambda: entries(desk.workspace.plugboard) == [])
    assert len(held["access"]) == 1
    # HubSpot lets nothing but the refresh token be revoked; its access token ends within half an hour
    assert tenant.live("access") == (held["access"] if service == "hubspot" else [])
    assert tenant.live("refresh") == []
    assert desk.status(server) == told


@pytest.mark.requirement("OAU-15")
def test_the_tokens_of_a_disconnected_remote_server_are_of_no_use_any_more(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    desk.disconnect(desk.connected(desk.remote(acme)))

    until(lambda: entries(desk.workspace.plugboard) == [])

    assert (acme.live("access"), acme.live("refresh")) == ([], [])
    assert [asked.fields["token_type_hint"] for asked in acme.asked("revoke")] == ["refresh_token", "access_token"]
    assert {asked.status for asked in acme.asked("revoke")} == {200}


@pytest.mark.requirement("OAU-15")
def test_in_another_process_the_next_call_finds_no_connection(desk: Desk, beside: Plugboard, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    agent, there = desk.agent(server), desk.in_another(beside)
    assert desk.who(agent)["person"] == there.who(agent)["person"] == "Ada"
    acme.fault("revoke", Fault("hold"))  # so that it is nothing but forgotten

    desk.disconnect(server)
    acme.until_held("revoke")
    asked = len(acme.asked("mcp"))

    assert kind_of(there.call(agent, "whoami")) == kind_of(desk.call(agent, "whoami")) == "not_connected"
    assert len(acme.asked("mcp")) == asked
    assert there.status(server)["connected"] is False
    assert len(acme.live("access")) == 1
    acme.release()
    until(lambda: entries(beside) == [])


def test_what_is_connected_again_serves_in_every_process(desk: Desk, beside: Plugboard, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    agent, there = desk.agent(server), desk.in_another(beside)
    first = there.who(agent)["family"]

    desk.disconnect(server)
    acme.behave(person="Grace")
    there.connected(server)

    assert desk.who(agent)["person"] == there.who(agent)["person"] == "Grace"
    assert desk.who(agent)["family"] != first


def test_to_disconnect_twice_is_to_disconnect_once(desk: Desk, provider: Server) -> None:
    server = desk.connected(desk.service("notion"))

    answers = [desk.disconnect(server) for _ in range(3)]

    assert answers[0] == answers[1] == answers[2]
    assert desk.audited("server.disconnected") == [("server.disconnected", "api_key")]
    until(lambda: entries(desk.workspace.plugboard) == [])
    assert len(provider.tenant("notion").asked("revoke")) == 1


def test_what_was_never_connected_can_be_disconnected(desk: Desk, provider: Server) -> None:
    server = desk.service("notion")

    assert desk.disconnect(server)["connected"] is False
    assert desk.audited("server.disconnected") == []
    assert provider.tenant("notion").asked("revoke") == []


@pytest.mark.requirement("OAU-15")
def test_what_was_taken_back_by_the_provider_can_be_disconnected_too(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    acme.forget_grants()
    assert kind_of(desk.call(desk.agent(server), "whoami")) == "reconnect_required"
    assert desk.status(server)["reconnectRequired"] is True

    told = desk.disconnect(server)

    assert (told["connected"], told["reconnectRequired"]) == (False, False)
    assert stored_grants(desk) == 0
    until(lambda: entries(desk.workspace.plugboard) == [])


@pytest.mark.requirement("OAU-15")
def test_a_call_that_is_under_way_meanwhile_is_let_finish_and_the_next_finds_no_connection(
    desk: Desk, beside: Plugboard, provider: Server
) -> None:
    """It was asked for while somebody consented, and what it carries is revoked beneath it."""
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    agent = desk.agent(server)
    desk.who(agent)
    asked = len(acme.asked("mcp"))
    acme.fault("mcp", Fault("hold", after=True))
    called: list[object] = []

    with Aside(lambda: called.append(desk.call(agent, "echo", text="still here")["text"])):
        acme.until_held("mcp")
        desk.in_another(beside).disconnect(server)
        until(lambda: acme.live("access") == [])
        assert kind_of(desk.in_another(beside).call(agent, "whoami")) == "not_connected"
        acme.release()

    assert called == ["still here"]
    assert kind_of(desk.call(agent, "whoami")) == "not_connected"
    assert len(acme.asked("mcp")) == asked + 1


@pytest.mark.requirement("OAU-15")
def test_tokens_that_come_while_somebody_disconnects_are_revoked_as_well(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    agent = desk.agent(server)
    acme.expire()
    acme.fault("token", Fault("hold", after=True))
    kinds: list[str] = []

    with Aside(lambda: kinds.append(kind_of(desk.call(agent, "whoami")))):
        acme.until_held("token")
        desk.disconnect(server)
        acme.release()

    assert kinds == ["not_connected"]
    until(lambda: entries(desk.workspace.plugboard) == [])
    assert (acme.live("access"), acme.live("refresh")) == ([], [])
