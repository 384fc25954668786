"""The registry of what this process counts and times, for Prometheus to collect.

No label holds what a caller could make more of: no workspace, server or tool. So the number of series is bounded, and
the metrics disclose nothing of what is in a workspace.
"""

from __future__ import annotations

import platform
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from prometheus_client import Gauge, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.utils import floatToGoString

from api.kit.cache.memory import CacheUse
from api.kit.jobs import JobStatus

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class Metrics:
    def __init__(self, version: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the number of series
        self.registry = CollectorRegistry()
        build = Gauge("plugboard_build_info", "The running versions.", ["version", "python"], registry=self.registry)
        build.labels(version, platform.python_version()).set(1)
        self.gauge("workers", "Processes that these metrics are the sum of.", lambda: 1)
        ProcessCollector(registry=self.registry)

    def register(self, collector: Collector) -> None:
        self.registry.register(collector)

    def gauge(self, name: str, description: str, value: Callable[[], float]) -> None:
        """`value` is called at each collection, possibly on another thread."""
        Gauge(f"plugboard_{name}", description, registry=self.registry).set_function(value)

    def gauges(self, name: str, description: str, label: str, values: Callable[[], Mapping[str, float]]) -> None:
        """Gauges that are read together, by the value of their label."""
        self.registry.register(_Read(f"plugboard_{name}", description, label, values))

    def counter(self, name: str, description: str, value: Callable[[], float]) -> None:
        """A counter of values that are counted elsewhere: `value` is called at each collection and never decreases."""
        self.registry.register(_Counted(f"plugboard_{name}", description, value))

    def jobs(self, status: Callable[[], Sequence[JobStatus]]) -> None:
        """The runs of background jobs; `status` is read at each collection."""
        self.registry.register(_JobCollector(status))

    def caches(self, uses: Sequence[CacheUse]) -> None:
        """What caches hold; `uses` is read at each collection."""
        self.registry.register(_CacheCollector(uses))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class _Counted(Collector):
    def __init__(self, name: str, description: str, value: Callable[[], float]) -> None:
        self._name = name
        self._description = description
        self._value = value

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(self._name, self._description, value=self._value())


class _CacheCollector(Collector):
    def __init__(self, uses: Sequence[CacheUse]) -> None:
        self._uses = uses

    def collect(self) -> Iterator[Metric]:
        held = GaugeMetricFamily("plugboard_cache_bytes", "What caches hold, estimated.", labels=["cache"])
        evicted = CounterMetricFamily(
            "plugboard_cache_evictions",
            "Entries that had to go because a workspace, or the process, was at its bound.",
            labels=["cache", "bound"],
        )
        for use in self._uses:
            held.add_metric([use.name], use.size)
            evicted.add_metric([use.name, "workspace"], use.evicted_by_workspace)
            evicted.add_metric([use.name, "process"], use.evicted_by_process)
        yield from (held, evicted)


class _Read(Collector):
    def __init__(self, name: str, description: str, label: str, values: Callable[[], Mapping[str, float]]) -> None:
        self._name = name
        self._description = description
        self._label = label
        self._values = values

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily(self._name, self._description, labels=[self._label])
        for label, value in self._values().items():
            family.add_metric([label], value)
        yield family


class Timings:
    """How many there were, and how long they took: plain numbers by a key, added without a lock.

    The library would take a lock for each, on a path of thousands of requests a second. A row counts the durations up
    to each bound, and ends with their sum.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._rows: dict[tuple[str | int, ...], list[float]] = {}

    def add(self, key: tuple[str | int, ...], seconds: float) -> None:
        try:
            row = self._rows[key]
        except KeyError:
            row = self._rows[key] = [0] * (len(self._bounds) + 2)
        row[bisect_left(self._bounds, seconds)] += 1
        row[-1] += seconds

    def counts(self) -> dict[tuple[str, ...], float]:
        return {tuple(map(str, key)): sum(row[:-1]) for key, row in list(self._rows.items())}

    def histogram(self, name: str, description: str, labels: Sequence[str]) -> HistogramMetricFamily:
        """By the first parts of the keys, one for each label."""
        sums: dict[tuple[str, ...], list[float]] = {}
        for key, row in list(self._rows.items()):
            label_values = tuple(map(str, key[: len(labels)]))
            known = sums.get(label_values)
            sums[label_values] = row if known is None else [a + b for a, b in zip(known, row, strict=True)]
        family = HistogramMetricFamily(name, description, labels=labels)
        for label_values, row in sums.items():
            family.add_metric(label_values, self._buckets(row[:-1]), row[-1])
        return family

    def _buckets(self, counts: Iterable[float]) -> list[tuple[str, float]]:
        ends = [*map(floatToGoString, self._bounds), "+Inf"]
        return list(zip(ends, accumulate(counts), strict=True))


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
