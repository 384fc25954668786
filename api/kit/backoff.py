"""Exponential backoff with jitter, so that clients that failed together do not retry together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

MOST_DOUBLINGS = 30
"""Enough for every `longest`; a thousand doublings would overflow a float."""

_random = Random()  # noqa: S311  not for secrets; separate, so that other users' sequences stay the same


def between(least: float, most: float) -> float:
    return _random.uniform(least, most)


def share() -> float:
    """A random number from 0 to 1."""
    return _random.random()


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses that double with each failure, from `first` to `longest` seconds.

    `jitter` gives the factors between which each pause is drawn: `(0, 1)` is full jitter, `(1, 1)` is none.
    """

    first: float
    longest: float
    jitter: tuple[float, float] = (0.8, 1.2)

    def pause(self, failures: int, random: Callable[[], float] = share) -> float:
        """The pause after `failures` earlier failures; 0 gives the first pause."""
        least, most = self.jitter
        seconds = min(self.first * 2.0 ** min(failures, MOST_DOUBLINGS), self.longest)
        return seconds * (least + (most - least) * random())
