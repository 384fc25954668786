"""What does this process count and time, for Prometheus to collect?

No label holds what a caller could make more of: no workspace, server or tool. So the number of series is bounded, and
who reads them learns nothing of what is in a workspace.
"""

from __future__ import annotations

import platform
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from prometheus_client import Gauge, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.utils import floatToGoString

from api.kit.jobs import JobStatus

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
# From what a warm call costs to the deadline of a request, and what a call of several requests may take.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    def __init__(self, version: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the series, and nobody asks for them
        self.registry = CollectorRegistry()
        self._calls = ToolCallCollector()
        self.registry.register(self._calls)
        build = Gauge("plugboard_build_info", "What runs.", ["version", "python"], registry=self.registry)
        build.labels(version, platform.python_version()).set(1)
        ProcessCollector(registry=self.registry)

    def call(self, service_type: str, outcome: str, seconds: float) -> None:
        """`outcome` is of a closed set, and `service_type` of the services that there are."""
        self._calls.note(service_type, outcome, seconds)

    def gauge(self, name: str, description: str, value: Callable[[], float]) -> None:
        """`value` is asked at each collection, maybe from another thread."""
        Gauge(f"plugboard_{name}", description, registry=self.registry).set_function(value)

    def counter(self, name: str, description: str, value: Callable[[], float]) -> None:
        """For what counts already: `value` is asked as for a gauge, and only ever grows."""
        self.registry.register(_Counted(f"plugboard_{name}", description, value))

    def jobs(self, status: Callable[[], Sequence[JobStatus]]) -> None:
        """The runs of background jobs; `status` is read at each collection."""
        self.registry.register(_JobCollector(status))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class ToolCallCollector(Collector):
    """Counted in plain numbers: a series of the library's own takes a lock for each, on a path that does thousands."""

    def __init__(self) -> None:
        self._outcomes: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(SECONDS) + 1))

    def note(self, service_type: str, outcome: str, seconds: float) -> None:
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


class _Counted(Collector):
    def __init__(self, name: str, description: str, value: Callable[[], float]) -> None:
        self._name = name
        self._description = description
        self._value = value

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(self._name, self._description, value=self._value())


class _JobCollector(Collector):
    def __init__(self, status: Callable[[], Sequence[JobStatus]]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        runs = CounterMetricFamily("plugboard_job_runs", "Runs of background jobs.", labels=["job", "outcome"])
        running = GaugeMetricFamily("plugboard_job_running", "Whether a background job is running.", labels=["job"])
        success = GaugeMetricFamily(
            "plugboard_job_last_success_timestamp_seconds",
            "When a background job last succeeded.",
            labels=["job"],
        )
        for job in self._status():
            for outcome in ("succeeded", "failed", "skipped"):
                runs.add_metric([job.name, outcome], getattr(job, outcome))
            running.add_metric([job.name], float(job.is_running))
            if job.last_success is not None:
                success.add_metric([job.name], job.last_success)
        yield from (runs, running, success)
