"""A client that asks in its own name: nobody consents, and tokens are got whenever some are needed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from api.access.context import partition_of
from api.connections.tokens.errors import NotConnected, TokenTemporarilyUnavailable
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.reencryption import rewrap
from api.kit.storage.store import Change, Store
from demo.oauth_provider.server import Fault, Server, Tenant
from tests.connections.desk import Desk, kind_of
from tests.connections.tokens.refresh_process import Beside, held, process, step_of, with_store
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard

A_LIFE = 3600.0
MACHINE = {"clientId": "machine", "clientSecret": "canary-machine"}


@pytest.fixture
def desk(plugboard: Plugboard) -> Desk:
    return Desk.at(plugboard)


def machine(desk: Desk, tenant: Tenant, **changed: Any) -> str:
    for name in ("machine", "other"):
        tenant.add_client(name, secret=f"canary-{name}", grants=("client_credentials",))
    return desk.remote(tenant, **{"oauthGrant": "client_credentials", "config": MACHINE, **changed})


def test_a_tool_is_called_without_anybodys_consent(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = machine(desk, acme)
    assert acme.asked("token") == []

    told = desk.who(desk.agent(server))

    assert told["client"] == "machine"
    assert acme.counts["client_credentials"] == 1


def test_nobody_is_asked_to_consent(desk: Desk, provider: Server) -> None:
    server = machine(desk, provider.tenant("acme"))

    answer = desk.admin.get(desk.path(server, "/oauth/authorize"))

    assert answer.status_code == 409
    assert "requests tokens on its own" in answer.json()["detail"]


async def test_many_callers_of_many_processes_share_one_token_until_it_ends(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = machine(desk, acme)
    async with process(desk) as here, process(desk) as there:
        for generation in (1, 2):
            got = await asyncio.gather(*(each.fresh(server) for each in (here, there) for _ in range(50)))

            assert {each.generation for each in got} == {generation}
            assert {each.token for each in got} == {acme.live("access")[-1]}
            assert acme.counts["client_credentials"] == generation
            here.clock.seconds = there.clock.seconds = A_LIFE


def test_while_the_provider_is_down_the_agent_is_told_so(timed: Plugboard, clock: StillClock, provider: Server) -> None:
    desk, acme = Desk.at(timed), provider.tenant("acme")
    agent = desk.agent(machine(desk, acme))
    acme.fault("token", Fault("down"))
    assert kind_of(desk.call(agent, "whoami")) == "upstream_unavailable"
    clock.advance(1)

    assert desk.who(agent)["client"] == "machine"


def test_a_client_that_is_refused_loses_nothing_by_it(timed: Plugboard, clock: StillClock, provider: Server) -> None:
    desk, acme = Desk.at(timed), provider.tenant("acme")
    server = machine(desk, acme, config=MACHINE | {"clientSecret": "canary-wrong"})
    agent = desk.agent(server)
    refused = desk.call(agent, "whoami")
    assert kind_of(refused) == "not_connected"
    assert "(invalid_client). Check `clientId`" in refused["text"]
    acme.clients["machine"] = acme.add_client("machine", secret="canary-wrong", grants=("client_credentials",))
    clock.advance(1)

    assert desk.who(agent)["client"] == "machine"
    assert desk.audited("server.reconnect_required") == []


async def test_with_another_client_other_tokens_are_got(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = machine(desk, acme)
    agent = desk.agent(server)
    assert desk.who(agent)["client"] == "machine"

    changed = {"config": {"clientId": "other", "clientSecret": "canary-other"}}
    assert desk.admin.put(desk.path(server), json=changed).status_code == 200

    assert desk.who(agent)["client"] == "other"


async def test_what_was_begun_for_a_client_that_is_another_by_now_is_not_kept(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = machine(desk, acme)
    acme.fault("metadata", Fault("hold"))
    async with process(desk) as here:
        asked = asyncio.create_task(here.fresh(server))
        await asyncio.to_thread(acme.until_held, "metadata")
        changed = {"config": {"clientId": "other", "clientSecret": "canary-other"}}
        assert desk.admin.put(desk.path(server), json=changed).status_code == 200
        acme.release()

        got = await asked
        assert (await here.grant(server)).client.id == "other"
        assert acme.grants.token(got.token).family.client == "other"


@pytest.mark.parametrize("change", ["deleted", "moved", "by consent"])
async def test_what_was_begun_for_a_server_that_is_not_the_same_any_more_is_not_kept(
    desk: Desk, provider: Server, change: str
) -> None:
    acme = provider.tenant("acme")
    server = machine(desk, acme)
    acme.fault("metadata", Fault("hold"))
    async with process(desk) as here:
        asked = asyncio.create_task(here.fresh(server))
        await asyncio.to_thread(acme.until_held, "metadata")
        if change == "deleted":
            assert desk.delete(server).status_code == 204
        else:
            fields = {
                "moved": {"url": "https://elsewhere.example.com/mcp", "config": MACHINE},
                "by consent": {"oauthGrant": "authorization_code", "config": {}},
            }
            assert desk.admin.put(desk.path(server), json=fields[change]).status_code == 200
        acme.release()

        with pytest.raises(NotConnected):
            await asked
        assert await here.grant_or_none(server) is None
    assert acme.asked("token") == []


async def test_where_nobody_can_be_found_to_ask_it_is_tried_again_later(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = machine(desk, acme)
    acme.fault("metadata", Fault("down"), times=None)
    async with process(desk) as here:
        with pytest.raises(TokenTemporarilyUnavailable):
            await here.fresh(server)
        acme.heal()

        assert (await here.fresh(server)).generation == 1


async def test_tokens_that_come_after_somebody_has_forgotten_the_connection_are_not_kept(
    desk: Desk, provider: Server
) -> None:
    acme = provider.tenant("acme")
    server = machine(desk, acme)
    acme.fault("token", Fault("hold", after=True))
    async with process(desk) as here:
        asked = asyncio.create_task(here.fresh(server))
        await held(acme)
        desk.disconnect(server)
        acme.release()

        got = await asked
        assert got.token == acme.live("access")[-1]
        assert acme.counts["client_credentials"] == 2


class Rotating(Beside):
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


async def test_no_tokens_are_stored_under_a_key_that_is_gone(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = machine(desk, acme)
    partition, stores = partition_of(desk.workspace.id), []
    async with process(desk) as operator:

        def rotating(store: Store) -> Store:
            stores.append(Rotating(store, operator.parts.key_ring, partition))
            return stores[0]

        async with process(desk, equipped=with_store(rotating)) as here, process(desk) as there:
            stored = await here.fresh(server)

            assert await there.fresh(server) == stored
    assert stores[0].retired == 1
    assert acme.counts["client_credentials"] == 1
