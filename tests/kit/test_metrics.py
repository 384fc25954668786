"""Metrics can be read by Prometheus, cost next to nothing, and reveal nothing of a workspace."""

from __future__ import annotations

import platform

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from api.kit.metrics import CONTENT_TYPE, Metrics


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


def test_values_counted_elsewhere_are_read_at_each_collection() -> None:
    metrics, known = Metrics("1.0"), [2.0]
    metrics.gauge("breakers_open", "Breakers that are open.", lambda: known[-1])
    metrics.counter("things", "Things that were seen.", lambda: 10 * known[-1])

    assert samples(metrics, "plugboard_breakers_open") == {(): 2.0}
    known.append(3.0)
    assert samples(metrics, "plugboard_breakers_open") == {(): 3.0}
    assert samples(metrics, "plugboard_things_total") == {(): 30.0}
    result = families(metrics)
    assert (result["plugboard_breakers_open"].type, result["plugboard_things"].type) == ("gauge", "counter")


def test_versions_and_resources_of_the_process_are_shown() -> None:
    metrics = Metrics("1.2.3")

    assert samples(metrics, "plugboard_build_info") == {(platform.python_version(), "1.2.3"): 1.0}
    assert samples(metrics, "process_resident_memory_bytes")[()] > 1_000_000
    assert samples(metrics, "process_cpu_seconds_total")[()] > 0
    assert samples(metrics, "process_open_fds")[()] > 2


def test_registries_are_independent_and_series_unique() -> None:
    one, other = Metrics("1.0"), Metrics("1.0")
    one.counter("things", "Things.", lambda: 1)

    assert samples(one, "plugboard_things_total") == {(): 1.0}
    assert samples(other, "plugboard_things_total") == {}
    assert "_created" not in one.text().decode()
    assert CONTENT_TYPE.startswith("text/plain; version=0.0.4")
