"""Several processes show their metrics on one port, as one."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.process import Process, serving, until
from tests.harness import caller
from tests.system.test_metrics_route import free_metrics_port

HEALTH = {"route": "/healthz", "method": "GET", "status": "200"}


@pytest.fixture
def temporary() -> Iterator[Path]:
    """With a short path, as sockets need it."""
    with tempfile.TemporaryDirectory(prefix="pb-") as folder:
        yield Path(folder)


def shown(port: int, name: str, **labels: str) -> float:
    with caller(f"http://127.0.0.1:{port}") as anyone:
        text = anyone.get("/metrics").text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return sum(sample.value for sample in samples if sample.name == name and labels.items() <= sample.labels.items())


def ask(process: Process, path: str, times: int) -> None:
    """Each on a connection of its own, so that every process answers some of them."""
    for _ in range(times):
        with process.caller() as anyone:
            assert anyone.get(path).status_code == 200


def workers_of(folder: Path) -> list[int]:
    """Their process ids are in the names of their sockets."""
    (sockets,) = folder.glob("plugboard-*")
    return [int(path.name.partition("-")[0]) for path in sockets.iterdir()]


def test_one_port_shows_the_sums_over_all_workers(tmp_path: Path, temporary: Path) -> None:
    port = free_metrics_port()
    with serving(tmp_path / "data", PLUGBOARD_WORKERS=2, PLUGBOARD_METRICS_PORT=port, TMPDIR=temporary) as process:
        until(lambda: shown(port, "plugboard_workers") == 2)
        ask(process, "/healthz", 20)

        assert shown(port, "plugboard_http_requests_total", **HEALTH) == 20
        assert shown(port, "plugboard_http_request_seconds_count", route="/healthz") == 20
        assert shown(port, "plugboard_build_info") == 1
        assert shown(port, "process_open_fds") > 10

        killed, _ = workers_of(temporary)
        os.kill(killed, signal.SIGKILL)
        until(lambda: shown(port, "plugboard_workers") == 2 and killed not in workers_of(temporary))
        assert shown(port, "plugboard_http_requests_total", **HEALTH) == 20, "a sum never decreases"
        ask(process, "/healthz", 4)
        assert shown(port, "plugboard_http_requests_total", **HEALTH) == 24

    assert list(temporary.iterdir()) == []
    assert process.popen.returncode == 0


@pytest.mark.slow
def test_a_worker_that_does_not_answer_is_not_counted_as_one(tmp_path: Path, temporary: Path) -> None:
    port = free_metrics_port()
    with serving(tmp_path / "data", PLUGBOARD_WORKERS=2, PLUGBOARD_METRICS_PORT=port, TMPDIR=temporary) as process:
        until(lambda: shown(port, "plugboard_workers") == 2)
        ask(process, "/healthz", 12)
        assert shown(port, "plugboard_http_requests_total", **HEALTH) == 12
        stopped, _ = workers_of(temporary)
        os.kill(stopped, signal.SIGSTOP)
        try:
            assert shown(port, "plugboard_workers") == 1
            assert shown(port, "plugboard_http_requests_total", **HEALTH) == 12
        finally:
            os.kill(stopped, signal.SIGCONT)
