"""Registrations of OAuth clients that no grant uses are deleted after a day; all others are kept."""

from __future__ import annotations

from api.access.context import partition_of
from api.connections.client_repository import CLIENT_PREFIX
from api.connections.oauth_clients import IN_USE_SECONDS
from api.main.container import Container, registration_pruner
from demo.oauth_provider.server import OAuthProvider
from tests.connections.browser_flow import ConnectableServer, ConsentBrowser, mcp_server
from tests.connections.workspace_owner import WorkspaceOwner, in_another_process
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard


def registrations(plugboard: Plugboard, workspace_id: str) -> int:
    partition = partition_of(workspace_id)
    return len(in_another_process(plugboard, lambda parts: parts.store.query(partition, CLIENT_PREFIX)))


def prune(plugboard: Plugboard, clock: StillClock) -> None:
    async def run(parts: Container) -> None:
        await registration_pruner(parts).run()

    in_another_process(plugboard, run, clock)


def abandon_consent(plugboard: Plugboard, provider: OAuthProvider) -> ConnectableServer:
    """The browser is redirected to the authorization server and never returns."""
    server = mcp_server(plugboard, provider.tenant("acme"))
    ConsentBrowser(plugboard, plugboard.settings.public_url).go(server.page())
    return server


def test_an_unused_registration_is_deleted_after_a_day(
    timed: Plugboard, provider: OAuthProvider, clock: StillClock
) -> None:
    server = abandon_consent(timed, provider)

    prune(timed, clock)
    assert registrations(timed, server.workspace.id) == 1

    clock.advance(IN_USE_SECONDS + 1)
    prune(timed, clock)
    assert registrations(timed, server.workspace.id) == 0


def test_the_registration_of_a_grant_is_kept(timed: Plugboard, provider: OAuthProvider, clock: StillClock) -> None:
    owner = WorkspaceOwner.at(timed)
    owner.connected(owner.remote(provider.tenant("acme")))
    clock.advance(2 * IN_USE_SECONDS)

    prune(timed, clock)

    assert registrations(timed, owner.workspace.id) == 1


def test_the_registration_of_a_disconnected_server_is_deleted(
    timed: Plugboard, provider: OAuthProvider, clock: StillClock
) -> None:
    owner = WorkspaceOwner.at(timed)
    server = owner.connected(owner.remote(provider.tenant("acme")))
    owner.disconnect(server)
    clock.advance(IN_USE_SECONDS + 1)

    prune(timed, clock)

    assert registrations(timed, owner.workspace.id) == 0
    assert owner.connect(server) == {"connected": server}


def test_a_registration_that_is_used_again_is_kept_for_another_day(
    timed: Plugboard, provider: OAuthProvider, clock: StillClock
) -> None:
    acme = provider.tenant("acme")
    server = mcp_server(timed, acme)
    visitor = ConsentBrowser(timed, timed.settings.public_url)
    server.page()
    clock.advance(IN_USE_SECONDS + 1)
    callback = visitor.consent(server.page())

    prune(timed, clock)

    assert visitor.land(callback).status_code == 303
    assert server.status()["connected"] is True
    assert len(acme.requests_to("register")) == 1


def test_a_workspace_that_was_deleted_does_not_stop_the_others(
    timed: Plugboard, provider: OAuthProvider, clock: StillClock
) -> None:
    gone, server = timed.make_workspace(), abandon_consent(timed, provider)
    assert timed.operator.delete(gone.path).status_code == 204
    clock.advance(IN_USE_SECONDS + 1)

    prune(timed, clock)

    assert registrations(timed, server.workspace.id) == 0
