"""A slow host, or a workspace with very many jobs, does not delay the revocations of others."""

from __future__ import annotations

import pytest

from api.connections.revocation.job import host_of
from api.connections.revocation.queue import FOR_A_HOST, FOR_A_WORKSPACE, IN_TOTAL, RevocationConcurrency


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
def test_spellings_of_one_host_share_its_limit(url: str) -> None:
    concurrency = RevocationConcurrency()
    taken = [concurrency.acquire(f"workspace {n}", "slow.example") for n in range(FOR_A_HOST)]

    assert all(taken)
    assert not concurrency.acquire("another", host_of(url))
    assert concurrency.acquire("another", "quick.example")


@pytest.mark.requirement("OAU-15")
def test_a_workspace_with_many_hosts_leaves_room_for_others() -> None:
    concurrency = RevocationConcurrency()

    taken = [concurrency.acquire("greedy", f"{n}.example") for n in range(IN_TOTAL)]

    assert taken.count(True) == FOR_A_WORKSPACE
    assert concurrency.acquire("modest", "quick.example")


def test_a_released_slot_can_be_acquired_again() -> None:
    concurrency = RevocationConcurrency()
    slots = [(f"workspace {n}", f"{n}.example") for n in range(IN_TOTAL)]
    assert all(concurrency.acquire(*slot) for slot in slots)
    assert concurrency.is_exhausted
    assert not concurrency.acquire("one more", "more.example")

    concurrency.release(*slots[0])

    assert not concurrency.is_exhausted
    assert concurrency.acquire("one more", "more.example")
