"""A process is killed at each step of a refresh."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.connections.tokens.policy import RefreshPolicy
from demo.oauth_provider.server import Fault, OAuthProvider
from tests.connections.tokens.refresh_pool import Pool, RefreshCase, RefreshEnvironment, outcome_of
from tests.connections.tokens.refresh_worker import CallerResult

SURVIVORS, CALLERS = 15, 50
ALL = SURVIVORS * CALLERS
A_LIFE = 3600.0
QUICK = RefreshPolicy(lease=2.0, answer=1.0)
"""Short leases, so that tests do not wait for the expiry of an abandoned one."""


@pytest.fixture(params=["sqlite", "dynamodb", pytest.param("postgresql", marks=pytest.mark.slow)])
def scene(request: pytest.FixtureRequest, provider: OAuthProvider) -> RefreshCase:
    """A server whose token has expired."""
    stage: RefreshEnvironment = request.getfixturevalue(request.param)
    scene = stage.scene(provider.tenant("acme"))
    return replace(scene, order=replace(scene.order, ahead=A_LIFE, timing=QUICK))


def end_at(scene: RefreshCase, pool: Pool, moment: str) -> None:
    """The order of one process that needs the token."""
    victim = pool.victim()
    victim.start(replace(scene.order, dies=moment))
    victim.assert_dead()


def assert_renewed_once(scene: RefreshCase, pool: Pool) -> None:
    outcome = pool.run(replace(scene.order, callers=CALLERS), SURVIVORS)

    assert outcome == {CallerResult(scene.tenant.live_tokens("access")[-1], 1): ALL}
    [family] = scene.tenant.families
    assert (family.presented, family.refreshed, family.reuses) == ([1, 0], [1, 0], 0)
    assert scene.owner.status(scene.server)["reconnectRequired"] is False


def assert_one_reconnect_is_needed(scene: RefreshCase, pool: Pool) -> None:
    outcome = pool.run(replace(scene.order, callers=CALLERS), SURVIVORS)

    assert outcome == {CallerResult("ReconnectRequired", -1): ALL}
    [family] = scene.tenant.families
    assert (family.presented, family.refreshed, family.reuses) == ([2, 0], [1, 0], 1)
    assert scene.owner.audited("server.reconnect_required") == [("server.reconnect_required", "system")]
    assert scene.owner.status(scene.server)["reconnectRequired"] is True

    scene.owner.connected(scene.server)

    now = replace(scene.order, callers=CALLERS, ahead=0.0)
    assert pool.run(now, SURVIVORS) == {CallerResult(scene.tenant.live_tokens("access")[-1], 0): ALL}


@pytest.mark.requirement("OAU-13")
@pytest.mark.parametrize("moment", ["before lease", "after lease", "after tokens"])
def test_a_kill_before_the_request_or_after_storing_loses_nothing(scene: RefreshCase, pool: Pool, moment: str) -> None:
    end_at(scene, pool, moment)

    assert_renewed_once(scene, pool)


@pytest.mark.requirement("OAU-13")
def test_a_kill_before_the_provider_acts_loses_nothing(scene: RefreshCase, pool: Pool) -> None:
    scene.tenant.inject_fault("token", Fault("hold"))
    victim = pool.victim()
    victim.start(scene.order)
    scene.tenant.wait_until_held("token")
    waiting = pool.start(replace(scene.order, callers=CALLERS), SURVIVORS)

    victim.kill()

    assert set(outcome_of(waiting)) == {CallerResult(scene.tenant.live_tokens("access")[-1], 1)}
    assert_renewed_once(scene, pool)


@pytest.mark.requirement("OAU-13")
def test_a_response_lost_to_a_kill_requires_connecting_again_once(scene: RefreshCase, pool: Pool) -> None:
    scene.tenant.inject_fault("token", Fault("hold", after=True))
    victim = pool.victim()
    victim.start(scene.order)
    scene.tenant.wait_until_held("token")

    victim.kill()

    assert_one_reconnect_is_needed(scene, pool)


@pytest.mark.requirement("OAU-13")
def test_a_kill_before_storing_requires_connecting_again(scene: RefreshCase, pool: Pool) -> None:
    end_at(scene, pool, "before tokens")

    assert_one_reconnect_is_needed(scene, pool)
