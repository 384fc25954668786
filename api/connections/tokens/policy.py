"""Time limits of token refreshes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from api.kit.backoff import Backoff, between

Pause = Callable[[float], Awaitable[None]]
"""`asyncio.sleep`, or a test's replacement."""


@dataclass(frozen=True, slots=True)
class RefreshPolicy:
    """In seconds."""

    lease: float = 15.0
    """The owner of a lease has finished or crashed when it ends."""

    answer: float = 11.0
    """The time limit of a token request, with a margin: with less of the lease left, no request is sent."""

    grace: float = 0.5
    """The former owner of an expired lease may still be storing its tokens."""

    clocks_apart: float = 300.0
    """A stored time further ahead than this was written with a wrong clock."""

    poll_seconds: float = 0.1
    skew: float = 60.0
    skew_share: float = 0.1
    """Of a short lifetime: a token of an hour is refreshed a minute early, one of ten seconds a second early."""

    usable: float = 1.0
    """While another process refreshes, a token that remains valid for this long is used."""

    longest_wait: float = 0.25
    """Between two attempts to store: less than the grace."""

    shortest_backoff: float = 1.0
    longest_backoff: float = 300.0
    longest_retry_after: float = 3600.0
    """The longest `Retry-After` of an authorization server that is respected."""

    give_up_seconds: float = 60.0
    """How long a process that has to end keeps trying to store tokens."""

    @property
    def longest_lease(self) -> float:
        return self.lease + self.clocks_apart

    @property
    def longest_backoff_period(self) -> float:
        return self.longest_retry_after + self.clocks_apart

    def wait_after(self, failures: int, retry_after: float | None) -> float:
        """The wait before the next attempt. It varies, so that processes do not retry at the same moment."""
        if retry_after is None:
            return Backoff(self.shortest_backoff, self.longest_backoff, jitter=(0.8, 1.0)).pause(failures)
        return min(max(retry_after, self.shortest_backoff), self.longest_retry_after) * between(1.0, 1.2)
