"""What an agent notices of a token that ends while it works: nothing, if there is another to be had."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from demo.oauth_provider.server import Fault, OAuthProvider
from tests.connections.workspace_owner import WorkspaceOwner, failure_kind, wait_until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, many_callers, served

A_LIFE = 3600.0
AT_ONCE = 50
Json = Mapping[str, Any]


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


@pytest.fixture(scope="module")
def second_plugboard(one_plugboard: Plugboard) -> Iterator[Plugboard]:
    """Another process on the same database."""
    with served(one_plugboard.settings) as beside:
        yield beside


async def concurrent_calls(owner: WorkspaceOwner, agent: str) -> Counter[int]:
    """By the generation of the token that went along, how many calls were answered well."""
    path = f"{owner.workspace.agents}/{agent}/tool-calls"
    async with many_callers(owner.workspace.plugboard.url, owner.workspace.key) as caller:
        body = {"toolName": "mcp_remote_whoami", "args": {}}
        responses = await asyncio.gather(*(caller.post(path, json=body) for _ in range(AT_ONCE)))
    assert {(response.status_code, response.json()["isError"]) for response in responses} == {(200, False)}
    return Counter(json.loads(response.json()["text"])["generation"] for response in responses)


@pytest.mark.requirement("OAU-13")
async def test_concurrent_calls_refresh_an_expired_token_once(
    timed: Plugboard, clock: StillClock, provider: OAuthProvider
) -> None:
    owner, acme = WorkspaceOwner.at(timed), provider.tenant("acme")
    agent = owner.agent(owner.connected(owner.remote(acme)))
    for generation in (1, 2, 3):
        clock.advance(A_LIFE)

        assert await concurrent_calls(owner, agent) == {generation: AT_ONCE}

    assert acme.families[0].presented == [1, 1, 1, 0]


@pytest.mark.requirement("OAU-13")
@pytest.mark.parametrize("era", ["modern", "streamable"])
async def test_concurrent_calls_refresh_a_rejected_token_once(
    owner: WorkspaceOwner, provider: OAuthProvider, era: str
) -> None:
    acme = provider.tenant("acme")
    acme.configure(era=era)
    agent = owner.agent(owner.connected(owner.remote(acme)))
    await concurrent_calls(owner, agent)
    for generation in (1, 2, 3):
        acme.expire_tokens()

        assert await concurrent_calls(owner, agent) == {generation: AT_ONCE}

    assert acme.families[0].presented == [1, 1, 1, 0]


async def test_a_late_rejection_does_not_end_a_newer_token(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    agent = owner.agent(owner.connected(owner.remote(acme)))
    owner.whoami(agent)
    acme.inject_fault("mcp", Fault("slow", seconds=0.3), times=1)
    path = f"{owner.workspace.agents}/{agent}/tool-calls"
    body = {"toolName": "mcp_remote_whoami", "args": {}}
    async with many_callers(owner.workspace.plugboard.url, owner.workspace.key) as caller:
        slow = asyncio.create_task(caller.post(path, json=body))
        await asyncio.to_thread(acme.wait_until_held, "mcp")
        acme.expire_tokens()
        quick = await caller.post(path, json=body)

        responses = [quick, await slow]

    assert [json.loads(response.json()["text"])["generation"] for response in responses] == [1, 1]
    assert acme.families[0].presented == [1, 0]


def test_a_call_with_a_rejected_token_is_repeated_once_with_a_new_one(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    agent = owner.agent(owner.connected(owner.remote(acme)))
    owner.whoami(agent)
    before = acme.request_counts["mcp"]
    acme.expire_tokens()

    assert owner.whoami(agent)["generation"] == 1
    assert [request.status for request in acme.requests_to("mcp")[before:]] == [401, 200]


def test_a_token_refreshed_for_the_call_is_refreshed_again_if_rejected(
    timed: Plugboard, clock: StillClock, provider: OAuthProvider
) -> None:
    owner, acme = WorkspaceOwner.at(timed), provider.tenant("acme")
    agent = owner.agent(owner.connected(owner.remote(acme)))
    assert owner.whoami(agent)["generation"] == 0
    clock.advance(A_LIFE)
    acme.inject_fault("mcp", Fault("down", status=401))

    assert owner.whoami(agent)["generation"] == 2


def test_a_second_rejection_is_reported(owner: WorkspaceOwner, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    agent = owner.agent(owner.connected(owner.remote(acme)))
    owner.whoami(agent)
    before = acme.request_counts["mcp"]
    acme.inject_fault("mcp", Fault("down", status=401), times=2)

    failed = owner.call(agent, "whoami")

    assert failure_kind(failed) == "upstream_refused"
    assert [request.status for request in acme.requests_to("mcp")[before:]] == [401, 401]
    assert acme.families[0].presented == [1, 0]
    assert owner.whoami(agent)["generation"] == 1


def test_tokens_with_a_lifetime_of_half_a_second_are_refreshed_repeatedly(
    owner: WorkspaceOwner, provider: OAuthProvider
) -> None:
    acme = provider.tenant("acme")
    acme.configure(access_life=0.5, expires_in=0.5)
    agent = owner.agent(owner.connected(owner.remote(acme)))

    wait_until(lambda: owner.whoami(agent)["generation"] >= 3)

    [family] = acme.families
    assert set(family.presented[:-1]) == {1}
    assert family.reuses == 0


def test_a_token_refreshed_by_another_process_is_found(
    owner: WorkspaceOwner, provider: OAuthProvider, second_plugboard: Plugboard
) -> None:
    acme = provider.tenant("acme")
    agent = owner.agent(owner.connected(owner.remote(acme)))
    there = owner.in_another(second_plugboard)
    assert owner.whoami(agent)["generation"] == there.whoami(agent)["generation"] == 0
    acme.expire_tokens()

    assert owner.whoami(agent)["generation"] == 1
    assert there.whoami(agent)["generation"] == 1
    assert acme.families[0].presented == [1, 0]


def test_after_an_outage_the_next_call_works(timed: Plugboard, clock: StillClock, provider: OAuthProvider) -> None:
    owner, acme = WorkspaceOwner.at(timed), provider.tenant("acme")
    agent = owner.agent(owner.connected(owner.remote(acme)))
    clock.advance(A_LIFE)
    acme.inject_fault("token", Fault("down"), times=None)
    assert failure_kind(owner.call(agent, "whoami")) == "upstream_unavailable"
    acme.clear_faults()
    assert failure_kind(owner.call(agent, "whoami")) == "upstream_unavailable"  # too soon
    clock.advance(1)

    assert owner.whoami(agent)["generation"] == 1
