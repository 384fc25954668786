"""The registry of what this process counts and times, for Prometheus to collect.

No label holds what a caller could make more of: no workspace, server or tool. So the number of series is bounded, and
the metrics disclose nothing of what is in a workspace.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence

from prometheus_client import Gauge, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from api.kit.jobs import JobStatus

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class Metrics:
    def __init__(self, version: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the number of series
        self.registry = CollectorRegistry()
        build = Gauge("plugboard_build_info", "The running versions.", ["version", "python"], registry=self.registry)
        build.labels(version, platform.python_version()).set(1)
        ProcessCollector(registry=self.registry)

    def register(self, collector: Collector) -> None:
        self.registry.register(collector)

    def gauge(self, name: str, description: str, value: Callable[[], float]) -> None:
        """`value` is called at each collection, possibly on another thread."""
        Gauge(f"plugboard_{name}", description, registry=self.registry).set_function(value)

    def counter(self, name: str, description: str, value: Callable[[], float]) -> None:
        """A counter of values that are counted elsewhere: `value` is called at each collection and never decreases."""
        self.registry.register(_Counted(f"plugboard_{name}", description, value))

    def jobs(self, status: Callable[[], Sequence[JobStatus]]) -> None:
        """The runs of background jobs; `status` is read at each collection."""
        self.registry.register(_JobCollector(status))

    def text(self) -> bytes:
        return generate_latest(self.registry)


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
