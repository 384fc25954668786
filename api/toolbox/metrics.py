"""Counts and durations of tool calls."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

# From the cost of a warm call to the deadline of one, and beyond.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ToolCallCollector(Collector):
    """Counts in plain numbers: the library would take a lock for each, on a path of thousands of calls a second."""

    def __init__(self) -> None:
        self._outcomes: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(SECONDS) + 1))

    def record(self, service_type: str, outcome: str, seconds: float) -> None:
        self._outcomes[service_type, outcome] += 1
        self._seconds[service_type] += seconds
        self._buckets[service_type][bisect_left(SECONDS, seconds)] += 1

    def collect(self) -> Iterator[Metric]:
        calls = CounterMetricFamily("plugboard_tool_calls", "Calls of tools.", labels=["service", "outcome"])
        for labels, count in list(self._outcomes.items()):
            calls.add_metric(labels, count)
        yield calls
        times = HistogramMetricFamily(
            "plugboard_tool_call_seconds", "How long calls of tools took.", labels=["service"]
        )
        for service, counts in list(self._buckets.items()):
            ends = [*map(floatToGoString, SECONDS), "+Inf"]
            buckets = list(zip(ends, accumulate(counts), strict=True))
            times.add_metric([service], buckets, self._seconds[service])
        yield times
