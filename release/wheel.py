"""The wheel, built by the locked build backend without a package index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

SOURCES = ("pyproject.toml", "README.md", "api", "integrations")
BUILD = ("--no-deps", "--no-build-isolation", "--no-index")


def build_wheel(project: Path, out: Path, *, epoch: int) -> Path:
    """Builds in a copy: what an earlier build left in the tree would come along."""
    with TemporaryDirectory() as folder:
        for name in SOURCES:
            _copy(project / name, Path(folder, name))
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", *BUILD, "--wheel-dir", str(out.absolute()), "."],
            cwd=folder,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            umask=0o022,
            check=True,
        )
    (wheel,) = out.glob("*.whl")
    return wheel


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(source, target, ignore=ignored, copy_function=_copy_file)
    else:
        _copy_file(source, target)


def _copy_file(source: str | Path, target: str | Path) -> None:
    """With the same rights in every clone."""
    shutil.copyfile(source, target)
    Path(target).chmod(0o644)
