"""What time is it: the only place that asks the machine."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, for instants that are stored."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment, for durations."""
        ...


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def rfc3339(seconds: float) -> str:
    """`2026-11-18T10:00:00.123Z`: sorts as text in the order of time."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
