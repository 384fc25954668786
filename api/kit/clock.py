"""The clock: the only place that reads the time of the machine."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, for times that are stored."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary point, for durations."""
        ...


class SystemClock:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)


def rfc3339(seconds: float) -> str:
    """`2026-11-18T10:00:00.123Z`. Sorts as text in the order of time."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
