"""Is a server worth calling now, or has it failed so often that its last failure is told again at once?

A breaker opens at five failures in a row and lets nobody through for a while. Then it is half open: one call is the try
on which the rest depends. A success closes it, whenever it comes; a failed try makes the next pause twice as long.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from api.kit.backoff import share
from api.kit.clock import Clock

FAILURES_TO_OPEN = 5
FIRST_PAUSE_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 300.0
SPREAD = 0.2  # a pause is up to this share longer or shorter, so that processes do not all try at the same moment
LONGEST_TRY_SECONDS = 60.0  # twice what a call may take: whoever has not said by then how it went never will
REMEMBERED_BREAKERS = 10_000
LOOKED_AT = 32
"""Of those set aside, when room is needed."""
_ANY_TIME = -math.inf

State = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True)
class CircuitOpen:
    """No call now."""

    text: str
    """What the last failure was."""
    retry_after: int
    """Whole seconds until the next try, at least one."""


@dataclass(frozen=True, slots=True)
class BreakerHealth:
    state: State
    failures: int
    """In a row, up to now."""
    retry_after: int
    """Whole seconds until a call is let through; 0 when the next one is."""


class CircuitBreaker:
    """Whoever is admitted says once how it went. For one thread: nothing here waits or is locked."""

    __slots__ = ("_clock", "_failures", "_failures_before_try", "_jitter", "_pause", "_text", "_trying", "_under_way",
                 "_until")  # fmt: skip

    def __init__(self, clock: Clock, jitter: Callable[[], float] = share) -> None:
        self._clock = clock
        self._jitter = jitter
        self._failures = 0
        self._text = ""
        self._pause = 0.0  # seconds, before it is spread; none while closed
        self._until = _ANY_TIME
        self._trying = False
        self._failures_before_try = 0
        self._under_way = 0  # never less, so that who tells without having been admitted spoils no later count

    def admit(self) -> CircuitOpen | None:
        """None: go ahead, then call exactly one of the next three."""
        if self._pause and (wait := self._wait()):
            return CircuitOpen(self._text, wait)
        if self._pause:
            self._begin_try()
        self._under_way += 1
        return None

    def succeeded(self) -> None:
        self._under_way -= self._under_way > 0
        if self._failures:
            self._close()

    def failed(self, text: str) -> None:
        """`text` is what callers are told while the breaker is open."""
        self._under_way -= self._under_way > 0
        self._failures += 1
        self._text = text
        if self._trying:
            self._end_try_with_the_last()
        elif self._failures >= FAILURES_TO_OPEN and not self._pause:
            self._open()

    def record(self, failed: str | None, *, answered: bool) -> None:
        """`failed`: what is held against the server; without that, and without an answer, nothing was learned."""
        if failed is not None:
            self.failed(failed)
        elif answered:
            self.succeeded()
        else:
            self.record_nothing()

    def record_nothing(self) -> None:
        """Cancelled, or what came back says nothing about the server's health."""
        self._under_way -= self._under_way > 0
        if self._trying:
            self._end_try_with_the_last()

    @property
    def is_shut(self) -> bool:
        """Whether a call would be turned away."""
        return self._wait() > 0

    @property
    def state(self) -> State:
        if not self._pause:
            return "closed"
        return "half_open" if self._trying or not self._wait() else "open"

    def health(self) -> BreakerHealth:
        return BreakerHealth(self.state, self._failures, self._wait())

    def _wait(self) -> int:
        left = self._until - self._clock.monotonic()
        if left <= 0:
            return 0
        return 1 if self._trying else math.ceil(left)  # a try is over soon, and its limit is not what to wait for

    def _begin_try(self) -> None:
        self._trying = True
        self._failures_before_try = self._failures
        self._until = self._clock.monotonic() + LONGEST_TRY_SECONDS

    def _end_try_with_the_last(self) -> None:
        """Calls from before the breaker opened may end meanwhile, and nobody says whose end it was.

        So the try lasts until nobody is under way: never are there two, and a slow call from before makes no difference
        to a success.
        """
        if self._under_way:
            return
        self._trying = False
        self._until = _ANY_TIME
        if self._failures > self._failures_before_try:
            self._open()

    def _open(self) -> None:
        self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS) or FIRST_PAUSE_SECONDS
        share = 1 + SPREAD * (2 * self._jitter() - 1)
        self._until = self._clock.monotonic() + self._pause * share

    def _close(self) -> None:
        self._failures = 0
        self._text = ""
        self._pause = 0.0
        self._until = _ANY_TIME
        self._trying = False


class CircuitBreakers:
    """One for each server of each workspace. A forgotten one starts anew, which costs its server five failures."""

    def __init__(self, clock: Clock, jitter: Callable[[], float] = share, at_most: int = REMEMBERED_BREAKERS) -> None:
        self._clock = clock
        self._jitter = jitter
        self._at_most = at_most
        # In the order of their last use. Set aside are those, older than the rest, that were shut when room was needed.
        self._known: OrderedDict[tuple[str, str], CircuitBreaker] = OrderedDict()
        self._set_aside: OrderedDict[tuple[str, str], CircuitBreaker] = OrderedDict()

    def get(self, partition: str, server_id: str) -> CircuitBreaker:
        pair = (partition, server_id)
        found = self._known.get(pair)
        if found is None:
            return self._add(pair)
        self._known.move_to_end(pair)
        return found

    def health(self, partition: str, server_id: str) -> BreakerHealth:
        """Looking makes none, and keeps none from being dropped."""
        pair = (partition, server_id)
        found = self._known.get(pair) or self._set_aside.get(pair)
        return found.health() if found else BreakerHealth("closed", 0, 0)

    @property
    def shut(self) -> int:
        """How many would turn a call away now. Looks at all of them: for who asks now and then."""
        return sum(breaker.is_shut for breaker in (*self._known.values(), *self._set_aside.values()))

    def _add(self, pair: tuple[str, str]) -> CircuitBreaker:
        breaker = self._set_aside.pop(pair, None)
        if breaker is None:
            self._make_room()
            breaker = CircuitBreaker(self._clock, self._jitter)
        self._known[pair] = breaker
        return breaker

    def _make_room(self) -> None:
        """Drops who lets calls through, for that is what a new one does too; where all are shut, one of them.

        Among equals it is the one not used for longest. Each is set aside once between two uses, so that many that are
        shut make no newcomer wait; and what nobody calls any more is not shut for long.
        """
        if len(self._known) + len(self._set_aside) < self._at_most:
            return
        for pair in list(islice(self._set_aside, LOOKED_AT)):
            if not self._set_aside[pair].is_shut:
                del self._set_aside[pair]
                return
        while self._known:
            pair, breaker = self._known.popitem(last=False)
            if not breaker.is_shut:
                return
            self._set_aside[pair] = breaker
        self._set_aside.popitem(last=False)
