"""A clock that a test sets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class StillClock:
    seconds: float = 1_800_000_000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
