"""A reader who follows a document literally, in a shell."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from tests.documents import PROJECT, Document
from tests.e2e.process import free_port, until
from tests.harness import Workspace, caller

SERVED_AT = "http://127.0.0.1:8400"
"""Where the documents say that Plugboard is."""
DEMO_AT = "http://127.0.0.1:8401"
WEATHER = "demo.weather"
OAUTH_DEMO_AT = "http://127.0.0.1:8402"
_TO_BE_FILLED_IN = re.compile(r"^[A-Z]+=.*….*\n", re.MULTILINE)
_FUNCTION = re.compile(r"^\w+\(\) .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Reader:
    """A person who has filled in what a document asks for, and runs its blocks one after the other."""

    workspace: Workspace
    folder: Path
    moved: Mapping[str, str] = field(default_factory=dict)
    """What stands for an address of the documents in this test."""

    @property
    def variables(self) -> dict[str, str]:
        return {"URL": f"{self.workspace.plugboard.url}{self.workspace.path}", "KEY": self.workspace.key}

    def run(self, document: Document, *signs: str, then: str = "", **variables: str) -> list[str]:
        """The lines that the blocks print. `then` is typed after them."""
        blocks = [self.shell_lines(document.block("sh", sign)) for sign in signs]
        return self.type("\n".join([*blocks, then]), **variables)

    def type(self, lines: str, **variables: str) -> list[str]:
        return in_a_shell(lines, self.folder, **self.variables | variables)

    def shell_lines(self, block: str) -> str:
        for written, here in {SERVED_AT: self.workspace.plugboard.url, **self.moved}.items():
            block = block.replace(written, here)
        return filled_in(block)


def filled_in(block: str) -> str:
    """Without the lines that the reader fills in: a test hands over those variables."""
    return _TO_BE_FILLED_IN.sub("", block)


def functions_of(document: Document) -> str:
    return "".join(_FUNCTION.findall(document.block("sh", "api() {")))


def in_a_shell(lines: str, folder: Path, **environment: str) -> list[str]:
    printed = run(["bash", "-euo", "pipefail", "-c", lines], folder, **environment)
    return [line for line in printed.splitlines() if line]


def run(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    if not all(map(shutil.which, ("bash", "curl", "python3"))):
        pytest.skip("the lines of the documents need bash, curl and python3")
    path = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(command, cwd=folder, env=path | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def weather_server() -> Iterator[str]:
    """What `make demo` runs."""
    port = free_port()
    popen = subprocess.Popen(
        [sys.executable, "-m", WEATHER, str(port)], cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: is_up(url))
        yield url
    finally:
        popen.terminate()
        popen.wait()


def is_up(url: str) -> bool:
    try:
        with caller(url) as client:
            return client.get("/mcp").status_code == 405
    except httpx2.TransportError:
        return False


def no_names(_: str) -> Sequence[str]:
    raise OSError("no name resolves in a test")
