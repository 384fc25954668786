"""Starting a server on a port of 127.0.0.1, and stopping it with all that it started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.e2e.process import until

STOPPING_SECONDS = 10.0


def start(command: Sequence[str], port: int, folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Ready when it returns. What the program says is in a file beside its folder."""
    log = folder.with_suffix(".log")
    with log.open("ab") as out:
        popen = subprocess.Popen(
            command,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: popen.poll() is not None or listens("127.0.0.1", port))
        assert popen.poll() is None, log.read_text()
        assert not listens("127.0.0.2", port), "it listens on more than 127.0.0.1"
    except AssertionError:
        stop(popen)
        raise
    return popen


def stop(popen: subprocess.Popen[bytes]) -> None:
    """What it started is in groups of its own, and may not notice that it ended."""
    started = descendants(popen.pid)
    popen.terminate()
    try:
        popen.wait(STOPPING_SECONDS)
    except subprocess.TimeoutExpired:
        popen.kill()
        popen.wait()
    for pid in started:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    children = [child for child, parent in parents().items() if parent == pid]
    return [*children, *(descendant for child in children for descendant in descendants(child))]


def parents() -> dict[int, int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return {int(child): int(parent) for child, parent in map(str.split, listed.splitlines())}


def listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=5):
            return True
    except OSError:
        return False
