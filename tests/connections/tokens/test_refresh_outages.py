"""The authorization server is in no state to answer: nobody loses a connection by that, and nobody makes it worse."""

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
from demo.oauth_provider.server import Fault, Server, Tenant
from tests.connections.desk import Desk, kind_of
from tests.connections.tokens.refresh_process import Beside, TokenDeps, held, process, step_of, with_store
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
def desk(plugboard: Plugboard) -> Desk:
    return Desk.at(plugboard)


def assert_still_connected(desk: Desk, server: str) -> None:
    assert desk.audited("server.reconnect_required") == []
    assert desk.status(server)["reconnectRequired"] is False
    assert desk.shown(server)["oauthConnected"] is True


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_no_outage_ends_a_grant_and_afterwards_all_goes_on(desk: Desk, provider: Server, outage: Fault) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    acme.fault("token", outage, times=2)
    async with process(desk, ahead=A_LIFE) as here, process(desk, ahead=A_LIFE) as there:
        for each in (here, there):
            told = await asyncio.gather(*(here.fresh(server) for _ in range(20)), return_exceptions=True)
            assert {str(problem) for problem in told} == {NOT_AVAILABLE}
            each.clock.seconds += 3
            there.clock.seconds = here.clock.seconds = max(here.clock.seconds, there.clock.seconds)
        assert_still_connected(desk, server)

        assert (await there.fresh(server)).token == acme.live("access")[-1]
        grant = await there.grant(server)
    assert (grant.failures, grant.retry_at, grant.lease.owner) == (0, 0.0, "")
    assert acme.requests["token"] == 4
    assert acme.families[0].reuses == 0


@pytest.mark.requirement("OAU-14")
@pytest.mark.parametrize("doubt", IN_DOUBT.values(), ids=IN_DOUBT)
async def test_an_answer_that_got_lost_is_asked_for_again_and_the_provider_decides(
    desk: Desk, provider: Server, doubt: Fault
) -> None:
    acme = provider.tenant("acme")
    acme.behave(grace=60.0)
    server = desk.connected(desk.remote(acme))
    acme.fault("token", doubt)
    async with process(desk, ahead=A_LIFE) as here:
        with pytest.raises(TokenTemporarilyUnavailable):
            await here.fresh(server)
        assert_still_connected(desk, server)
        here.clock.seconds += 2

        assert (await here.fresh(server)).token == acme.live("access")[-1]
    assert (acme.counts["graces"], acme.families[0].reuses) == (1, 0)


class Impatient(AuthServerHttp):
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
            raised=to_upstream_error,
        )


class ImpatientLines(AuthServerHttpFactory):
    def for_server(self, ctx: WorkspaceContext, server: McpServer) -> AuthServerHttp:
        return Impatient(self.anywhere.outbound, self.anywhere.egress, f"{ctx.workspace_id} {server.id}")


def impatient(deps: TokenDeps) -> TokenDeps:
    return replace(deps, auth_http=ImpatientLines(deps.auth_http.anywhere, deps.auth_http.vendors))


