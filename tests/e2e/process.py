"""Plugboard as its users run it: the command, as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.fakes.dynamodb import ACCESS
from tests.harness import caller

COMMAND = Path(sys.executable).with_name("plugboard")
PROJECT = Path(__file__).parents[2]
PATIENCE_SECONDS = 40.0


@dataclass(frozen=True)
class Program:
    """What is run: this version, or another one."""

    command: tuple[str | Path, ...] = (COMMAND,)
    directory: Path = PROJECT
    environment: Mapping[str, str] = field(default_factory=dict)
    name: str = "."
    """The folder of its output, so that two can serve the same data."""


OURS = Program()


@dataclass
class Process:
    popen: subprocess.Popen[bytes]
    url: str
    folder: Path

    def output(self) -> str:
        return (self.folder / "out").read_text()

    def log(self) -> str:
        return (self.folder / "err").read_text()

    def log_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log().splitlines()]

    def key(self) -> str:
        return next(line.split()[-1] for line in self.output().splitlines() if line.startswith("  API key"))

    def workspace_id(self) -> str:
        return next(line.split()[-1] for line in self.output().splitlines() if line.startswith("  workspace"))

    def caller(self, key: str | None = None) -> httpx2.Client:
        return caller(self.url, key)

    def signal(self, number: signal.Signals) -> None:
        self.popen.send_signal(number)

    def wait_for_exit(self) -> int:
        return self.popen.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """As a power cut would."""
        self.signal(signal.SIGKILL)
        self.wait_for_exit()


def environment(data_dir: Path, **changed: object) -> dict[str, str]:
    """Nothing of the machine's own but where programs are."""
    mine = {"PATH": os.environ["PATH"], **ACCESS, "PLUGBOARD_DATA_DIR": str(data_dir)}
    return mine | {name: str(value) for name, value in changed.items()}


def plugboard(
    data_dir: Path, *arguments: str, program: Program = OURS, **changed: object
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*program.command, *arguments],
        cwd=program.directory,
        env=environment(data_dir, **program.environment, **changed),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def first_workspace(data_dir: Path, **changed: object) -> tuple[str, str]:
    """The id and the admin key of a workspace in a new installation."""
    created = json.loads(plugboard(data_dir, "setup", "--new", "--workspace", "Acme", "--json", **changed).stdout)
    return created["workspaceId"], created["apiKey"]


def start(data_dir: Path, program: Program = OURS, **changed: object) -> Process:
    """Begins to serve on a free port; its output goes to files beside the data, so that no pipe fills up."""
    port = free_port()
    folder = data_dir.parent / program.name
    folder.mkdir(exist_ok=True)
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        popen = subprocess.Popen(
            [*program.command, "serve"],
            cwd=program.directory,
            env=environment(data_dir, PLUGBOARD_PORT=port, **program.environment, **changed),
            stdout=out,
            stderr=err,
        )
    return Process(popen, f"http://127.0.0.1:{port}", folder)


@contextmanager
def serving(data_dir: Path, program: Program = OURS, **changed: object) -> Iterator[Process]:
    process = start(data_dir, program, **changed)
    try:
        until(lambda: process.popen.poll() is not None or answers(process, "/readyz"))
        assert process.popen.poll() is None, process.log()
        yield process
    finally:
        if process.popen.poll() is None:
            process.signal(signal.SIGTERM)
        try:
            process.wait_for_exit()
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def answers(process: Process, path: str) -> bool:
    try:
        with process.caller() as anyone:
            return anyone.get(path).status_code == 200
    except httpx2.TransportError:
        return False


def until(holds: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Polls until a condition of another process holds, with a timeout."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        pause.wait(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
