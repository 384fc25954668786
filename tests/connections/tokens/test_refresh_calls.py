"""What an agent notices of a token that ends while it works: nothing, if there is another to be had."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from demo.oauth_provider.server import Fault, Server
from tests.connections.desk import Desk, kind_of, until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, many_callers, served

A_LIFE = 3600.0
AT_ONCE = 50
Json = Mapping[str, Any]


@pytest.fixture
def desk(plugboard: Plugboard) -> Desk:
    return Desk.at(plugboard)


@pytest.fixture(scope="module")
def one_beside(one_plugboard: Plugboard) -> Iterator[Plugboard]:
    """Another process on the same database."""
    with served(one_plugboard.settings) as beside:
        yield beside


async def called_at_once(desk: Desk, agent: str) -> Counter[int]:
    """By the generation of the token that went along, how many calls were answered well."""
    path = f"{desk.workspace.agents}/{agent}/tool-calls"
    async with many_callers(desk.workspace.plugboard.url, desk.workspace.key) as caller:
        body = {"toolName": "mcp_remote_whoami", "args": {}}
        answers = await asyncio.gather(*(caller.post(path, json=body) for _ in range(AT_ONCE)))
    assert {(answer.status_code, answer.json()["isError"]) for answer in answers} == {(200, False)}
    return Counter(json.loads(answer.json()["text"])["generation"] for answer in answers)


@pytest.mark.requirement("OAU-13")
async def test_many_calls_at_once_renew_an_expired_token_once(
    timed: Plugboard, clock: StillClock, provider: Server
) -> None:
    desk, acme = Desk.at(timed), provider.tenant("acme")
    agent = desk.agent(desk.connected(desk.remote(acme)))
    for generation in (1, 2, 3):
        clock.advance(A_LIFE)

        assert await called_at_once(desk, agent) == {generation: AT_ONCE}

    assert acme.families[0].presented == [1, 1, 1, 0]


@pytest.mark.requirement("OAU-13")
@pytest.mark.parametrize("era", ["modern", "streamable"])
async def test_many_calls_at_once_whose_token_is_refused_renew_it_once(desk: Desk, provider: Server, era: str) -> None:
    acme = provider.tenant("acme")
    acme.behave(era=era)
    agent = desk.agent(desk.connected(desk.remote(acme)))
    await called_at_once(desk, agent)
    for generation in (1, 2, 3):
        acme.expire()

        assert await called_at_once(desk, agent) == {generation: AT_ONCE}

    assert acme.families[0].presented == [1, 1, 1, 0]


async def test_what_is_refused_late_does_not_end_what_was_renewed_since(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    agent = desk.agent(desk.connected(desk.remote(acme)))
    desk.who(agent)
    acme.fault("mcp", Fault("slow", seconds=0.3), times=1)
    path = f"{desk.workspace.agents}/{agent}/tool-calls"
    body = {"toolName": "mcp_remote_whoami", "args": {}}
    async with many_callers(desk.workspace.plugboard.url, desk.workspace.key) as caller:
        slow = asyncio.create_task(caller.post(path, json=body))
        await asyncio.to_thread(acme.until_held, "mcp")
        acme.expire()
        quick = await caller.post(path, json=body)

        answers = [quick, await slow]

    assert [json.loads(answer.json()["text"])["generation"] for answer in answers] == [1, 1]
    assert acme.families[0].presented == [1, 0]


def test_a_call_whose_token_is_refused_is_made_again_once_with_a_new_one(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    agent = desk.agent(desk.connected(desk.remote(acme)))
    desk.who(agent)
    before = acme.requests["mcp"]
    acme.expire()

    assert desk.who(agent)["generation"] == 1
    assert [each.status for each in acme.asked("mcp")[before:]] == [401, 200]


def test_what_was_renewed_for_the_call_itself_is_renewed_again_where_it_is_refused(
    timed: Plugboard, clock: StillClock, provider: Server
) -> None:
    desk, acme = Desk.at(timed), provider.tenant("acme")
    agent = desk.agent(desk.connected(desk.remote(acme)))
    assert desk.who(agent)["generation"] == 0
    clock.advance(A_LIFE)
    acme.fault("mcp", Fault("down", status=401))

    assert desk.who(agent)["generation"] == 2


def test_a_second_refusal_is_told(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    agent = desk.agent(desk.connected(desk.remote(acme)))
    desk.who(agent)
    before = acme.requests["mcp"]
    acme.fault("mcp", Fault("down", status=401), times=2)

    failed = desk.call(agent, "whoami")

    assert kind_of(failed) == "upstream_refused"
    assert [each.status for each in acme.asked("mcp")[before:]] == [401, 401]
    assert acme.families[0].presented == [1, 0]
    assert desk.who(agent)["generation"] == 1


def test_tokens_that_live_for_half_a_second_are_renewed_again_and_again(desk: Desk, provider: Server) -> None:
    acme = provider.tenant("acme")
    acme.behave(access_life=0.5, expires_in=0.5)
    agent = desk.agent(desk.connected(desk.remote(acme)))

    until(lambda: desk.who(agent)["generation"] >= 3)

    [family] = acme.families
    assert set(family.presented[:-1]) == {1}
    assert family.reuses == 0


def test_what_another_process_has_renewed_is_found(desk: Desk, provider: Server, one_beside: Plugboard) -> None:
    acme = provider.tenant("acme")
    agent = desk.agent(desk.connected(desk.remote(acme)))
    there = desk.in_another(one_beside)
    assert desk.who(agent)["generation"] == there.who(agent)["generation"] == 0
    acme.expire()

    assert desk.who(agent)["generation"] == 1
    assert there.who(agent)["generation"] == 1
    assert acme.families[0].presented == [1, 0]


def test_after_an_outage_the_next_call_works(timed: Plugboard, clock: StillClock, provider: Server) -> None:
    desk, acme = Desk.at(timed), provider.tenant("acme")
    agent = desk.agent(desk.connected(desk.remote(acme)))
    clock.advance(A_LIFE)
    acme.fault("token", Fault("down"), times=None)
    assert kind_of(desk.call(agent, "whoami")) == "upstream_unavailable"
    acme.heal()
    assert kind_of(desk.call(agent, "whoami")) == "upstream_unavailable"  # too soon
    clock.advance(1)

    assert desk.who(agent)["generation"] == 1
