"""The audit trail is kept for as long as the operator sets, and then deleted by the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api.audit.repository import USUAL_DAYS
from api.kit.storage.sqlite import SWEEP_EVERY_SECONDS
from api.main.container import DATABASE
from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.harness import Workspace, served

DAY = 24 * 3600.0
KEPT_DAYS = 30


@pytest.fixture
def clock() -> StillClock:
    return StillClock(datetime(2026, 11, 20, tzinfo=UTC).timestamp())


@pytest.fixture
def timed(tmp_path: Path, clock: StillClock) -> Iterator[Workspace]:
    with served(Settings(data_dir=tmp_path, audit_days=KEPT_DAYS), clock) as plugboard:
        yield plugboard.make_workspace()


def trail(workspace: Workspace, kind: str = "config") -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = workspace.admin.get(workspace.audit, params={"limit": 100, "kind": kind}).json()
    return records


def names(workspace: Workspace) -> set[str]:
    return {record["target"]["name"] for record in trail(workspace)}


def stored(tmp_path: Path) -> int:
    connection = sqlite3.connect(tmp_path / DATABASE)
    try:
        (number,) = connection.execute("SELECT COUNT(*) FROM items WHERE pk LIKE 'AUDIT#%'").fetchone()
    finally:
        connection.close()
    return int(number)


def test_records_of_changes_are_kept_for_the_days_that_are_set(timed: Workspace, clock: StillClock) -> None:
    timed.make_agent(name="Early")
    clock.advance(DAY)
    timed.make_agent(name="Later")

    clock.advance((KEPT_DAYS - 1) * DAY - 1)
    assert {"Early", "Later"} < names(timed)
    clock.advance(1)
    assert names(timed) == {"Later"}


def test_records_of_calls_are_kept_as_long(timed: Workspace, clock: StillClock) -> None:
    agent = timed.make_agent(enabledMcpServerIds=[timed.make_silent_server()["id"]])["id"]
    tool = {"toolName": "mcp_weather-api_forecast", "args": {}}
    timed.admin.post(f"{timed.agents}/{agent}/tool-calls", json=tool)
    while not trail(timed, "calls"):
        pass  # it is written within a second

    clock.advance(KEPT_DAYS * DAY - 1)
    assert len(trail(timed, "calls")) == 1
    clock.advance(2)
    assert trail(timed, "calls") == []


def test_what_is_no_longer_kept_is_deleted(timed: Workspace, clock: StillClock, tmp_path: Path) -> None:
    for _ in range(10):
        timed.make_agent()
    before = stored(tmp_path)

    clock.advance(KEPT_DAYS * DAY + SWEEP_EVERY_SECONDS)
    timed.make_agent()

    assert before >= 10
    assert stored(tmp_path) == 1


def test_records_are_kept_for_more_than_a_year_by_default() -> None:
    assert Settings().audit_days == Settings.from_environment({}).audit_days == USUAL_DAYS == 400
    assert Settings.from_environment({"PLUGBOARD_AUDIT_DAYS": "7"}).audit_days == 7
