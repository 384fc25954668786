"""Starts the servers to measure, each on its own core, and reads their CPU time and memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from bench.upstream import HOST
from tests.fakes.dynamodb import DYNOXIDE

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Cores:
    """One core for the measured server, the others for the load generator. With one core, they share it."""

    server: frozenset[int]
    load_generator: frozenset[int]

    @classmethod
    def divide(cls) -> Cores:
        first, *rest = sorted(os.sched_getaffinity(0))
        return cls(frozenset({first}), frozenset(rest or {first}))

    @contextmanager
    def for_server(self) -> Iterator[None]:
        """A process that is started inside this context inherits the server's core."""
        os.sched_setaffinity(0, self.server)
        try:
            yield
        finally:
            os.sched_setaffinity(0, self.load_generator)


@dataclass(frozen=True, slots=True)
class RunningServer:
    port: int
    pid: int
    start_seconds: float

    def cpu_seconds(self) -> float:
        return time.clock_gettime(~self.pid << 3 | 2)  # the number that Linux gives to the CPU clock of a process

    def peak_bytes(self) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def product(cores: Cores, data: Path, **settings: str) -> AbstractContextManager[RunningServer]:
    """The product, with its access log in a file."""
    command = [str(Path(sys.executable).with_name("plugboard")), "serve"]
    settings |= {"PLUGBOARD_DATA_DIR": str(data), "PLUGBOARD_EGRESS_ALLOW": HOST}
    return _start(cores.for_server(), command, data / "server.log", **settings)


def bare(cores: Cores, answers: Path) -> AbstractContextManager[RunningServer]:
    return _start(cores.for_server(), _module("bench.bare_app", str(answers)), answers / "bare.log")


def floor(cores: Cores, kind: str, upstream_port: int, answers: Path) -> AbstractContextManager[RunningServer]:
    command = _module("bench.passthrough_apps", kind, str(upstream_port), str(answers))
    return _start(cores.for_server(), command, answers / f"{kind}.log")


def upstream(directory: Path) -> AbstractContextManager[RunningServer]:
    return _start(nullcontext(), _module("bench.upstream"), directory / "upstream.log")


def dynamodb(database: Path) -> AbstractContextManager[RunningServer]:
    """DynamoDB does not share the server's core, because in production it is on another machine."""
    command = [str(DYNOXIDE), "serve", "--host", "127.0.0.1", "--port", "{port}", "--db-path", str(database)]
    return _start(nullcontext(), command, database.with_suffix(".log"))


def _module(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", name, "{port}", *arguments]


@contextmanager
def _start(
    place: AbstractContextManager[None], command: list[str], log: Path, **settings: str
) -> Iterator[RunningServer]:
    port = _free_port()
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PLUGBOARD_")}
    environment = plain | settings | {"PLUGBOARD_PORT": str(port)}
    started = time.perf_counter()
    with log.open("wb") as output, place:
        line = [part.format(port=port) for part in command]
        process = subprocess.Popen(line, env=environment, stdout=output, stderr=output)
    try:
        _wait_for(port, process, log)
        yield RunningServer(port, process.pid, time.perf_counter() - started)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)


def _free_port() -> int:
    with socket.socket() as resource:
        resource.bind(("127.0.0.1", 0))
        port: int = resource.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Waits for the port: a server listens only when it can respond."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up and process.poll() is None:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.005)
    raise SystemExit(f"The server did not start:\n{log.read_text()[-2000:]}")
