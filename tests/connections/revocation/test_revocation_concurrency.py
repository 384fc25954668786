"""Whoever is slow, or has very many tokens to revoke, holds up nobody else's revocations."""

from __future__ import annotations

import pytest

from api.connections.revocation.concurrency import (
    AT_ONCE,
    AT_ONE_HOST,
    OF_ONE_WORKSPACE,
    RevocationConcurrency,
    host_of,
)


@pytest.mark.requirement("OAU-15")
@pytest.mark.parametrize(
    "url",
    [
        "https://slow.example/revoke",
        "https://SLOW.example./revoke",
        "https://slow.example:8443/other",
        "http://user@Slow.Example",
    ],
)
def test_a_host_is_one_however_it_is_written(url: str) -> None:
    turns = RevocationConcurrency()
    taken = [turns.take((f"workspace {n}", "slow.example")) for n in range(AT_ONE_HOST)]

    assert all(taken)
    assert not turns.take(("another", host_of(url)))
    assert turns.take(("another", "quick.example"))


@pytest.mark.requirement("OAU-15")
def test_a_workspace_with_many_hosts_leaves_room_for_others() -> None:
    turns = RevocationConcurrency()

    taken = [turns.take(("greedy", f"{n}.example")) for n in range(AT_ONCE)]

    assert taken.count(True) == OF_ONE_WORKSPACE
    assert turns.take(("modest", "quick.example"))


def test_a_turn_that_was_given_back_can_be_taken_again() -> None:
    turns = RevocationConcurrency()
    all_of_them = [(f"workspace {n}", f"{n}.example") for n in range(AT_ONCE)]
    assert all(map(turns.take, all_of_them))
    assert turns.are_all_taken
    assert not turns.take(("one more", "more.example"))

    turns.give_back(all_of_them[0])

    assert not turns.are_all_taken
    assert turns.take(("one more", "more.example"))
