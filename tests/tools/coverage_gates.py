"""Do the tests reach enough of each package? Lines and branches are counted apart, from coverage's JSON report."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PACKAGES = ("api", "integrations")
LEAST = {"line": 95.0, "branch": 90.0}


def reached(report: Mapping[str, Any], package: str) -> dict[str, float]:
    """How many per cent; a package without branches, or which nothing was measured of, is not taken for granted."""
    sums: Counter[str] = Counter()
    for path, file in report["files"].items():
        if Path(path).parts[0] == package:
            sums.update({name: number for name, number in file["summary"].items() if isinstance(number, int)})
    return {
        "line": _per_cent(sums["covered_lines"], sums["num_statements"]),
        "branch": _per_cent(sums["covered_branches"], sums["num_branches"]),
    }


def complaints(report: Mapping[str, Any]) -> list[str]:
    by_name = {(package, kind): share for package in PACKAGES for kind, share in reached(report, package).items()}
    return [
        f"{package}/: {kind} coverage is {share:.2f} %, it must be {LEAST[kind]:.0f} %"
        for (package, kind), share in by_name.items()
        if share < LEAST[kind]
    ]


def _per_cent(covered: int, there: int) -> float:
    return 100 * covered / there if there else 0.0


def main(path: str) -> None:
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    for package in PACKAGES:
        shares = ", ".join(f"{kind} {share:.2f} %" for kind, share in reached(report, package).items())
        sys.stdout.write(f"coverage of {package}/: {shares}\n")
    if failed := complaints(report):
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
