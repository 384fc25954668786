"""Many processes, each with many callers, and one refresh token that may be used once."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from demo.oauth_provider.server import OAuthProvider
from tests.connections.tokens.refresh_pool import Pool, RefreshEnvironment, open_pool

PROCESSES, CALLERS = 16, 50
A_LIFE = 3600.0
ROUNDS = 4


@pytest.fixture(params=["sqlite", "dynamodb", pytest.param("postgresql", marks=pytest.mark.slow)])
def stage(request: pytest.FixtureRequest) -> RefreshEnvironment:
    result: RefreshEnvironment = request.getfixturevalue(request.param)
    return result


@pytest.mark.requirement("OAU-13")
@pytest.mark.parametrize("why", ["expired", "refused"])
def test_a_token_is_refreshed_once_for_each_generation(
    stage: RefreshEnvironment, pool: Pool, provider: OAuthProvider, why: str
) -> None:
    scene = stage.scene(provider.tenant("acme"))
    pool.run(replace(scene.order, callers=1), PROCESSES)  # so that all have one that can be refused

    for generation in range(1, ROUNDS + 1):
        renewed = replace(scene.order, callers=CALLERS)
        if why == "expired":
            renewed = replace(renewed, ahead=generation * A_LIFE)
        else:
            renewed = replace(renewed, was_refused=True)

        outcome = pool.run(renewed, PROCESSES)

        [(received, callers)] = outcome.items()
        assert (callers, received.generation) == (PROCESSES * CALLERS, generation)
        assert received.token == scene.tenant.live_tokens("access")[-1]

    [family] = scene.tenant.families
    assert family.presented == family.refreshed == [1] * ROUNDS + [0]
    assert (family.reuses, family.is_revoked) == (0, False)


def test_a_pool_whose_process_ends_at_its_start_says_so() -> None:
    command = (sys.executable, "-c", "raise SystemExit(3)")

    with pytest.raises(AssertionError, match="ended with status 3"), open_pool(command):
        pass
