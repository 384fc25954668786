"""Tool calls in the audit trail: for admins, in order, page by page."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.audit.call_log import CallLog
from api.audit.call_packing import SPAN_SECONDS
from api.audit.events import Outcome, ToolCallRecord
from api.audit.repository import AuditRecord, AuditRepository, RecordKind, add_record
from api.kit.clock import SystemClock, rfc3339
from api.kit.ids import random_text
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Store
from api.main.container import build_container
from api.toolbox.output.tool_result import FailureKind
from tests.audit.test_call_packing import CALL
from tests.harness import Workspace, error_paths

CHANGE = AuditRecord("", "server.updated", "server", "server_1", "Weather API", "api_key", "key_1", "CI", "")
TOOL_NAMES = ("get_weather", "mcp_weather_get_weather", "mcp_rain_today", "mcp_weather_get")
DAY = 24 * 3600.0
A_MILLISECOND = 0.002  # in which order two are that are closer is chance; once more for the rounding
ABOUT_A_MONTHS_END = 1_801_440_000.0  # 2027-02-01


def record_calls(workspace: Workspace, calls: Sequence[ToolCallRecord]) -> None:
    """As another process would."""

    async def note() -> None:
        parts = await build_container(workspace.plugboard.settings)
        for call in calls:
            parts.runtime.call_log.add(call)
        await parts.close()

    asyncio.run(note())


def tool_call(workspace: Workspace, number: int = 0, **changed: Any) -> ToolCallRecord:
    at = SystemClock().now() + number / 1000
    return CALL._replace(workspace_id=workspace.id, at=at, request_id=f"request-{number}")._replace(**changed)


def all_pages(workspace: Workspace, query: str) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    url: str | None = f"{workspace.audit}?{query}"
    while url:
        response = workspace.admin.get(url)
        assert response.status_code == 200, response.text
        results += response.json()
        link = response.headers.get("Link")
        url = link.partition("<")[2].partition(">")[0] if link else None
    return results


@pytest.mark.requirement("AUD-01", "AUD-04")
def test_a_call_is_listed_with_actor_tool_and_outcome(any_workspace: Workspace) -> None:
    call = tool_call(any_workspace, outcome="timeout", milliseconds=30_000)
    record_calls(any_workspace, [call])

    record = any_workspace.admin.get(any_workspace.audit).json()[0]

    assert record == {
        "id": record["id"],
        "at": rfc3339(round(call.at, 3)),
        "action": "tool.called",
        "target": {"type": "server", "id": call.server_id, "name": "Weather API"},
        "actor": {"type": "api_key", "id": call.actor_id, "name": "CI"},
        "fields": [],
        "requestId": "request-0",
        "agentId": call.agent_id,
        "tool": "get_weather",
        "outcome": "timeout",
        "milliseconds": 30_000,
    }
    assert len(record["id"]) <= 40


def test_calls_are_found_by_the_name_that_agents_use(workspace: Workspace) -> None:
    record_calls(workspace, [tool_call(workspace, 1), tool_call(workspace, 2, tool="mcp_rain_today")])

    found = {tool: [record["tool"] for record in all_pages(workspace, f"tool={tool}")] for tool in TOOL_NAMES}

    assert found == {
        "get_weather": ["get_weather"],
        "mcp_weather_get_weather": ["get_weather"],
        "mcp_rain_today": ["mcp_rain_today"],
        "mcp_weather_get": [],
    }


def test_calls_are_found_by_each_outcome(workspace: Workspace) -> None:
    record_calls(workspace, [tool_call(workspace, number, outcome=each) for number, each in enumerate(Outcome)])

    for each in Outcome:
        assert [record["outcome"] for record in all_pages(workspace, f"outcome={each}")] == [each]


def test_each_kind_of_failure_is_an_outcome() -> None:
    assert {kind.value for kind in FailureKind} < {outcome.value for outcome in Outcome}


def test_records_of_changes_omit_the_fields_of_calls(workspace: Workspace) -> None:
    (record, *_) = workspace.admin.get(workspace.audit).json()

    assert record.keys() == {"id", "at", "action", "target", "actor", "fields", "requestId", "clientAddress"}


def test_a_page_may_begin_inside_a_batch(any_workspace: Workspace) -> None:
    record_calls(any_workspace, [tool_call(any_workspace, number) for number in range(110)])
    any_workspace.make_agent()

    for query in ("limit=7", "limit=100", "limit=7&kind=calls"):
        records = all_pages(any_workspace, query)
        assert [record["requestId"] for record in records if record["action"] == "tool.called"] == [
            f"request-{number}" for number in reversed(range(110))
        ]
        assert len({record["id"] for record in records}) == len(records)


def test_single_calls_are_paged_like_batches(any_workspace: Workspace) -> None:
    now = SystemClock().now()
    record_calls(any_workspace, [tool_call(any_workspace, number, at=now + 2 * number) for number in range(40)])

    for limit in (6, 30, 100):
        records = all_pages(any_workspace, f"limit={limit}&kind=calls")
        assert [record["requestId"] for record in records] == [f"request-{number}" for number in reversed(range(40))]


def test_changes_and_calls_can_be_listed_separately(workspace: Workspace) -> None:
    record_calls(workspace, [tool_call(workspace, number) for number in range(5)])

    def actions(query: str) -> set[str]:
        return {record["action"] for record in workspace.admin.get(f"{workspace.audit}?{query}").json()}

    assert actions("kind=calls") == {"tool.called"}
    assert actions("kind=config") == {"workspace.created", "api_key.created"}
    assert actions("limit=100") == {"tool.called", "workspace.created", "api_key.created"}
    assert error_paths(workspace.admin.get(f"{workspace.audit}?kind=call")) == ["kind"]


def test_another_workspace_cannot_see_the_calls(workspace: Workspace) -> None:
    other = workspace.plugboard.make_workspace("Globex")
    record_calls(workspace, [tool_call(workspace), tool_call(other, tool="of_the_other")])

    assert "of_the_other" not in workspace.admin.get(workspace.audit).text
    assert "of_the_other" in other.admin.get(other.audit).text


def test_a_stopping_process_writes_its_pending_records(workspace: Workspace) -> None:
    """`noted` ends right after the note, long before it would be time to write."""
    record_calls(workspace, [tool_call(workspace)])

    assert len(all_pages(workspace, "kind=calls")) == 1


@pytest.fixture(scope="module")
def a_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trail")


# What happened, in any order: a change, or some calls in the same moment; some days before or after a month's end.
MOMENTS = st.sampled_from([-40.0, -0.000_001, 0.0, 0.000_001, 31.0])
HAPPENED = st.lists(st.tuples(MOMENTS, st.sampled_from([0, 0, 1, 5, 120])), max_size=6)


@settings(max_examples=30, deadline=None)
@given(
    HAPPENED,
    st.integers(3, 60),
    st.sampled_from([[RecordKind.CONFIG], [RecordKind.CALLS], list(RecordKind)]),
    st.integers(0, 2**32),
)
def test_paging_lists_every_record_once_and_in_one_order(
    a_folder: Path, happened: list[tuple[float, int]], limit: int, kinds: list[RecordKind], seed: int
) -> None:
    workspace_id = f"ws_{random_text()}"

    async def read() -> tuple[set[str], list[AuditRecord]]:
        store = SqliteStore(a_folder / "trail.db")
        try:
            written = await write_all(store, workspace_id, happened, random.Random(seed), kinds)
            return written, await read_all(AuditRepository(store, workspace_id), limit, kinds)
        finally:
            await store.close()

    written, found_records = asyncio.run(read())

    assert len(found_records) == len(written)
    assert {record.request_id for record in found_records} == written
    assert [record.id for record in found_records] == sorted((record.id for record in found_records), reverse=True)
    times = [datetime.fromisoformat(record.at).timestamp() for record in found_records]
    assert all(older <= newer + SPAN_SECONDS + A_MILLISECOND for newer, older in pairwise(times))


async def write_all(
    store: Store, workspace_id: str, happened: list[tuple[float, int]], chance: random.Random, kinds: list[RecordKind]
) -> set[str]:
    """The request ids of those that are asked for."""
    calls, written = CallLog(store, every_seconds=0.0), set()
    for number, (days, how_many) in enumerate(happened):
        at = ABOUT_A_MONTHS_END + days * DAY
        if how_many == 0:
            change = replace(CHANGE, at=rfc3339(at), request_id=f"{number}")
            await store.write(add_record(workspace_id, change, at, 0))
            written |= {f"{number}"} if RecordKind.CONFIG in kinds else set()
        for each in range(how_many):
            then = at + chance.random() * 1.5
            calls.add(CALL._replace(at=then, workspace_id=workspace_id, request_id=f"{number}-{each}"))
            written |= {f"{number}-{each}"} if RecordKind.CALLS in kinds else set()
        if chance.random() < 0.5:
            await asyncio.sleep(0)
    await calls.finish()
    return written


async def read_all(records: AuditRepository, limit: int, kinds: list[RecordKind]) -> list[AuditRecord]:
    now, since = ABOUT_A_MONTHS_END + 60 * DAY, "2026-12"
    notes: list[AuditRecord] = []
    while page := await records.page(limit, notes[-1].id if notes else None, now, since, kinds):
        assert len(page) <= limit
        notes += page
    return notes
