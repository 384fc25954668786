"""Counts and durations of HTTP requests, by the pattern of their path."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from api.kit.metrics import Timings

SECONDS = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""A method that is not on the list, and a path that does not exist: a caller could make more of them without end."""


class RequestCollector(Collector):
    def __init__(self) -> None:
        self._times = Timings(SECONDS)

    def record(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """`status` is 0 if the client left before a response began."""
        known = method if method in METHODS else OTHER
        self._times.add((route or OTHER, known, status), seconds)

    def collect(self) -> Iterator[Metric]:
        ended = CounterMetricFamily(
            "plugboard_http_requests", "Requests that ended.", labels=["route", "method", "status"]
        )
        for labels, count in self._times.counts().items():
            ended.add_metric(labels, count)
        yield ended
        yield self._times.histogram("plugboard_http_request_seconds", "How long requests took.", ["route"])
