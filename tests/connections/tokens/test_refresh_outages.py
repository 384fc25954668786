"""Outages of the authorization server: no connection is lost, and retries back off."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.access.context import WorkspaceContext
from api.connections.dependencies import AuthServerHttpFactory
from api.connections.tokens.errors import TokenTemporarilyUnavailable
from api.connections.tokens.policy import RefreshPolicy
from api.kit.egress.policy import check_url
from api.kit.http_client.client import Exchange
from api.kit.storage.store import Change, StoreUnavailable
from api.servers.server import Server as McpServer
from api.upstream_http import AUTH_SERVER_LIMITS, AuthServerHttp, to_upstream_error
from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.connections.tokens.refresh_process import StoreWrapper, TokenDeps, process, step_of, until_held, with_store
from tests.connections.workspace_owner import WorkspaceOwner, failure_kind
from tests.harness import Plugboard

A_LIFE = 3600.0
NOT_AVAILABLE = "The authorization server is not available right now."
OUTAGES = {
    "it is down": Fault("down"),
    "it fails": Fault("down", status=500),
    "somebody before it fails": Fault("down", status=404),
    "somebody before it lets nobody in": Fault("down", status=403),
    "it is busy": Fault("busy"),
    "it says nothing": Fault("empty"),
    "it says something else": Fault("html"),
    "it says it otherwise": Fault("text"),
    "it says several things": Fault("array"),
    "it does not end": Fault("huge"),
    "it sends elsewhere": Fault("redirect", location="https://elsewhere.example.com/token"),
    "it hangs up": Fault("close"),
}
IN_DOUBT = {
    "it fails, when it is done": Fault("down", after=True),
    "it is busy, when it is done": Fault("busy", after=True),
    "its answer is lost": Fault("close", after=True),
    "its answer is replaced": Fault("html", after=True),
}


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


def assert_still_connected(owner: WorkspaceOwner, server: str) -> None:
    assert owner.audited("server.reconnect_required") == []
    assert owner.status(server)["reconnectRequired"] is False
    assert owner.shown(server)["oauthConnected"] is True


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_no_outage_ends_a_grant(owner: WorkspaceOwner, provider: OAuthProvider, outage: Fault) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", outage, times=2)
    async with process(owner, ahead=A_LIFE) as here, process(owner, ahead=A_LIFE) as there:
        for item in (here, there):
            results = await asyncio.gather(*(here.fresh(server) for _ in range(20)), return_exceptions=True)
            assert {str(problem) for problem in results} == {NOT_AVAILABLE}
            item.clock.seconds += 3
            there.clock.seconds = here.clock.seconds = max(here.clock.seconds, there.clock.seconds)
        assert_still_connected(owner, server)

        assert (await there.fresh(server)).token == acme.live_tokens("access")[-1]
        grant = await there.grant(server)
    assert (grant.failures, grant.retry_at, grant.lease.owner) == (0, 0.0, "")
    assert acme.request_counts["token"] == 4
    assert acme.families[0].reuses == 0


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("doubt", IN_DOUBT.values(), ids=IN_DOUBT)
async def test_a_refresh_is_repeated_after_a_lost_response(
    owner: WorkspaceOwner, provider: OAuthProvider, doubt: Fault
) -> None:
    acme = provider.tenant("acme")
    acme.configure(grace=60.0)
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", doubt)
    async with process(owner, ahead=A_LIFE) as here:
        with pytest.raises(TokenTemporarilyUnavailable):
            await here.fresh(server)
        assert_still_connected(owner, server)
        here.clock.seconds += 2

        assert (await here.fresh(server)).token == acme.live_tokens("access")[-1]
    assert (acme.counts["graces"], acme.families[0].reuses) == (1, 0)


class QuickTimeoutHttp(AuthServerHttp):
    """As a line that waits ten seconds."""

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> Exchange:
        del lasting
        target = check_url(url, self._egress)
        return self._outbound.request(
            method,
            target,
            headers,
            body,
            pool=self._pool,
            seconds=0.2,
            limits=AUTH_SERVER_LIMITS,
            translate=to_upstream_error,
        )


class QuickTimeoutHttpFactory(AuthServerHttpFactory):
    def for_server(self, ctx: WorkspaceContext, server: McpServer) -> AuthServerHttp:
        return QuickTimeoutHttp(self.anywhere.outbound, self.anywhere.egress, f"{ctx.workspace_id} {server.id}")


def with_quick_timeout(deps: TokenDeps) -> TokenDeps:
    return replace(deps, auth_http=QuickTimeoutHttpFactory(deps.auth_http.anywhere, deps.auth_http.vendors))


@pytest.mark.requirement("OAU-14")
async def test_a_provider_that_times_out_counts_as_down(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=A_LIFE, equipped=with_quick_timeout) as here:
        with pytest.raises(TokenTemporarilyUnavailable, match="not available"):
            await here.fresh(server)
        here.clock.seconds += 2

        assert (await here.fresh(server)).generation == 1
    assert_still_connected(owner, server)


@pytest.mark.requirement("OAU-14")
async def test_the_old_token_is_used_while_valid_and_requests_back_off(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("down"))
    async with process(owner, ahead=A_LIFE - 50) as here, process(owner, ahead=A_LIFE - 50) as there:
        for item in (here, there):
            results = await asyncio.gather(*(item.fresh(server) for _ in range(20)))
            assert {result.generation for result in results} == {0}
        assert acme.request_counts["token"] == 2
        here.clock.seconds += 2

        assert (await here.fresh(server)).generation == 1
        assert (await there.fresh(server)).generation == 1


@pytest.mark.requirement("OAU-14")
async def test_no_request_is_sent_before_retry_after(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("busy", retry_after=1800))
    async with process(owner, ahead=A_LIFE) as here, process(owner, ahead=A_LIFE) as there:
        for item in (here, there):
            with pytest.raises(TokenTemporarilyUnavailable) as raised:
                await item.fresh(server)
            assert 1799 < (raised.value.retry_after or 0) <= 1.2 * 1800
            item.clock.seconds += 1
        here.clock.seconds = A_LIFE + 1799
        with pytest.raises(TokenTemporarilyUnavailable):
            await here.fresh(server)
        assert acme.request_counts["token"] == 2

        here.clock.seconds = A_LIFE + 1.2 * 1800
        assert (await here.fresh(server)).generation == 1


@pytest.mark.requirement("OAU-14")
async def test_a_rejected_token_is_not_used_even_without_a_new_one(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    async with process(owner) as here:
        known = await here.fresh(server)
        acme.inject_fault("token", Fault("down"))
        with pytest.raises(TokenTemporarilyUnavailable):
            await here.fresh(server, refused=known)

        assert await here.fresh(server) == known  # who has not been refused may try it
        here.clock.seconds += 2
        assert (await here.fresh(server, refused=known)).generation == 1


@pytest.mark.requirement("OAU-14")
async def test_each_failure_lengthens_the_wait_and_a_success_resets_it(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("down"), times=5)
    waits = []
    async with process(owner, ahead=A_LIFE) as here:
        for _ in range(5):
            with pytest.raises(TokenTemporarilyUnavailable) as raised:
                await here.fresh(server)
            waits.append(raised.value.retry_after or 0)
            here.clock.seconds += waits[-1] + 0.01
        await here.fresh(server)

        acme.inject_fault("token", Fault("down"))
        here.clock.seconds += A_LIFE
        with pytest.raises(TokenTemporarilyUnavailable) as again:
            await here.fresh(server)
    assert all(0.8 * 2**number <= wait <= 2**number for number, wait in enumerate(waits))
    assert (again.value.retry_after or 0) <= 1


@pytest.mark.requirement("OAU-14")
@given(failures=st.integers(0, 10_000), told=st.none() | st.floats(0, 1e9))
def test_waits_are_bounded_and_respect_retry_after(failures: int, told: float | None) -> None:
    wait = RefreshPolicy().wait_after(failures, told)

    if told is None:
        assert 0.8 <= wait <= 300
    else:
        assert min(max(told, 1.0), 3600.0) <= wait <= 1.2 * 3600


async def failed_at(owner: WorkspaceOwner, acme: Tenant, server: str, ahead: float) -> None:
    """In a process whose clock is that far ahead."""
    acme.inject_fault("token", Fault("down"))
    async with process(owner, ahead=ahead) as here:
        with pytest.raises(TokenTemporarilyUnavailable):
            await here.fresh(server)


async def test_a_retry_time_written_by_a_wrong_clock_is_ignored(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    acme.configure(expires_in=5)
    server = owner.connected(owner.remote(acme))
    await failed_at(owner, acme, server, ahead=365 * 86_400)
    async with process(owner, ahead=10) as here:
        assert (await here.fresh(server)).generation == 1


async def test_a_lease_written_by_a_wrong_clock_is_ignored(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    acme.configure(expires_in=5, revokes_family=False)
    server = owner.connected(owner.remote(acme))
    acme.inject_fault("token", Fault("hold"))
    async with process(owner, ahead=365 * 86_400) as ahead, process(owner, ahead=10) as here:
        late = asyncio.create_task(ahead.fresh(server))
        await until_held(acme)

        assert (await here.fresh(server)).generation == 1

        acme.release_held()
        assert (await late).generation == 2


async def test_the_agent_text_says_that_the_connection_is_valid_and_when_to_retry(
    timed: Plugboard, provider: OAuthProvider
) -> None:
    owner, acme = WorkspaceOwner.at(timed), provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    agent = owner.agent(server)
    assert owner.whoami(agent)["generation"] == 0
    acme.expire_tokens()
    acme.inject_fault("token", Fault("busy", retry_after=60))

    failed = owner.call(agent, "whoami")

    assert failure_kind(failed) == "upstream_unavailable"
    assert failed["text"] == f"Error: {NOT_AVAILABLE} The connection is still valid: try again."
    assert 60 <= failed["error"]["retryAfter"] <= 72
    assert_still_connected(owner, server)


class LeaseFailingStore(StoreWrapper):
    async def write(self, *changes: Change) -> None:
        if step_of(changes) == "lease":
            raise StoreUnavailable("not now")
        await super().write(*changes)


async def test_while_the_store_refuses_writes_the_old_token_is_used_until_it_expires(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    server = owner.connected(owner.remote(acme))
    async with process(owner, ahead=A_LIFE - 50, equipped=with_store(LeaseFailingStore)) as here:
        assert (await here.fresh(server)).generation == 0
        here.clock.seconds = A_LIFE

        with pytest.raises(StoreUnavailable):
            await here.fresh(server)
    assert acme.families[0].presented == [0]
