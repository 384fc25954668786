"""Counts and durations of tool calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from api.kit.metrics import Timings

# From the cost of a warm call to the deadline of one, and beyond.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ToolCallCollector(Collector):
    def __init__(self) -> None:
        self._outcomes: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._times = Timings(SECONDS)

    def record(self, service_type: str, outcome: str, seconds: float) -> None:
        self._outcomes[service_type, outcome] += 1
        self._times.add((service_type,), seconds)

    def collect(self) -> Iterator[Metric]:
        calls = CounterMetricFamily("plugboard_tool_calls", "Calls of tools.", labels=["service", "outcome"])
        for labels, count in list(self._outcomes.items()):
            calls.add_metric(labels, count)
        yield calls
        yield self._times.histogram("plugboard_tool_call_seconds", "How long calls of tools took.", ["service"])
