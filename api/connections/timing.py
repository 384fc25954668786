"""How long is everything waited for that has to do with renewing tokens?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Pause = Callable[[float], Awaitable[None]]
"""`asyncio.sleep`, or what a test has instead."""


@dataclass(frozen=True, slots=True)
class Timing:
    """In seconds."""

    lease: float = 15.0
    """More than the authorization server may take: who asked is done with it, or gone, when the lease ends."""

    poll_seconds: float = 0.1
    skew: float = 60.0
    skew_share: float = 0.1
    """Of a short life: a token of an hour is renewed a minute before its end, one of ten seconds a second before."""

    usable: float = 1.0
    """A token that lives this much longer will do, while somebody else renews it."""

    longest_wait: float = 2.0
    longest_backoff: float = 300.0
    give_up_seconds: float = 60.0
