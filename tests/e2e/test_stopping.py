"""Requests in progress when the process stops."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from api.main.settings import Settings
from tests.e2e.process import Process, answers, serving, until
from tests.harness import served


def refuses_connections(process: Process) -> bool:
    try:
        with socket.create_connection(address(process), timeout=5):
            return False
    except ConnectionRefusedError:
        return True


def address(process: Process) -> tuple[str, int]:
    parts = urlsplit(process.url)
    return str(parts.hostname), int(parts.port or 0)


@pytest.mark.requirement("REL-19")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_stopping_process_finishes_requests_and_accepts_no_new_connections(tmp_path: Path, workers: int) -> None:
    with serving(tmp_path / "var", PLUGBOARD_WORKERS=workers) as process:
        key, agents = process.key(), f"/api/workspaces/{process.workspace_id()}/agents"
        body = json.dumps({"name": "The last one"}).encode()
        head = (
            f"POST {agents} HTTP/1.1\r\nHost: plugboard\r\n"
            f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(address(process), timeout=30) as slow:
            slow.sendall(head.encode() + body[:5])
            until(lambda: has_begun_to_read(process))

            process.signal(signal.SIGTERM)
            until(lambda: refuses_connections(process))
            assert process.popen.poll() is None
            slow.sendall(body[5:])

            answer = b"".join(iter(lambda: slow.recv(65536), b""))
            assert answer.startswith(b"HTTP/1.1 201 ")
        assert process.wait_for_exit() == 0
    assert "Traceback" not in process.log()

    with served(Settings(data_dir=tmp_path / "var")) as again, again.caller(key) as admin:
        assert [agent["name"] for agent in admin.get(agents).json()] == ["The last one"]


@pytest.mark.requirement("REL-19")
def test_an_idle_process_stops_cleanly(tmp_path: Path) -> None:
    with serving(tmp_path / "var") as process:
        process.signal(signal.SIGINT)
        assert process.wait_for_exit() in {0, -signal.SIGINT}
    assert "Traceback" not in process.log()


def has_begun_to_read(process: Process) -> bool:
    """Another request that came later was answered, so this one was taken up."""
    return all(answers(process, "/healthz") for _ in range(20))
