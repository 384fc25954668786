"""`make release`: what it makes, and that it makes the same again."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from release.sbom import locked_packages
from release.wheel import SOURCES
from tests.architecture.test_repository import contains_registry
from tests.e2e.process import PROJECT

NEEDED = (*SOURCES, "release", "requirements.lock", ".gitignore")
COMMITTED_AT = 1_700_000_000


def clone(folder: Path, *, mode: int, touched: int) -> Path:
    """The project as a repository with one commit; rights and times of files differ from clone to clone."""
    folder.mkdir()
    for name in NEEDED:
        if (PROJECT / name).is_dir():
            shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(PROJECT / name, folder / name)
    for file in (path for path in folder.rglob("*") if path.is_file()):
        file.chmod(mode)
        os.utime(file, (touched, touched))
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(
        folder,
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.com",
        "commit",
        "--quiet",
        "--message",
        "A release.",
    )
    return folder


def git(folder: Path, *arguments: str) -> None:
    when = f"{COMMITTED_AT} +0000"
    dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **dates}, check=True)


def release(folder: Path, umask: int = 0o022, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "release"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "dist").iterdir()}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = clone(tmp_path_factory.mktemp("release") / "clone", mode=0o644, touched=COMMITTED_AT)
    run = release(folder)
    assert run.returncode == 0, run.stderr
    return folder


@pytest.fixture(scope="module")
def bill(released: Path) -> Any:
    (file,) = (released / "dist").glob("*.cdx.json")
    return json.loads(file.read_text())


@pytest.mark.slow
def test_two_clones_of_a_commit_release_the_same_bytes(released: Path, tmp_path: Path) -> None:
    other = clone(tmp_path / "another place", mode=0o600, touched=COMMITTED_AT + 86_400)

    run = release(other, umask=0o077, TZ="Asia/Tokyo", PYTHONHASHSEED="7")

    assert run.returncode == 0, run.stderr
    assert contents(other) == contents(released)


def test_the_checksums_are_those_of_all_files(released: Path) -> None:
    run = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=released / "dist",
        capture_output=True,
        text=True,
        check=True,
    )

    assert {line.removesuffix(": OK") for line in run.stdout.splitlines()} == contents(released).keys() - {"SHA256SUMS"}
    assert contents(released)["requirements.lock"] == (PROJECT / "requirements.lock").read_bytes()


def test_a_second_release_replaces_the_first(released: Path) -> None:
    before = contents(released)
    (released / "dist" / "plugboard-0.0.9-py3-none-any.whl").touch()

    assert release(released).returncode == 0
    assert contents(released) == before


def test_what_is_not_committed_is_not_released(tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone", mode=0o644, touched=COMMITTED_AT)
    (folder / "api" / "errors.py").write_text("")

    run = release(folder)

    assert run.returncode == 1
    assert "not committed" in run.stderr
    assert not (folder / "dist").exists()


def test_another_directory_is_not_replaced(released: Path, tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("Dear Ada")

    run = subprocess.run(
        [sys.executable, "-m", "release", "--out", tmp_path], cwd=released, capture_output=True, text=True, check=False
    )

    assert run.returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["letter"]


def test_the_bill_of_materials_is_valid_cyclonedx(bill: Any) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None


def test_an_invalid_bill_of_materials_is_detected(bill: Any) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps({**bill, "colour": "red"})) is not None


def test_the_bill_lists_every_locked_package_with_its_hashes(bill: Any) -> None:
    lock = (PROJECT / "requirements.lock").read_text()
    listed = {
        f"{component['name']}=={component['version']}": len(component["externalReferences"][0]["hashes"])
        for component in bill["components"]
        if component["purl"].startswith("pkg:pypi/")
    }

    assert listed.keys() == set(re.findall(r"^[^\s#]+==[^\s;]+", lock, re.MULTILINE))
    assert sum(listed.values()) == lock.count("--hash=sha256:")
    assert {component["name"]: component["scope"] for component in bill["components"]}["setuptools"] == "excluded"


def test_the_bill_lists_the_script_that_the_wheel_has(bill: Any) -> None:
    (script,) = [component for component in bill["components"] if component["purl"].startswith("pkg:npm/")]
    packed = (PROJECT / "api/http/openapi/scalar/scalar.js.gz").read_bytes()

    assert script["purl"] == f"pkg:npm/%40scalar/api-reference@{script['version']}"
    assert script["version"] in (PROJECT / "api/http/openapi/scalar/README.md").read_text()
    assert script["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(gzip.decompress(packed)).hexdigest()}]


def test_the_bill_names_what_plugboard_itself_depends_on(bill: Any) -> None:
    (dependency,) = bill["dependencies"]
    names = {ref.removeprefix("pkg:pypi/").partition("@")[0] for ref in dependency["dependsOn"]}

    assert dependency["ref"] == bill["metadata"]["component"]["bom-ref"]
    assert {"litestar", "uvicorn", "cryptography", "asyncpg"} <= names
    assert "setuptools" not in names
    assert not contains_registry(json.dumps(bill))


def test_a_locked_package_with_a_marker_is_read() -> None:
    text = (
        "a==1 \\\n    --hash=sha256:"
        + "0" * 64
        + "\nb-c==2.0 ; sys_platform == 'win32' \\\n    --hash=sha256:"
        + "1" * 64
    )

    a, b = locked_packages(f"{text} \\\n    --hash=sha256:{'2' * 64}\n")

    assert (a.name, a.version, a.marker, len(a.hashes)) == ("a", "1", "", 1)
    assert (b.name, b.version, b.marker, len(b.hashes)) == ("b-c", "2.0", "sys_platform == 'win32'", 2)
