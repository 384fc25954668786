"""What is counted can be read by Prometheus, costs next to nothing, and says nothing of anybody."""

from __future__ import annotations

import platform
import time

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from api.kit.metrics import CONTENT_TYPE, SECONDS, Metrics


def families(metrics: Metrics) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(metrics.text().decode())}


def samples(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """By the values of their labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in families(metrics).values()
        for sample in family.samples
        if sample.name == name
    }


def test_calls_are_counted_by_service_and_outcome() -> None:
    metrics = Metrics("1.0")
    for service, outcome in [("external", "ok"), ("external", "ok"), ("external", "timeout"), ("notion", "ok")]:
        metrics.call(service, outcome, 0.1)

    assert samples(metrics, "plugboard_tool_calls_total") == {
        ("ok", "external"): 2.0,
        ("timeout", "external"): 1.0,
        ("ok", "notion"): 1.0,
    }


def test_calls_are_timed_by_service() -> None:
    metrics = Metrics("1.0")
    for outcome, seconds in [("ok", 0.0009), ("tool_error", 0.0011), ("timeout", 30.0), ("ok", 61.0)]:
        metrics.call("external", outcome, seconds)

    buckets = samples(metrics, "plugboard_tool_call_seconds_bucket")
    assert buckets["0.001", "external"] == 1
    assert buckets["0.0025", "external"] == 2
    assert buckets["10.0", "external"] == 2
    assert buckets["30.0", "external"] == 3
    assert buckets["60.0", "external"] == 3
    assert buckets["+Inf", "external"] == 4
    assert len(buckets) == len(SECONDS) + 1
    assert samples(metrics, "plugboard_tool_call_seconds_sum")["external",] == pytest.approx(91.002)


def test_what_others_know_is_asked_at_each_collection() -> None:
    metrics, known = Metrics("1.0"), [2.0]
    metrics.gauge("breakers_open", "Breakers that are open.", lambda: known[-1])
    metrics.counter("things", "Things that were seen.", lambda: 10 * known[-1])

    assert samples(metrics, "plugboard_breakers_open") == {(): 2.0}
    known.append(3.0)
    assert samples(metrics, "plugboard_breakers_open") == {(): 3.0}
    assert samples(metrics, "plugboard_things_total") == {(): 30.0}
    found = families(metrics)
    assert (found["plugboard_breakers_open"].type, found["plugboard_things"].type) == ("gauge", "counter")


def test_what_runs_and_what_it_uses_is_told() -> None:
    metrics = Metrics("1.2.3")

    assert samples(metrics, "plugboard_build_info") == {(platform.python_version(), "1.2.3"): 1.0}
    assert samples(metrics, "process_resident_memory_bytes")[()] > 1_000_000
    assert samples(metrics, "process_cpu_seconds_total")[()] > 0
    assert samples(metrics, "process_open_fds")[()] > 2


def test_each_has_numbers_of_its_own_and_none_twice() -> None:
    one, other = Metrics("1.0"), Metrics("1.0")
    one.call("external", "ok", 0.1)

    assert samples(other, "plugboard_tool_calls_total") == {}
    assert "_created" not in one.text().decode()
    assert CONTENT_TYPE.startswith("text/plain; version=0.0.4")


def test_to_count_a_call_costs_microseconds() -> None:
    """The best of some tries: what else the machine does is not counted. 1 µs where it was made."""
    metrics = Metrics("1.0")

    assert min(_seconds_for_a_thousand(metrics) for _ in range(20)) / 1000 < 5e-6


def _seconds_for_a_thousand(metrics: Metrics) -> float:
    begun = time.perf_counter()
    for _ in range(1000):
        metrics.call("external", "ok", 0.003)
    return time.perf_counter() - begun
