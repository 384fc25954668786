"""In one process: who wants a token, who waits for it, and who gets which."""

from __future__ import annotations

import asyncio
import time

import pytest

from api.connections.tokens.errors import NotConnected
from api.kit.storage.store import Change, Store
from demo.oauth_provider.server import Fault, OAuthProvider
from tests.connections.tokens.refresh_process import StoreWrapper, process, step_of, until_held, with_store
from tests.connections.workspace_owner import WorkspaceOwner
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard

A_LIFE = 3600.0


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


@pytest.mark.requirement("OAU-13")
async def test_fifty_callers_share_one_refresh(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    async with process(owner, ahead=A_LIFE) as here:
        results = await asyncio.gather(*(here.fresh(server) for _ in range(50)))

    assert {result.token for result in results} == {acme.live_tokens("access")[-1]}
    assert acme.families[0].presented == [1, 0]


async def test_a_cancelled_caller_does_not_cancel_the_others(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE) as here:
        known = await here.server(server)
        first, second = (asyncio.create_task(here.keeper.get(here.ctx, known)) for _ in range(2))
        await until_held(acme)

        first.cancel()
        acme.release_held()

        assert (await second).generation == 1
        assert first.cancelled()
    assert acme.families[0].presented == [1, 0]


async def test_tokens_are_stored_even_if_all_callers_were_cancelled(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE) as here:
        only = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        only.cancel()
        acme.release_held()

        assert (await here.fresh(server)).token == acme.live_tokens("access")[-1]
    assert acme.families[0].presented == [1, 0]


async def test_two_workspaces_with_the_same_upstream_share_nothing(
    plugboard: Plugboard, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    one, other = WorkspaceOwner.at(plugboard), WorkspaceOwner.at(plugboard)
    ours, theirs = one.connected(one.remote(acme)), other.connected(other.remote(acme))
    async with process(one, ahead=A_LIFE) as here, process(other, ahead=A_LIFE) as there:
        results = await asyncio.gather(here.fresh(ours), there.fresh(theirs))

        assert results[0].token != results[1].token
        assert [family.presented for family in acme.families] == [[1, 0], [1, 0]]
        assert await here.grant_or_none(theirs) is None


@pytest.mark.parametrize(
    ("life", "due_after"),
    [(3600, 3540), (900, 840), (600, 540), (60, 54), (10, 9), (0.5, 0.45)],
)
async def test_a_token_is_renewed_a_little_before_its_end(
    owner: WorkspaceOwner, provider: OAuthProvider, life: float, due_after: float
) -> None:
    acme = provider.tenant("acme")
    acme.configure(expires_in=life)
    server = owner.connected(owner.remote(acme))
    async with process(owner, clock=StillClock()) as here:
        here.clock.seconds = (await here.grant(server)).renewed_at + due_after - 0.001
        early = await here.fresh(server)
        here.clock.seconds += 0.001
        late = await here.fresh(server)

    assert (early.generation, late.generation) == (0, 1)
    assert early.renew_at == here.clock.seconds
    assert late.renew_at == pytest.approx(here.clock.seconds + due_after)


async def test_a_token_without_a_lifetime_is_refreshed_when_the_upstream_rejects_it(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    acme.configure(expires_in=None)
    server = owner.connected(owner.remote(acme))
    async with process(owner, ahead=A_LIFE * 24 * 365) as here:
        first = await here.fresh(server)
        second = await here.fresh(server, refused=first)
        third = await here.fresh(server, refused=first)

    assert [item.generation for item in (first, second, third)] == [0, 1, 1]
    assert (first.renew_at, second.token) == (None, third.token)


async def test_a_rejected_token_of_an_old_grant_does_not_concern_the_new_grant(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    async with process(owner) as here:
        old = await here.fresh(server)
        as_it_was = await here.server(server)
        owner.connected(server)

        new = await here.keeper.get(here.ctx, as_it_was, refused=old)

    assert (old.generation, new.generation) == (0, 0)
    assert new.token == acme.live_tokens("access")[-1]
    assert acme.counts["refreshes"] == 0


async def test_a_response_without_a_refresh_token_keeps_the_old_one(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    acme.configure(rotates=False, repeats_refresh=False)
    server = owner.connected(owner.remote(acme))
    async with process(owner) as here:
        for generation in (1, 2, 3):
            here.clock.seconds += A_LIFE
            assert (await here.fresh(server)).generation == generation

    assert acme.families[0].refreshed == [1, 1, 1, 0]
    assert len({request.fields["refresh_token"] for request in acme.requests_to("token")[1:]}) == 1


async def test_a_response_with_a_refresh_token_replaces_the_old_one(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    async with process(owner) as here:
        for generation in (1, 2, 3):
            here.clock.seconds += A_LIFE
            assert (await here.fresh(server)).generation == generation

    assert acme.families[0].presented == [1, 1, 1, 0]
    assert len({request.fields["refresh_token"] for request in acme.requests_to("token")[1:]}) == 3


async def test_callers_waiting_during_a_new_connection_get_a_token_of_the_new_grant(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE) as here, process(owner, ahead=A_LIFE) as there:
        asking = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        waiting = asyncio.create_task(there.fresh(server))
        await asyncio.sleep(0)

        there.clock.seconds = here.clock.seconds = 0.0
        owner.connected(server)
        acme.release_held()

        old, new = acme.families
        assert {(await asking).token, (await waiting).token} <= set(acme.live_tokens("access"))
        assert (await asking).grant_id == (await waiting).grant_id == (await here.grant(server)).id
    assert (old.presented, new.presented) == ([1, 0], [0])


async def test_during_a_refresh_other_callers_use_the_valid_token(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE - 30) as here, process(owner, ahead=A_LIFE - 30) as there:
        renewing = asyncio.create_task(here.fresh(server))
        await until_held(acme)

        assert (await there.fresh(server)).generation == 0

        acme.release_held()
        assert (await renewing).generation == 1
        assert (await there.fresh(server)).generation == 1


async def test_a_caller_with_another_server_url_does_not_wait_for_the_old_one(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE) as here:
        old = asyncio.create_task(here.fresh(server))
        await until_held(acme)
        moved = {"url": "https://elsewhere.example.com/mcp", "config": {}}
        assert owner.admin.put(owner.path(server), json=moved).status_code == 200

        with pytest.raises(NotConnected):
            await asyncio.wait_for(here.fresh(server), 5)

        acme.release_held()
        with pytest.raises(NotConnected):
            await old


async def test_a_deleted_server_has_no_token(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    server = owner.connected(owner.remote(provider.tenant("acme")))
    async with process(owner) as here:
        as_it_was = await here.server(server)
        assert owner.delete(server).status_code == 204

        with pytest.raises(NotConnected):
            await here.keeper.get(here.ctx, as_it_was)


class SlowLeaseStore(StoreWrapper):
    """The first time."""

    def __init__(self, store: Store, clock: StillClock, seconds: float) -> None:
        super().__init__(store)
        self._clock = clock
        self._seconds = [seconds]
        self.steps: list[str] = []

    async def write(self, *changes: Change) -> None:
        await super().write(*changes)
        self.steps.append(step_of(changes))
        if self._seconds:
            self._clock.advance(self._seconds.pop())


@pytest.mark.requirement("OAU-13")
@pytest.mark.parametrize(("seconds", "steps"), [(12, ["lease", "tokens", "lease", "tokens"]), (3, ["lease", "tokens"])])
async def test_no_request_is_sent_with_a_lease_that_could_end_before_the_response(
    owner: WorkspaceOwner, provider: OAuthProvider, seconds: float, steps: list[str]
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    clock, stores = StillClock(time.time() + A_LIFE), []

    def slow(store: Store) -> Store:
        stores.append(SlowLeaseStore(store, clock, seconds))
        return stores[0]

    async with process(owner, clock=clock, equipped=with_store(slow)) as here:
        assert (await here.fresh(server)).generation == 1

    assert stores[0].steps == steps
    assert acme.families[0].presented == [1, 0]
