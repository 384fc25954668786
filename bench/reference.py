"""Judges missed limits against the reference version, measured on the same machine.

The limits hold on an undisturbed machine: there the reference version kept them all. Where neighbours take the
processor's caches, every version misses them. So a miss counts only if this version is slower than the reference, too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

REFERENCE = "516303bd21eb878dd79ccdcb54d74ae86c45af66"
TOLERANCE = 0.1
ROOT = Path(__file__).parents[1]
TOOLS = Path("tests/tools/node_modules")
"""With the DynamoDB-compatible server."""


def main() -> None:
    missed = {each["name"]: each["ratio"] for each in _ratios(Path(sys.argv[1])) if is_missed(each)}
    if not missed:
        return
    with tempfile.TemporaryDirectory(prefix="plugboard-reference-") as directory:
        reference = {each["name"]: each["ratio"] for each in _measure_reference(Path(directory) / REFERENCE)}
        # Once more, under the conditions of the reference: what neighbours do changes within minutes.
        again = {each["name"]: each["ratio"] for each in _measure(ROOT, Path(directory) / "again.json")}
    missed = {name: min(ratio, again[name]) for name, ratio in missed.items()}
    for name, ratio in missed.items():
        print(f"{name}: {ratio:.2f}, the reference version on this machine: {reference.get(name, 0.0):.2f}")
    slower = [name for name, ratio in missed.items() if is_slower(ratio, reference.get(name))]
    sys.exit(f"bench: missed by more than the reference version: {', '.join(slower)}" if slower else 0)


def is_missed(result: dict[str, float]) -> bool:
    return bool(result["at_most"]) and result["ratio"] > result["at_most"] * (1 + TOLERANCE)


def is_slower(ratio: float, reference: float | None) -> bool:
    return reference is None or ratio > reference * (1 + TOLERANCE)


def _ratios(file: Path) -> list[dict[str, float]]:
    ratios: list[dict[str, float]] = json.loads(file.read_text(encoding="utf-8"))["ratios"]
    return ratios


def _measure_reference(folder: Path) -> list[dict[str, float]]:
    _run("git", "worktree", "add", "--detach", str(folder), REFERENCE, at=ROOT)
    try:
        _run("make", "setup", at=folder)
        if (ROOT / TOOLS).exists():
            (folder / TOOLS).symlink_to(ROOT / TOOLS)
        return _measure(folder, folder / "reference.json")
    finally:
        _run("git", "worktree", "remove", "--force", str(folder), at=ROOT)


def _measure(folder: Path, results: Path) -> list[dict[str, float]]:
    command = [".venv/bin/python", "-m", "bench", "--quick", "--to", str(results)]
    subprocess.run(command, cwd=folder, check=False)  # it may miss the limits, too
    return _ratios(results)


def _run(*command: str, at: Path) -> None:
    subprocess.run(command, cwd=at, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
