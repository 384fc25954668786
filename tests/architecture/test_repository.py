"""What a stranger gets with a clone: nothing in it points to a place that they do not have."""

import ast
import json
import os
import re
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
# Put together here, so that this file does not name what it looks for.
REGISTRIES = ["py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "deb." + "debian.org"]
NOT_OURS = {".git", ".venv", "var", "node_modules", "__pycache__", "results", "build", "dist"}
LOCKS = ["requirements.lock", "requirements-dev.lock"]
LOCKS_OF_OTHERS = [
    "demo/requirements.lock",
    "tests/real/servers.lock",
    "tests/real/proxy.lock",
    "tests/real/clients.lock",
]
NPM_LOCKS = ["tests/tools/package-lock.json", "tests/real/package-lock.json"]


def our_files() -> list[Path]:
    """All that a clone holds: git knows; without git, all but what is made here."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        return [path for name in listed.stdout.split("\0") if name and (path := PROJECT / name).is_file()]
    return [path for path in PROJECT.rglob("*") if path.is_file() and not NOT_OURS & {*path.parts}]


def text_of(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def contains_registry(text: str) -> bool:
    return any(host in text for host in REGISTRIES)


def locked(text: str) -> dict[str, int]:
    """The packages of a lock file, each with the number of its hashes."""
    entries = [entry for entry in re.split(r"\n(?=\S)", text.strip()) if not entry.startswith("#")]
    return {entry.partition("==")[0]: entry.count("--hash=sha256:") for entry in entries}


def normal(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def required() -> dict[str, set[str]]:
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    extra = project["optional-dependencies"]
    run = {normal(item) for item in [*project["dependencies"], *extra["build"]]}
    return {"requirements.lock": run, "requirements-dev.lock": run | {normal(item) for item in extra["dev"]}}


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))


def test_no_file_names_a_package_registry_or_a_place_of_one_machine() -> None:
    files = our_files()
    here = f"{PROJECT}{os.sep}"
    texts = {str(file.relative_to(PROJECT)): file.read_text(encoding="utf-8", errors="replace") for file in files}

    assert "Makefile" in texts
    assert [name for name, text in texts.items() if contains_registry(text)] == []
    assert [name for name, text in texts.items() if here in text] == []


@pytest.mark.parametrize("host", REGISTRIES)
def test_a_registry_in_a_text_is_detected(host: str) -> None:
    assert contains_registry(f"--index-url https://x.{host}/simple")


@pytest.mark.parametrize("lock", [*LOCKS, *LOCKS_OF_OTHERS])
def test_a_lock_file_has_hashes_and_no_address(lock: str) -> None:
    text = text_of(lock)
    packages = locked(text)

    assert required().get(lock, set()) <= {normal(name) for name in packages}
    assert [name for name, hashes in packages.items() if hashes == 0] == []
    assert re.findall(r"https?:|file:|^\s*-(?!-hash)\S+|@ ", text, re.MULTILINE) == []


def test_a_package_without_a_hash_is_detected() -> None:
    assert locked("a==1 \\\n    --hash=sha256:00\nb==2\n") == {"a": 1, "b": 0}


def test_both_lock_files_agree() -> None:
    """`make run` and `make test` share an environment: what one installs, the other must not replace."""
    run, develop = (set(re.findall(r"^\S+==\S+", text_of(lock), re.MULTILINE)) for lock in LOCKS)

    demo = set(re.findall(r"^\S+==\S+", text_of("demo/requirements.lock"), re.MULTILINE))

    assert run <= develop
    assert demo <= develop


@pytest.mark.parametrize("path", NPM_LOCKS)
def test_a_lock_file_of_npm_has_hashes_and_no_address(path: str) -> None:
    lock: dict[str, Any] = json.loads(text_of(path))
    packages = [package for path, package in lock["packages"].items() if path]

    assert packages
    assert [package for package in packages if "resolved" in package or "integrity" not in package] == []


def test_make_without_a_target_lists_every_target() -> None:
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # not `make test`'s own
    shown = subprocess.run(["make"], cwd=PROJECT, env=alone, capture_output=True, text=True, check=True)

    assert shown.stderr == ""
    assert {line.split()[0] for line in shown.stdout.splitlines()} == targets()
    assert targets() >= {"help", "setup", "run", "test", "check", "format", "openapi", "fuzz", "bench", "lock", "clean"}


def test_ci_runs_only_existing_targets() -> None:
    ci = PROJECT / ".ci/run"

    assert ci.stat().st_mode & stat.S_IXUSR
    assert text_of(".ci/run").startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail\n" in text_of(".ci/run")
    assert set(re.findall(r"^make ([a-z-]+)", text_of(".ci/run"), re.MULTILINE)) <= targets()
    subprocess.run(["bash", "-n", ci], check=True)


def test_every_dependency_has_a_reason() -> None:
    decision = text_of("docs/decisions/0012-dependencies.md")
    rows = re.findall(r"^\| ([a-z][^|]*?) \|", decision, re.MULTILINE)
    explained = {normal(name) for row in rows for name in re.sub(r" \(.*\)", "", row).split(", ")} - {"package"}

    assert explained == required()["requirements-dev.lock"]


def test_decisions_are_numbered_short_and_name_their_tests() -> None:
    decisions = sorted((PROJECT / "docs/decisions").glob("*.md"))
    parts = ("**Context.**", "**Decision.**", "**Consequences.**", "**Alternatives.**", "**Kept by**")
    incomplete = [decision.name for decision in decisions if any(part not in decision.read_text() for part in parts)]
    long = [decision.name for decision in decisions if len(decision.read_text().splitlines()) > 60]

    assert [decision.name[:4] for decision in decisions] == [f"{number:04}" for number in range(1, len(decisions) + 1)]
    assert (incomplete, long) == ([], [])


def variables_read() -> set[str]:
    """The names of variables that settings.py spells, without those it makes from a service's name."""
    words = {
        node.value for node in ast.walk(ast.parse(text_of("api/main/settings.py"))) if isinstance(node, ast.Constant)
    }
    return {word for word in words if isinstance(word, str) and re.fullmatch(r"(PLUGBOARD|OAUTH)_[A-Z_]+", word)}


def test_compose_passes_on_every_variable_except_those_of_the_image() -> None:
    passed = set(yaml.safe_load(text_of("infra/compose.yaml"))["services"]["plugboard"]["environment"])
    of_the_image = {"PLUGBOARD_HOST", "PLUGBOARD_PORT", "PLUGBOARD_DATA_DIR"}

    assert {name for name in passed if re.match(r"PLUGBOARD_|OAUTH_", name)} == variables_read() - of_the_image
    assert [name for name in passed if "=" in name] == []


def test_compose_passes_on_the_variables_of_every_service() -> None:
    """From a file, so that a service needs no line; git and the image have no such file."""
    compose = text_of("infra/compose.yaml")
    plugboard = yaml.safe_load(compose)["services"]["plugboard"]

    assert plugboard["env_file"] == [{"path": ".env", "required": False}]
    assert {name.partition("_")[0] for name in plugboard["environment"]} == {"PLUGBOARD", "OAUTH", "AWS"}
    assert ".env" in text_of(".gitignore").split()
    assert not {"!infra", "!infra/.env", "!.env"} & set(text_of(".dockerignore").split())
