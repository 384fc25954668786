"""Refusals of the authorization server: the end of a grant, or of an outdated token."""

from __future__ import annotations

import asyncio

import pytest

from api.connections.tokens.errors import ReconnectRequired, TokenTemporarilyUnavailable
from demo.oauth_provider.server import Fault, OAuthProvider
from tests.connections.tokens.refresh_process import process, until_held
from tests.connections.workspace_owner import WorkspaceOwner, failure_kind, wait_until
from tests.harness import Plugboard

A_LIFE = 3600.0
LOST = [("server.reconnect_required", "system")]


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


async def test_a_revoked_grant_is_marked_and_not_refreshed_again(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.revoke_grants()
    async with process(owner, ahead=A_LIFE) as here, process(owner, ahead=A_LIFE) as there:
        requests = [item.fresh(server) for item in (here, there) for _ in range(25)]
        results = await asyncio.gather(*requests, return_exceptions=True)

        assert {type(result) for result in results} == {ReconnectRequired}
        with pytest.raises(ReconnectRequired):
            await here.fresh(server)
    assert len(acme.requests_to("token")) == 2  # one of them to connect
    assert owner.audited("server.reconnect_required") == LOST
    assert owner.shown(server)["oauthConnected"] is False
    status = owner.status(server)
    assert (status["connected"], status["reconnectRequired"]) == (False, True)
    assert failure_kind(owner.call(owner.agent(server), "whoami")) == "reconnect_required"


async def test_a_connection_can_be_restored_after_its_grant_ended(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    agent = owner.agent(server)
    acme.revoke_grants()
    assert failure_kind(owner.call(agent, "whoami")) == "reconnect_required"

    owner.connected(server)

    assert owner.whoami(agent)["generation"] == 0
    assert owner.status(server)["reconnectRequired"] is False


@pytest.mark.requirement("OAU-13")
async def test_the_token_that_another_process_has_refreshed_is_used(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    acme.configure(revokes_family=False)
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE) as here, process(owner, ahead=A_LIFE + 60) as there:
        late = asyncio.create_task(here.fresh(server))
        await until_held(acme)

        renewed = await there.fresh(server)  # its lease is over, and it does not know
        acme.release_held()

        assert await late == renewed
    assert (acme.families[0].presented, acme.families[0].refreshed) == ([2, 0], [1, 0])
    assert owner.audited("server.reconnect_required") == []


@pytest.mark.requirement("OAU-13")
async def test_the_token_that_another_process_is_storing_is_awaited(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    acme.configure(revokes_family=False)
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("slow", seconds=1.0))
    acme.inject_fault("token", Fault("hold", after=True))
    async with process(owner, ahead=A_LIFE) as here, process(owner, ahead=A_LIFE + 60) as there:
        late = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        renewing = asyncio.create_task(there.fresh(server))
        await asyncio.to_thread(acme.wait_until_held, "token", 2)

        await asyncio.to_thread(wait_until, lambda: acme.families[0].reuses == 1)
        done, _ = await asyncio.wait([late], timeout=0.3)  # it is refused; the other has been served, but does not know
        assert done == set()
        acme.release_held()

        assert await late == await renewing
    assert owner.audited("server.reconnect_required") == []


async def test_without_a_refresh_token_a_grant_ends_with_its_token(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    acme.configure(gives_refresh=False)
    server = owner.connected(owner.remote(acme))
    async with process(owner, ahead=A_LIFE - 1) as here:
        assert (await here.fresh(server)).generation == 0
        here.clock.seconds = A_LIFE

        with pytest.raises(ReconnectRequired):
            await here.fresh(server)
    assert len(acme.requests_to("token")) == 1
    assert owner.audited("server.reconnect_required") == LOST


@pytest.mark.parametrize("word", ["invalid_request", "unauthorized_client", "unsupported_grant_type", "invalid_scope"])
async def test_a_correctable_error_ends_no_grant(owner: WorkspaceOwner, provider: OAuthProvider, word: str) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("text", body=f'{{"error": "{word}", "error_description": "<b>canary</b>"}}'))
    async with process(owner, ahead=A_LIFE) as here:
        with pytest.raises(TokenTemporarilyUnavailable) as raised:
            await here.fresh(server)
        assert raised.value.text == f"The authorization server refuses to refresh the tokens ({word})."
        here.clock.seconds += 2

        assert (await here.fresh(server)).generation == 1
    assert owner.audited("server.reconnect_required") == []


async def test_a_deleted_registration_requires_connecting_again(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.clients.clear()
    async with process(owner, ahead=A_LIFE) as here:
        with pytest.raises(ReconnectRequired):
            await here.fresh(server)
    assert owner.audited("server.reconnect_required") == LOST


async def test_a_refused_app_of_the_operator_ends_no_grant(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    notion = provider.tenant("notion")
    server = owner.connected(owner.service("notion"))
    async with process(owner) as here:
        known, app = await here.fresh(server), notion.client
        notion.clients.clear()
        with pytest.raises(TokenTemporarilyUnavailable, match="invalid_client"):
            await here.fresh(server, refused=known)
        notion.clients[app.id] = app
        here.clock.seconds += 2

        assert (await here.fresh(server, refused=known)).generation == 1
    assert owner.status(server)["reconnectRequired"] is False
