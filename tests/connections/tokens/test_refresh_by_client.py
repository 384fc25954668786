"""Client credentials: tokens are requested on demand, without consent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from api.access.context import partition_of
from api.connections.tokens.errors import NotConnected, TokenTemporarilyUnavailable
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.reencryption import rewrap
from api.kit.storage.store import Change, Store
from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.connections.tokens.refresh_process import StoreWrapper, process, step_of, until_held, with_store
from tests.connections.workspace_owner import WorkspaceOwner, failure_kind
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard

A_LIFE = 3600.0
MACHINE = {"clientId": "machine", "clientSecret": "canary-machine"}


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


def machine(owner: WorkspaceOwner, tenant: Tenant, **changed: Any) -> str:
    for name in ("machine", "other"):
        tenant.add_client(name, secret=f"canary-{name}", grants=("client_credentials",))
    return owner.remote(tenant, **{"oauthGrant": "client_credentials", "config": MACHINE, **changed})


def test_a_tool_is_called_without_user_consent(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = machine(owner, acme)
    assert acme.requests_to("token") == []

    account = owner.whoami(owner.agent(server))

    assert account["client"] == "machine"
    assert acme.counts["client_credentials"] == 1


def test_no_consent_is_requested(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    server = machine(owner, provider.tenant("acme"))

    response = owner.admin.get(owner.path(server, "/oauth/authorize"))

    assert response.status_code == 409
    assert "requests tokens on its own" in response.json()["detail"]


async def test_many_callers_of_many_processes_share_one_token_until_it_ends(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = machine(owner, acme)
    async with process(owner) as here, process(owner) as there:
        for generation in (1, 2):
            results = await asyncio.gather(*(item.fresh(server) for item in (here, there) for _ in range(50)))

            assert {result.generation for result in results} == {generation}
            assert {result.token for result in results} == {acme.live_tokens("access")[-1]}
            assert acme.counts["client_credentials"] == generation
            here.clock.seconds = there.clock.seconds = A_LIFE


def test_an_outage_of_the_provider_is_reported_to_the_agent(
    timed: Plugboard, clock: StillClock, provider: OAuthProvider
) -> None:
    owner, acme = WorkspaceOwner.at(timed), provider.tenant("acme")
    agent = owner.agent(machine(owner, acme))
    acme.inject_fault("token", Fault("down"))
    assert failure_kind(owner.call(agent, "whoami")) == "upstream_unavailable"
    clock.advance(1)

    assert owner.whoami(agent)["client"] == "machine"


def test_a_refused_client_can_be_accepted_later(timed: Plugboard, clock: StillClock, provider: OAuthProvider) -> None:
    owner, acme = WorkspaceOwner.at(timed), provider.tenant("acme")
    server = machine(owner, acme, config=MACHINE | {"clientSecret": "canary-wrong"})
    agent = owner.agent(server)
    refused = owner.call(agent, "whoami")
    assert failure_kind(refused) == "not_connected"
    assert "(invalid_client). Check `clientId`" in refused["text"]
    acme.clients["machine"] = acme.add_client("machine", secret="canary-wrong", grants=("client_credentials",))
    clock.advance(1)

    assert owner.whoami(agent)["client"] == "machine"
    assert owner.audited("server.reconnect_required") == []


async def test_a_new_client_requests_new_tokens(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = machine(owner, acme)
    agent = owner.agent(server)
    assert owner.whoami(agent)["client"] == "machine"

    changed = {"config": {"clientId": "other", "clientSecret": "canary-other"}}
    assert owner.admin.put(owner.path(server), json=changed).status_code == 200

    assert owner.whoami(agent)["client"] == "other"


async def test_a_grant_requested_for_a_replaced_client_is_not_stored(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = machine(owner, acme)
    acme.inject_fault("metadata", Fault("hold"))
    async with process(owner) as here:
        tasks = asyncio.create_task(here.fresh(server))
        await asyncio.to_thread(acme.wait_until_held, "metadata")
        changed = {"config": {"clientId": "other", "clientSecret": "canary-other"}}
        assert owner.admin.put(owner.path(server), json=changed).status_code == 200
        acme.release_held()

        results = await tasks
        assert (await here.grant(server)).client.id == "other"
        assert acme.grants.token(results.token).family.client == "other"


@pytest.mark.parametrize("change", ["deleted", "moved", "by consent"])
async def test_a_grant_requested_for_a_changed_server_is_not_stored(
    owner: WorkspaceOwner, provider: OAuthProvider, change: str
) -> None:
    acme = provider.tenant("acme")
    server = machine(owner, acme)
    acme.inject_fault("metadata", Fault("hold"))
    async with process(owner) as here:
        tasks = asyncio.create_task(here.fresh(server))
        await asyncio.to_thread(acme.wait_until_held, "metadata")
        if change == "deleted":
            assert owner.delete(server).status_code == 204
        else:
            fields = {
                "moved": {"url": "https://elsewhere.example.com/mcp", "config": MACHINE},
                "by consent": {"oauthGrant": "authorization_code", "config": {}},
            }
            assert owner.admin.put(owner.path(server), json=fields[change]).status_code == 200
        acme.release_held()

        with pytest.raises(NotConnected):
            await tasks
        assert await here.grant_or_none(server) is None
    assert acme.requests_to("token") == []


async def test_a_failed_discovery_is_retried_later(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = machine(owner, acme)
    acme.inject_fault("metadata", Fault("down"), times=None)
    async with process(owner) as here:
        with pytest.raises(TokenTemporarilyUnavailable):
            await here.fresh(server)
        acme.clear_faults()

        assert (await here.fresh(server)).generation == 1


async def test_tokens_received_after_a_disconnect_are_not_stored(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = machine(owner, acme)
    acme.inject_fault("token", Fault("hold", after=True))
    async with process(owner) as here:
        tasks = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        owner.disconnect(server)
        acme.release_held()

        with pytest.raises(NotConnected):
            await tasks
        assert await here.grant_or_none(server) is None
        assert acme.counts["client_credentials"] == 1


async def test_a_process_that_does_not_know_of_a_disconnect_requests_no_token(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = machine(owner, acme)
    async with process(owner) as here:
        outdated = await here.server(server)
        token = await here.keeper.get(here.ctx, outdated)
        owner.disconnect(server)

        for refused in (None, token):
            with pytest.raises(NotConnected):
                await here.keeper.get(here.ctx, outdated, refused=refused)
    assert acme.counts["client_credentials"] == 1


async def test_a_grant_requested_before_a_disconnect_is_not_stored(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = machine(owner, acme)
    acme.inject_fault("metadata", Fault("hold"))
    async with process(owner) as here:
        tasks = asyncio.create_task(here.fresh(server))
        await asyncio.to_thread(acme.wait_until_held, "metadata")
        owner.disconnect(server)
        acme.release_held()

        with pytest.raises(NotConnected):
            await tasks
        assert await here.grant_or_none(server) is None
    assert acme.requests_to("token") == []


class KeyRotatingStore(StoreWrapper):
    """The keys are rotated, and the old ones destroyed, when tokens are sealed and not stored yet."""

    def __init__(self, store: Store, keyring: KeyRing, partition: str) -> None:
        super().__init__(store)
        self._keyring, self._partition = keyring, partition
        self.retired = 0

    async def write(self, *changes: Change) -> None:
        if step_of(changes) == "tokens" and not self.retired:
            await self._keyring.rotate(self._partition)
            self.retired = (await rewrap(self.store, self._keyring, self._partition)).retired_keys
        await super().write(*changes)


async def test_no_tokens_are_stored_under_a_destroyed_key(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = machine(owner, acme)
    partition, stores = partition_of(owner.workspace.id), []
    async with process(owner) as operator:

        def rotating(store: Store) -> Store:
            stores.append(KeyRotatingStore(store, operator.parts.key_ring, partition))
            return stores[0]

        async with process(owner, equipped=with_store(rotating)) as here, process(owner) as there:
            stored = await here.fresh(server)

            assert await there.fresh(server) == stored
    assert stores[0].retired == 1
    assert acme.counts["client_credentials"] == 1
