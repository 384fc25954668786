"""What does this process count and time, for Prometheus to collect?

No label holds what a caller could make more of: no workspace, server or tool. So the number of series is bounded, and
who reads them learns nothing of what is in a workspace.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator

from prometheus_client import Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
# From what a warm call costs to the deadline of a request, and what a call of several requests may take.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    def __init__(self, version: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the series, and nobody asks for them
        self.registry = CollectorRegistry()
        self._calls = Counter("plugboard_tool_calls", "Calls of tools.", ["service", "outcome"], registry=self.registry)
        self._seconds = Histogram(
            "plugboard_tool_call_seconds",
            "How long calls of tools took.",
            ["service"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._bound: dict[tuple[str, str], tuple[Callable[[], None], Callable[[float], None]]] = {}
        build = Gauge("plugboard_build_info", "What runs.", ["version", "python"], registry=self.registry)
        build.labels(version, platform.python_version()).set(1)
        ProcessCollector(registry=self.registry)

    def call(self, service_type: str, outcome: str, seconds: float) -> None:
        """`outcome` is of a closed set, and `service_type` of the services that there are."""
        bound = self._bound.get((service_type, outcome))
        if bound is None:  # to find a series costs more than to count in it
            bound = self._calls.labels(service_type, outcome).inc, self._seconds.labels(service_type).observe
            self._bound[service_type, outcome] = bound
        count, time = bound
        count()
        time(seconds)

    def gauge(self, name: str, description: str, value: Callable[[], float]) -> None:
        """`value` is asked at each collection, maybe from another thread."""
        Gauge(f"plugboard_{name}", description, registry=self.registry).set_function(value)

    def counter(self, name: str, description: str, value: Callable[[], float]) -> None:
        """For what counts already: `value` is asked as for a gauge, and only ever grows."""
        self.registry.register(_Counted(f"plugboard_{name}", description, value))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class _Counted(Collector):
    def __init__(self, name: str, description: str, value: Callable[[], float]) -> None:
        self._name = name
        self._description = description
        self._value = value

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(self._name, self._description, value=self._value())
