import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools.coverage_gates import LEAST, complaints

GATES = Path(__file__).with_name("coverage_gates.py")


def summary(lines: int, branches: int) -> dict[str, Any]:
    return {
        "summary": {
            "covered_lines": lines,
            "num_statements": 1000,
            "covered_branches": branches,
            "num_branches": 100,
            "percent_covered": 12.5,
            "percent_covered_display": "12",
        }
    }


def report(**of_integrations: int) -> dict[str, Any]:
    values = {"lines": 950, "branches": 90} | of_integrations
    return {"files": {"api/a.py": summary(950, 90), "integrations/b.py": summary(**values)}}


def test_a_coverage_at_the_minimum_passes() -> None:
    assert complaints(report()) == []


@pytest.mark.parametrize(("kind", "value"), [("line", {"lines": 949}), ("branch", {"branches": 89})])
def test_a_package_below_its_minimum_is_named_with_its_figure(kind: str, value: dict[str, int]) -> None:
    assert complaints(report(**value)) == [
        f"integrations/: {kind} coverage is {94.9 if kind == 'line' else 89:.2f} %, it must be {LEAST[kind]:.0f} %"
    ]


def test_a_package_without_measurements_fails() -> None:
    assert len(complaints({"files": {"api/a.py": summary(1000, 100)}})) == 2


@pytest.mark.parametrize(("lines", "code"), [(950, 0), (949, 1)])
def test_the_exit_code_shows_the_result(tmp_path: Path, lines: int, code: int) -> None:
    path = tmp_path / "coverage.json"
    path.write_text(json.dumps(report(lines=lines)))

    run = subprocess.run([sys.executable, GATES, path], capture_output=True, text=True, check=False)

    assert run.returncode == code
    assert run.stdout.startswith("coverage of api/: line 95.00 %, branch 90.00 %\n")
