"""New tokens are on their way, and something is in the way of storing them."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

import pytest

from api.access.peppers import SYSTEM
from api.connections.encryption import TokenSealer
from api.connections.revocation.job import PREFIX as OUTBOX
from api.connections.tokens.errors import NotConnected, TokenTemporarilyUnavailable
from api.connections.tokens.policy import RefreshPolicy
from api.kit.clock import SystemClock
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.reencryption import rewrap
from api.kit.crypto.root_keys import RootKeys, RootKeyUnavailable, WrappedKey
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Vault
from api.kit.storage.store import Change, Store, StoreUnavailable
from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.connections.tokens.refresh_process import (
    Process,
    StoreWrapper,
    process,
    step_of,
    until_held,
    with_store,
    with_token_refresh,
)
from tests.connections.workspace_owner import WorkspaceOwner
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard

A_LIFE = 3600.0


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


class FailingStore(StoreWrapper):
    """Busy so many times when tokens are to be stored: before it has stored them, or after it has."""

    def __init__(self, store: Store, times: int = 0, *, after: bool = False) -> None:
        super().__init__(store)
        self.times, self._after = times, after
        self.was_busy = asyncio.Event()

    async def write(self, *changes: Change) -> None:
        is_busy = step_of(changes) == "tokens" and self.times > 0
        if self._after or not is_busy:
            await super().write(*changes)
        if is_busy:
            self.times -= 1
            self.was_busy.set()
            raise StoreUnavailable("not now")


def assert_one_renewal(tenant: Tenant) -> None:
    [family] = tenant.families
    assert (family.presented, family.reuses, family.is_revoked) == ([1, 0], 0, False)


@pytest.mark.requirement("OAU-13")
async def test_tokens_are_stored_despite_a_lost_response_of_the_store(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    busy = with_store(lambda store: FailingStore(store, 1, after=True))
    async with process(owner, ahead=A_LIFE, equipped=busy) as here, process(owner, ahead=A_LIFE) as there:
        results = await asyncio.gather(*(here.fresh(server) for _ in range(50)))

        assert {result.token for result in results} == {(await there.fresh(server)).token}
    assert_one_renewal(acme)


@pytest.mark.requirement("OAU-13")
async def test_tokens_are_stored_as_soon_as_the_store_is_no_longer_busy(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    busy = with_store(lambda store: FailingStore(store, 4))
    async with process(owner, ahead=A_LIFE, equipped=busy) as here, process(owner, ahead=A_LIFE) as there:
        requests = [asyncio.create_task(item.fresh(server)) for item in (here, there) for _ in range(10)]

        assert {(await request).token for request in requests} == {acme.live_tokens("access")[-1]}
    assert_one_renewal(acme)


@pytest.mark.requirement("OAU-13")
async def test_tokens_stored_after_the_lease_expired_take_precedence(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    """Otherwise the next would ask with a token that is spent."""
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    failing: list[FailingStore] = []
    brief = RefreshPolicy(lease=1.0, answer=0.5)

    def wrapped(store: Store) -> Store:
        failing.append(FailingStore(store, 1_000_000))
        return failing[0]

    async with process(owner, ahead=A_LIFE, timing=brief, equipped=with_store(wrapped)) as here:
        storing = asyncio.create_task(here.fresh(server))
        await failing[0].was_busy.wait()
        lease = (await here.grant(server)).lease
        async with process(owner, ahead=A_LIFE + 2, timing=brief) as there:
            assert lease.until < there.clock.now()
            waiting = asyncio.create_task(there.fresh(server))
            failing[0].times = 0

            assert (await waiting).token == (await storing).token
    assert_one_renewal(acme)


@pytest.mark.requirement("OAU-13")
async def test_a_stopping_process_stores_received_tokens(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE, equipped=with_store(lambda store: FailingStore(store, 3))) as here:
        tasks = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        asyncio.get_running_loop().call_later(0.05, acme.release_held)

        await here.parts.close()

        assert (await tasks).generation == 1
    async with process(owner, ahead=A_LIFE) as next_one:
        assert (await next_one.fresh(server)).token == acme.live_tokens("access")[-1]
    assert_one_renewal(acme)


async def test_a_stopping_process_starts_no_refresh(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE) as here, process(owner, ahead=A_LIFE) as there:
        renewing = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        waiting = asyncio.create_task(there.fresh(server))

        await there.keeper.finish()

        with pytest.raises(TokenTemporarilyUnavailable):
            await waiting
        with pytest.raises(TokenTemporarilyUnavailable):
            await there.fresh(server)
        acme.release_held()
        renewed = await renewing
        assert await there.fresh(server) == renewed
    assert_one_renewal(acme)


@pytest.mark.requirement("OAU-13")
async def test_a_shutdown_is_not_delayed_forever(
    owner: WorkspaceOwner, provider: OAuthProvider, caplog: pytest.LogCaptureFixture
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    clock, pauses, has_waited_long = StillClock(time.time() + A_LIFE), [0.0], asyncio.Event()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        clock.advance(seconds)
        if sum(pauses) > 600:
            has_waited_long.set()
        await asyncio.sleep(0)

    busy = with_store(lambda store: FailingStore(store, 1_000_000))
    async with process(owner, clock=clock, pause=pause, equipped=busy) as here:
        tasks = asyncio.create_task(here.fresh(server))
        await has_waited_long.wait()  # it continues until it is stopped
        await here.keeper.finish()

        with pytest.raises(TokenTemporarilyUnavailable):
            await tasks
    assert 650 < sum(pauses) < 670
    assert max(pauses) < RefreshPolicy().grace
    assert [record.levelno for record in caplog.records].count(logging.CRITICAL) == 1
    assert all(token not in caplog.text for token in [*acme.live_tokens("access"), *acme.live_tokens("refresh")])


@pytest.mark.requirement("OAU-13")
async def test_tokens_are_stored_under_keys_rotated_during_the_request(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    acme.configure(rotates=False, repeats_refresh=False)
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE) as here, process(owner) as operator:
        tasks = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        partition = here.ctx.partition
        await operator.parts.key_ring.rotate(partition)
        done = await rewrap(operator.parts.store, operator.parts.key_ring, partition)
        assert (done.resealed_values, done.retired_keys) == (3, 1)  # two tokens, and our secret there
        acme.release_held()

        assert (await tasks).generation == 1
        here.parts.key_ring.forget(partition)
        here.clock.seconds += A_LIFE
        assert (await here.fresh(server)).generation == 2  # with the refresh token that was sealed again


class UnreachableRootKeys(RootKeys):
    """Root keys that are unavailable a given number of times."""

    def __init__(self, roots: RootKeys) -> None:
        self._roots = roots
        self.times = 0

    @property
    def id(self) -> str:
        return self._roots.id

    @property
    def ids(self) -> frozenset[str]:
        return self._roots.ids

    async def new_data_key(self, context: dict[str, str]) -> tuple[Secret, WrappedKey]:
        return await self._roots.new_data_key(context)

    async def wrap(self, key: Secret, context: dict[str, str]) -> WrappedKey:
        return await self._roots.wrap(key, context)

    async def unwrap(self, wrapped: WrappedKey, context: dict[str, str]) -> Secret:
        if self.times:
            self.times -= 1
            raise RootKeyUnavailable("not now")
        return await self._roots.unwrap(wrapped, context)

    def close(self) -> None:
        pass


@pytest.mark.requirement("OAU-13")
async def test_tokens_are_stored_after_an_outage_of_the_root_key(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE) as here, process(owner) as operator:
        roots = UnreachableRootKeys(here.parts.root_keys)
        vault = Vault(KeyRing(here.parts.store, roots, SystemClock()))
        sealer = TokenSealer(vault, here.parts.settings.reachable)
        keeper = with_token_refresh(
            replace(here.parts, connections=replace(here.parts.connections, sealer=sealer)), RefreshPolicy()
        ).connections.tokens
        tasks = asyncio.create_task(keeper.get(here.ctx, await here.server(server)))
        await until_held(acme)
        await operator.parts.key_ring.rotate(here.ctx.partition)  # so that a key is needed that no cache holds
        roots.times = 3
        acme.release_held()

        assert (await tasks).generation == 1
        assert (await here.fresh(server)).token == (await tasks).token
        assert roots.times == 0


async def revoked(here: Process) -> None:
    """All that is to be; some of it has to wait until a workspace is gone."""
    for _ in range(10):
        await here.parts.connections.revocation_queue.work_off()
        here.clock.seconds += 60.0
    assert await here.parts.store.query(SYSTEM, OUTBOX) == []


@pytest.mark.requirement("OAU-15")
async def test_tokens_received_after_a_disconnect_are_revoked(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold", after=True))
    async with process(owner, ahead=A_LIFE) as here:
        tasks = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        owner.disconnect(server)
        acme.release_held()

        with pytest.raises(NotConnected):
            await tasks
        assert await here.grant_or_none(server) is None
        await revoked(here)
    assert (acme.live_tokens("access"), acme.live_tokens("refresh")) == ([], [])


@pytest.mark.requirement("OAU-16")
@pytest.mark.parametrize("gone", ["the server", "the workspace"])
async def test_tokens_received_after_a_deletion_are_revoked(
    owner: WorkspaceOwner, provider: OAuthProvider, gone: str
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold", after=True))
    async with process(owner, ahead=A_LIFE) as here:
        tasks = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        if gone == "the server":
            assert owner.delete(server).status_code == 204
        else:
            response = owner.workspace.plugboard.operator.delete(owner.workspace.path)
            assert response.status_code == 204
        acme.release_held()

        with pytest.raises((NotConnected, CannotOpen)):
            await tasks
        await revoked(here)
    assert (acme.live_tokens("access"), acme.live_tokens("refresh")) == ([], [])


async def test_tokens_received_after_connecting_again_are_not_revoked(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold", after=True))
    async with process(owner, ahead=A_LIFE) as here:
        tasks = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        here.clock.seconds = 0.0
        owner.connected(server)
        acme.release_held()
        results = await tasks

    old, new = acme.families
    assert acme.grants.token(results.token).family is new
    assert acme.requests_to("revoke") == []
    assert old.presented == [1, 0]
    assert owner.whoami(owner.agent(server))["family"] == new.id


async def test_the_lifetime_of_tokens_starts_at_the_response(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    clock = StillClock(time.time() + A_LIFE)

    async def pause(seconds: float) -> None:
        clock.advance(seconds)
        await asyncio.sleep(0)

    begun = clock.now()
    async with process(
        owner, clock=clock, pause=pause, equipped=with_store(lambda store: FailingStore(store, 20))
    ) as here:
        await here.fresh(server)

        grant = await here.grant(server)
    assert clock.now() > begun + 4
    assert (grant.renewed_at, grant.expires_at) == (begun, begun + A_LIFE)