@pytest.mark.requirement("OAU-14")
async def test_a_provider_that_does_not_answer_in_time_is_down(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    acme.fault("token", Fault("hold"))
    async with process(desk, ahead=A_LIFE, equipped=impatient) as here:
        with pytest.raises(TokenTemporarilyUnavailable, match="not available"):
            await here.fresh(server)
        here.clock.seconds += 2

        assert (await here.fresh(server)).generation == 1
    assert_still_connected(desk, server)


@pytest.mark.requirement("OAU-14")
async def test_the_old_token_is_used_while_it_lives_and_nobody_asks_again_too_soon(
    desk: Desk, provider: Server
) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    acme.fault("token", Fault("down"))
    async with process(desk, ahead=A_LIFE - 50) as here, process(desk, ahead=A_LIFE - 50) as there:
        for each in (here, there):
            got = await asyncio.gather(*(each.fresh(server) for _ in range(20)))
            assert {one.generation for one in got} == {0}
        assert acme.requests["token"] == 2
        here.clock.seconds += 2

        assert (await here.fresh(server)).generation == 1
        assert (await there.fresh(server)).generation == 1


@pytest.mark.requirement("OAU-14")
async def test_as_long_as_the_provider_wants_to_be_left_alone_nobody_asks(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    acme.fault("token", Fault("busy", retry_after=1800))
    async with process(desk, ahead=A_LIFE) as here, process(desk, ahead=A_LIFE) as there:
        for each in (here, there):
            with pytest.raises(TokenTemporarilyUnavailable) as told:
                await each.fresh(server)
            assert 1799 < (told.value.retry_after or 0) <= 1.2 * 1800
            each.clock.seconds += 1
        here.clock.seconds = A_LIFE + 1799
        with pytest.raises(TokenTemporarilyUnavailable):
            await here.fresh(server)
        assert acme.requests["token"] == 2

        here.clock.seconds = A_LIFE + 1.2 * 1800
        assert (await here.fresh(server)).generation == 1


@pytest.mark.requirement("OAU-14")
async def test_what_the_upstream_refuses_is_not_used_though_nothing_new_can_be_got(
    desk: Desk, provider: Server
) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    async with process(desk) as here:
        known = await here.fresh(server)
        acme.fault("token", Fault("down"))
        with pytest.raises(TokenTemporarilyUnavailable):
            await here.fresh(server, refused=known)

        assert await here.fresh(server) == known  # who has not been refused may try it
        here.clock.seconds += 2
        assert (await here.fresh(server, refused=known)).generation == 1


@pytest.mark.requirement("OAU-14")
async def test_each_failure_makes_the_wait_longer_and_a_success_ends_that(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    acme.fault("token", Fault("down"), times=5)
    waits = []
    async with process(desk, ahead=A_LIFE) as here:
        for _ in range(5):
            with pytest.raises(TokenTemporarilyUnavailable) as told:
                await here.fresh(server)
            waits.append(told.value.retry_after or 0)
            here.clock.seconds += waits[-1] + 0.01
        await here.fresh(server)

        acme.fault("token", Fault("down"))
        here.clock.seconds += A_LIFE
        with pytest.raises(TokenTemporarilyUnavailable) as again:
            await here.fresh(server)
    assert all(0.8 * 2**number <= wait <= 2**number for number, wait in enumerate(waits))
    assert (again.value.retry_after or 0) <= 1


@pytest.mark.requirement("OAU-14")
@given(failures=st.integers(0, 10_000), told=st.none() | st.floats(0, 1e9))
def test_no_wait_is_too_short_or_too_long_and_what_was_told_is_kept(failures: int, told: float | None) -> None:
    wait = RefreshPolicy().wait_after(failures, told)

    if told is None:
        assert 0.8 <= wait <= 300
    else:
        assert min(max(told, 1.0), 3600.0) <= wait <= 1.2 * 3600


async def failed_at(desk: Desk, acme: Tenant, server: str, ahead: float) -> None:
    """In a process whose clock is that far ahead."""
    acme.fault("token", Fault("down"))
    async with process(desk, ahead=ahead) as here:
        with pytest.raises(TokenTemporarilyUnavailable):
            await here.fresh(server)


async def test_what_a_clock_noted_that_was_a_year_ahead_holds_nobody_up(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    acme.behave(expires_in=5)
    server = desk.connected(desk.remote(acme))
    await failed_at(desk, acme, server, ahead=365 * 86_400)
    async with process(desk, ahead=10) as here:
        assert (await here.fresh(server)).generation == 1


async def test_a_lease_that_a_clock_took_that_was_a_year_ahead_holds_nobody_up(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    acme.behave(expires_in=5, revokes_family=False)
    server = desk.connected(desk.remote(acme))
    acme.fault("token", Fault("hold"))
    async with process(desk, ahead=365 * 86_400) as ahead, process(desk, ahead=10) as here:
        late = asyncio.create_task(ahead.fresh(server))
        await held(acme)

        assert (await here.fresh(server)).generation == 1

        acme.release()
        assert (await late).generation == 2


async def test_an_agent_is_told_that_the_connection_stands_and_when_to_try_again(
    timed: Plugboard, provider: Server
) -> None:
    desk, acme = Desk.at(timed), provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    agent = desk.agent(server)
    assert desk.who(agent)["generation"] == 0
    acme.expire()
    acme.fault("token", Fault("busy", retry_after=60))

    failed = desk.call(agent, "whoami")

    assert kind_of(failed) == "upstream_unavailable"
    assert failed["text"] == f"Error: {NOT_AVAILABLE} The connection is still valid: try again."
    assert 60 <= failed["error"]["retryAfter"] <= 72
    assert_still_connected(desk, server)


class NoLeases(Beside):
    async def write(self, *changes: Change) -> None:
        if step_of(changes) == "lease":
            raise StoreUnavailable("not now")
        await super().write(*changes)


async def test_while_the_store_takes_nothing_in_the_old_token_is_used_as_long_as_it_lives(
    desk: Desk, provider: Server
) -> None:
    acme = provider.tenant("acme")
    server = desk.connected(desk.remote(acme))
    async with process(desk, ahead=A_LIFE - 50, equipped=with_store(NoLeases)) as here:
        assert (await here.fresh(server)).generation == 0
        here.clock.seconds = A_LIFE

        with pytest.raises(StoreUnavailable):
            await here.fresh(server)
    assert acme.families[0].presented == [0]
