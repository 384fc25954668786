"""Circuit breakers: a server that keeps failing gets no calls for a while; they fail at once with its last failure.

A breaker opens after five consecutive failures and rejects all calls for a while. Then it is half open: one call is the
trial. A success closes it at any time; a failed trial doubles the next pause.
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
SPREAD = 0.2  # a pause is up to this share longer or shorter, so that processes do not all retry at the same moment
LONGEST_TRY_SECONDS = 60.0  # twice the longest call: a trial without an outcome by then will never have one
REMEMBERED_BREAKERS = 10_000
LOOKED_AT = 32
"""The number of breakers set aside that are examined when room is needed."""
_ANY_TIME = -math.inf

State = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True)
class CircuitOpen:
    """The call is rejected."""

    text: str
    """The text of the last failure."""
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
    """Each admitted call reports its outcome once. Not thread-safe; use on the event loop only."""

    __slots__ = (
        "_clock",
        "_failures",
        "_failures_before_try",
        "_in_progress",
        "_jitter",
        "_pause",
        "_text",
        "_trying",
        "_until",
    )  # fmt: skip

    def __init__(self, clock: Clock, jitter: Callable[[], float] = share) -> None:
        self._clock = clock
        self._jitter = jitter
        self._failures = 0
        self._text = ""
        self._pause = 0.0  # seconds, before it is spread; none while closed
        self._until = _ANY_TIME
        self._trying = False
        self._failures_before_try = 0
        self._in_progress = 0  # never negative, so that a report without an admission does not spoil later counts

    def admit(self) -> CircuitOpen | None:
        """Admit (None) or reject a call. Report an admitted call with exactly one of the next four methods."""
        if self._pause and (wait := self._wait()):
            return CircuitOpen(self._text, wait)
        if self._pause:
            self._begin_try()
        self._in_progress += 1
        return None

    def succeeded(self) -> None:
        self._in_progress -= self._in_progress > 0
        if self._failures:
            self._close()

    def failed(self, text: str) -> None:
        """`text` is returned to callers while the breaker is open."""
        self._in_progress -= self._in_progress > 0
        self._failures += 1
        self._text = text
        if self._trying:
            self._end_try_with_the_last()
        elif self._failures >= FAILURES_TO_OPEN and not self._pause:
            self._open()

    def record(self, failed: str | None, *, answered: bool) -> None:
        """Record an outcome: `failed` is the text of a failure that counts. Without it or an answer, it is unknown."""
        if failed is not None:
            self.failed(failed)
        elif answered:
            self.succeeded()
        else:
            self.record_nothing()

    def record_nothing(self) -> None:
        """The call was cancelled, or its outcome says nothing about the server's health."""
        self._in_progress -= self._in_progress > 0
        if self._trying:
            self._end_try_with_the_last()

    @property
    def is_shut(self) -> bool:
        """Whether a call would be rejected."""
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
        return 1 if self._trying else math.ceil(left)  # a trial ends soon, so its limit is not the waiting time

    def _begin_try(self) -> None:
        self._trying = True
        self._failures_before_try = self._failures
        self._until = self._clock.monotonic() + LONGEST_TRY_SECONDS

    def _end_try_with_the_last(self) -> None:
        """Calls from before the breaker opened may end during the trial, and reports do not say which call they are of.

        So the trial lasts until no call is in progress: there are never two, and a slow earlier call does not undo a
        success.
        """
        if self._in_progress:
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
    """One for each server of each workspace. A dropped one starts again, at the cost of five failures."""

    def __init__(self, clock: Clock, jitter: Callable[[], float] = share, at_most: int = REMEMBERED_BREAKERS) -> None:
        self._clock = clock
        self._jitter = jitter
        self._at_most = at_most
        # In the order of their last use. Those set aside are older than the rest, and were open when room was needed.
        self._recent: OrderedDict[tuple[str, str], CircuitBreaker] = OrderedDict()
        self._set_aside: OrderedDict[tuple[str, str], CircuitBreaker] = OrderedDict()

    def get(self, partition: str, server_id: str) -> CircuitBreaker:
        pair = (partition, server_id)
        breaker = self._recent.get(pair)
        if breaker is None:
            return self._add(pair)
        self._recent.move_to_end(pair)
        return breaker

    def health(self, partition: str, server_id: str) -> BreakerHealth:
        """The state of a breaker. Neither creates a breaker nor counts as a use of it."""
        pair = (partition, server_id)
        breaker = self._recent.get(pair) or self._set_aside.get(pair)
        return breaker.health() if breaker else BreakerHealth("closed", 0, 0)

    @property
    def shut(self) -> int:
        """The number of breakers that reject calls now. Examines all of them, so it is for occasional use."""
        return sum(breaker.is_shut for breaker in (*self._recent.values(), *self._set_aside.values()))

    def _add(self, pair: tuple[str, str]) -> CircuitBreaker:
        breaker = self._set_aside.pop(pair, None)
        if breaker is None:
            self._make_room()
            breaker = CircuitBreaker(self._clock, self._jitter)
        self._recent[pair] = breaker
        return breaker

    def _make_room(self) -> None:
        """Drops a breaker that lets calls through, as a new one does too; if all are open, one of those.

        Among equals, the least recently used one is dropped. Each is set aside once between two uses, so that many open
        ones do not delay a new one; and one that is no longer called is not open for long.
        """
        if len(self._recent) + len(self._set_aside) < self._at_most:
            return
        for pair in list(islice(self._set_aside, LOOKED_AT)):
            if not self._set_aside[pair].is_shut:
                del self._set_aside[pair]
                return
        while self._recent:
            pair, breaker = self._recent.popitem(last=False)
            if not breaker.is_shut:
                return
            self._set_aside[pair] = breaker
        self._set_aside.popitem(last=False)
