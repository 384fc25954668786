"""Several processes show their metrics on a port each."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.process import Process, answers, serving, until
from tests.system.test_metrics_route import free_ports


def test_each_worker_exposes_its_own_metrics(tmp_path: Path) -> None:
    first = free_ports(2)
    with serving(tmp_path / "data", PLUGBOARD_WORKERS=2, PLUGBOARD_METRICS_PORT=first) as process:
        for port in (first, first + 1):
            shown = Process(process.popen, f"http://127.0.0.1:{port}", tmp_path)
            until(lambda shown=shown: answers(shown, "/metrics"))  # type: ignore[misc]
