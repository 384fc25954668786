"""How long is everything waited for that has to do with renewing tokens?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from api.kit.backoff import between

Pause = Callable[[float], Awaitable[None]]
"""`asyncio.sleep`, or what a test has instead."""


@dataclass(frozen=True, slots=True)
class RefreshPolicy:
    """In seconds."""

    lease: float = 15.0
    """Who asked is done with it, or gone, when the lease ends."""

    answer: float = 11.0
    """What the authorization server may take, and a little more: with less of the lease left, nobody asks."""

    grace: float = 0.5
    """Whoever let a lease run out may be about to store what came of it."""

    clocks_apart: float = 300.0
    """What another machine has noted further ahead than that is a mistake of its clock."""

    poll_seconds: float = 0.1
    skew: float = 60.0
    skew_share: float = 0.1
    """Of a short life: a token of an hour is renewed a minute before its end, one of ten seconds a second before."""

    usable: float = 1.0
    """A token that lives this much longer will do, while somebody else renews it."""

    longest_wait: float = 0.25
    """Between two attempts to store: less than the grace."""

    shortest_backoff: float = 1.0
    longest_backoff: float = 300.0
    longest_told: float = 3600.0
    """The authorization server itself may say that it wants to be left alone for so long."""

    give_up_seconds: float = 60.0
    """How long the end of a process waits for what could not be stored yet."""

    @property
    def longest_lease(self) -> float:
        return self.lease + self.clocks_apart

    @property
    def longest_put_off(self) -> float:
        return self.longest_told + self.clocks_apart

    def wait_after(self, failures: int, told: float | None) -> float:
        """Before the next attempt, after so many failures before this one; never for exactly as long as others wait."""
        if told is None:
            return min(self.shortest_backoff * 2.0 ** min(failures, 20), self.longest_backoff) * _about_one()
        return min(max(told, self.shortest_backoff), self.longest_told) * (2.0 - _about_one())


def _about_one() -> float:
    return between(0.8, 1.0)
