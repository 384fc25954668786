"""The version before this one, from the history of this repository.

The pin moves with each release: the commit of the release that has just been made is the predecessor of the next one.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.e2e.process import PROJECT, Program

VERSION = "0.1.0"
COMMIT = "0e4fb374ef700599324455c6e1ab10ca46de3f3c"
SOURCES = ("api", "integrations", "infra", "pyproject.toml", "requirements.lock")
RUN = "from api.main.cli import main; main()"


def predecessor(folder: Path) -> Program:
    """Runs in the environment of the tests, with its own code before this version's. Skips the test without history."""
    archive = subprocess.run(["git", "archive", COMMIT, *SOURCES], cwd=PROJECT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"the history of the repository is not here: {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return Program((sys.executable, "-c", RUN), folder, {"PYTHONPATH": str(folder)}, name="predecessor")
