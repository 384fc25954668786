"""Clients that generators of others make of the contract: the smallest use of each compiles, and works."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.process import PROJECT, Process, serving
from tests.real.catalogue import HERE, MADE, NODE_MODULES, PLAIN, Running, running

CONTRACT = PROJECT / "openapi.yaml"
EXAMPLES = HERE / "clients"
PYTHON = MADE / "clients/bin/python"
SEEN = ["Plain", ["headerValue"], "Snow, -3 °C", "not_found", 5]
PATIENCE_SECONDS = 120.0


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(PLAIN, tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
def plugboard(tmp_path: Path) -> Iterator[Process]:
    with serving(tmp_path / "var", PLUGBOARD_EGRESS_ALLOW="127.0.0.1/32") as process:
        yield process


def run(folder: Path, *command: str | Path) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def arguments(plugboard: Process, upstream: Running) -> list[str]:
    return [plugboard.url, plugboard.key(), plugboard.workspace_id(), upstream.url]


def test_a_client_in_typescript_compiles_and_works(tmp_path: Path, plugboard: Process, upstream: Running) -> None:
    tools = NODE_MODULES / ".bin"
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(EXAMPLES / "example.ts", tmp_path)

    run(tmp_path, tools / "openapi-typescript", CONTRACT, "-o", "api.d.ts")
    run(tmp_path, tools / "tsc", "--strict", "--target", "es2022", "--module", "nodenext", "example.ts")

    seen = run(tmp_path, "node", "example.js", *arguments(plugboard, upstream))
    assert json.loads(seen) == SEEN


def test_a_client_in_python_compiles_and_works(tmp_path: Path, plugboard: Process, upstream: Running) -> None:
    generator = [PYTHON, "-m", "openapi_python_client", "generate", "--meta", "none"]
    shutil.copy(EXAMPLES / "example.py", tmp_path)

    said = run(tmp_path, *generator, "--path", CONTRACT, "--output-path", tmp_path / "plugboard_client")
    checker = [sys.executable, "-m", "mypy", "--strict", "--python-executable", PYTHON, "--cache-dir", "cache"]
    run(tmp_path, *checker, "example.py")

    assert said.count("WARNING") == said.count("Unsupported content_type application/yaml") == 1  # the contract itself
    seen = run(tmp_path, PYTHON, "example.py", *arguments(plugboard, upstream))
    assert json.loads(seen) == SEEN
