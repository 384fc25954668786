"""`make release`: the files of a release of the checked-out commit, in `dist/`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from release.files import make_release

PROJECT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--out", type=Path, default=PROJECT / "dist", metavar="DIR", help="made anew (default: dist)")
    out: Path = parser.parse_args().out
    if _git("status", "--porcelain"):
        sys.exit("release: there are changes that are not committed: a release is made from a commit")
    if out.exists() and not (out / "SHA256SUMS").exists() and any(out.iterdir()):
        sys.exit(f"release: {out} holds something else than a release: name another directory with --out")
    for file in make_release(PROJECT, out, epoch=int(_git("log", "-1", "--format=%ct"))):
        print(file)


def _git(*arguments: str) -> str:
    run = subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True, check=True)
    return run.stdout.strip()


if __name__ == "__main__":
    main()
