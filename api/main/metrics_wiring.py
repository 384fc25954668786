"""Which values of the components are metrics. They are counted where they change, and read at each collection."""

from __future__ import annotations

from api.http.request_metrics import RequestCollector
from api.kit.crypto.data_keys import KeyRing
from api.kit.metrics import Metrics
from api.kit.storage.timed_store import StoreTimes
from api.toolbox.runtime import ToolRuntime


def register_calls(runtime: ToolRuntime) -> None:
    metrics, gauge, log = runtime.metrics, runtime.metrics.gauge, runtime.call_log
    metrics.register(runtime.call_metrics)
    gauge("call_records_waiting", "Tool-call records waiting to be stored.", lambda: log.waiting)
    metrics.counter("call_records_dropped", "Tool-call records dropped before being stored.", lambda: log.dropped)
    gauge("tool_calls_in_flight", "Tool calls in progress.", lambda: runtime.bulkheads.in_flight().calls)
    gauge("toolsets_open", "Servers with an open session or a cached tool list.", lambda: len(runtime.toolsets))
    gauge("breakers_open", "Servers whose circuit breaker is open.", lambda: runtime.breakers.shut)
    metrics.gauges(
        "upstream_connections",
        "Connections to upstreams, and requests that wait for one.",
        "state",
        runtime.outbound.usage,
    )


def register_process(metrics: Metrics, counts: RequestCollector, times: StoreTimes, keys: KeyRing) -> None:
    metrics.register(counts)
    metrics.register(times)
    metrics.gauge(
        "root_keys_missing",
        "Root keys that stored data needs and that are not configured.",
        lambda: len(keys.missing_roots),
    )
