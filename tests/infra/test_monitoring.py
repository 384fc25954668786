"""The dashboard and the alert rules ask for metrics that exist, with labels that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.documents import guide
from tests.harness import Workspace

MONITORING = Path(__file__).parents[2] / "infra" / "monitoring"
RULES = MONITORING / "alerts.yaml"
METRIC = re.compile(r"\b(?:plugboard|process)_\w+")
MATCHED = re.compile(r"(\b\w+)\{([^}]*)\}")
GROUPED = re.compile(r"by \(([^)]*)\)")
OF_PROMETHEUS = {"instance", "job", "exported_job", "le"}
"""`exported_job` is our `job`, which Prometheus renames because it has one of its own."""


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((MONITORING / "grafana-dashboard.json").read_text())["panels"]
    return found


def expressions() -> Iterator[tuple[str, str]]:
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


@pytest.fixture
def shown(workspace: Workspace) -> dict[str, set[str]]:
    """The names of all series of a Plugboard in use, with their labels."""
    workspace.admin.get("/healthz")
    text = workspace.plugboard.operator.get("/metrics").text
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
        for suffix, names in SERIES_OF_TYPES.get(family.type, {}).items():
            labels.setdefault(f"{family.name}{suffix}", set()).update(names)
    return labels


SERIES_OF_TYPES: dict[str, dict[str, set[str]]] = {
    "counter": {"_total": set()},
    "histogram": {"_bucket": {"le"}, "_count": set(), "_sum": set()},
    "gauge": {"": set()},
}
"""What Prometheus gets of a metric as soon as there is a value."""
LABELS = {
    "plugboard_tool_calls_total": {"service", "outcome"},
    "plugboard_tool_call_seconds_bucket": {"service", "le"},
    "plugboard_job_last_success_timestamp_seconds": {"job"},
}
"""Of metrics that have no value until a tool is called."""


@pytest.mark.parametrize(("title", "expression"), list(expressions()), ids=lambda text: text[:40])
def test_an_expression_names_existing_metrics_and_labels(
    title: str, expression: str, shown: dict[str, set[str]]
) -> None:
    named = set(METRIC.findall(expression))

    assert named or expression.startswith("up{"), title
    assert named <= shown.keys()
    labels = set().union(*(shown[name] | LABELS.get(name, set()) for name in named)) | OF_PROMETHEUS
    grouped = {label.strip() for labels in GROUPED.findall(expression) for label in labels.split(",")}
    matched = {part.split("=")[0].strip() for _, parts in MATCHED.findall(expression) for part in parts.split(",")}
    assert (grouped | {label.rstrip("!") for label in matched}) <= labels


def test_the_metrics_of_alarm_have_a_rule() -> None:
    """What the guide says to raise an alarm on."""
    alarms = [name for name, text in guide("operating").table("Metrics") if "alarm" in text]
    asked = " ".join(rule["expr"] for rule in rules())

    assert alarms
    assert all(name.strip("`") in asked for name in alarms)


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()]

    assert len({panel["id"] for panel in panels()}) == len(panels())
    assert len(set(places)) == len(places)


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (Debian: prometheus)")
def test_prometheus_takes_the_rules() -> None:
    checked = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stderr
