"""The audit trail: one record for every change, without values."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.kit.clock import rfc3339
from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.harness import Workspace, many_callers, served

DAY = 24 * 3600.0


@pytest.fixture
def clock() -> StillClock:
    return StillClock(datetime(2026, 11, 20, tzinfo=UTC).timestamp())


@pytest.fixture
def timed(tmp_path: Path, clock: StillClock) -> Iterator[Workspace]:
    with served(Settings(data_dir=tmp_path), clock) as plugboard:
        yield plugboard.make_workspace()


def trail(workspace: Workspace) -> list[dict[str, Any]]:
    response = workspace.admin.get(workspace.audit, params={"limit": 100})
    assert response.status_code == 200, response.text
    records: list[dict[str, Any]] = response.json()
    return records


def newest(workspace: Workspace) -> dict[str, Any]:
    return trail(workspace)[0]


@pytest.mark.requirement("AUD-01")
def test_every_change_is_listed_once_and_newest_first(any_workspace: Workspace) -> None:
    admin = any_workspace.admin
    server, agent, key = any_workspace.make_server(), any_workspace.make_agent(), any_workspace.make_key("read")
    admin.put(f"{any_workspace.servers}/{server['id']}", json={"name": "Weather"})
    admin.put(f"{any_workspace.agents}/{agent['id']}", json={"enabledMcpServerIds": [server["id"]]})
    admin.put(any_workspace.path, json={"name": "Acme Corp"})
    admin.delete(f"{any_workspace.api_keys}/{key['id']}")
    admin.delete(f"{any_workspace.servers}/{server['id']}", params={"detach": "true"})
    admin.delete(f"{any_workspace.agents}/{agent['id']}")

    records = trail(any_workspace)

    actions = [record["action"] for record in records]
    assert actions[0] == "agent.deleted"
    assert set(actions[1:3]) == {"server.deleted", "agent.updated"}  # in one write
    assert actions[3:-2] == [
        "api_key.revoked",
        "workspace.updated",
        "agent.updated",
        "server.updated",
        "api_key.created",
        "agent.created",
        "server.created",
    ]
    assert set(actions[-2:]) == {"workspace.created", "api_key.created"}
    assert records[0]["target"] == {"type": "agent", "id": agent["id"], "name": "Support"}
    assert [record["at"] for record in records] == sorted((record["at"] for record in records), reverse=True)
    assert len({record["id"] for record in records}) == len(records)


@pytest.mark.requirement("AUD-01")
def test_a_record_names_actor_target_and_request(workspace: Workspace) -> None:
    api_key = workspace.make_key("manage", name="The deployer")
    response = workspace.plugboard.caller(api_key["apiKey"]).post(workspace.agents, json={"name": "Support"})

    record = newest(workspace)

    assert record == {
        "id": record["id"],
        "at": record["at"],
        "action": "agent.created",
        "target": {"type": "agent", "id": response.json()["id"], "name": "Support"},
        "actor": {"type": "api_key", "id": api_key["id"], "name": "The deployer"},
        "fields": [],
        "requestId": response.headers["X-Request-Id"],
        "clientAddress": "127.0.0.1",
    }


@pytest.mark.requirement("AUD-01")
def test_the_clients_request_id_is_in_the_record(workspace: Workspace) -> None:
    workspace.admin.post(workspace.agents, json={"name": "a"}, headers={"X-Request-Id": "deploy-2026.11_20"})

    assert newest(workspace)["requestId"] == "deploy-2026.11_20"


@pytest.mark.requirement("AUD-01")
def test_the_creation_of_a_workspace_is_recorded_as_an_operators(workspace: Workspace) -> None:
    beginning = trail(workspace)

    assert {record["actor"]["type"] for record in beginning} == {"operator"}
    assert {record["target"]["type"] for record in beginning} == {"workspace", "api_key"}


@pytest.mark.requirement("AUD-01", "AUD-04")
def test_a_record_names_the_changed_fields_but_no_values(workspace: Workspace) -> None:
    server = workspace.make_server()
    path = f"{workspace.servers}/{server['id']}"
    workspace.admin.put(path, json={"name": "New", "timeoutSeconds": 7, "config": {"headers": {"X-A": "canary-a"}}})
    changed = newest(workspace)

    assert set(changed["fields"]) == {"name", "timeoutSeconds", "config.headers"}
    workspace.admin.put(path, json={"name": "New"})
    assert newest(workspace) == changed
    assert "canary" not in workspace.admin.get(workspace.audit).text


@pytest.mark.requirement("AUD-01")
def test_a_refused_request_leaves_no_record(workspace: Workspace) -> None:
    server = workspace.make_server(slug="taken")
    before = trail(workspace)
    path = f"{workspace.servers}/{server['id']}"
    responses: list[httpx2.Response] = [
        workspace.admin.post(workspace.servers, json={"name": "x"}),
        workspace.admin.put(path, json={"name": "x"}, headers={"If-Match": '"7"'}),
        workspace.admin.delete(path, headers={"If-Match": '"7"'}),
        workspace.admin.put(workspace.path, json={"name": "x"}, headers={"If-Match": '"7"'}),
        workspace.admin.post(
            workspace.servers, json={"name": "x", "slug": "taken", "authType": "none", "url": "https://x.example.com"}
        ),
        workspace.caller("read").put(path, json={"name": "x"}),
    ]

    assert {response.status_code for response in responses} == {422, 412, 409, 403}
    assert [item for item in trail(workspace) if item["action"] != "api_key.created"] == [
        item for item in before if item["action"] != "api_key.created"
    ]


@pytest.mark.requirement("AUD-01")
async def test_writes_that_lose_a_race_leave_one_record_each(any_workspace: Workspace) -> None:
    server = any_workspace.make_server()
    path = f"{any_workspace.servers}/{server['id']}"
    async with many_callers(any_workspace.plugboard.url, any_workspace.key) as callers:
        sent = [callers.put(path, json={"name": f"n{number}"}, headers={"If-Match": '"1"'}) for number in range(20)]
        responses = await asyncio.gather(*sent)

    statuses = [response.status_code for response in responses]
    assert sorted(statuses) == [200] + [412] * 19
    texts = [record for record in trail(any_workspace) if record["action"] == "server.updated"]
    winner = responses[statuses.index(200)]
    assert [record["requestId"] for record in texts] == [winner.headers["X-Request-Id"]]


@pytest.mark.requirement("AUD-01")
def test_the_trail_is_paged_over_months(timed: Workspace, clock: StillClock) -> None:
    for number in range(12):
        clock.advance(11 * DAY)
        timed.make_agent(name=f"agent {number}")
    clock.advance(100 * DAY)  # months in which nothing happened

    records: list[dict[str, Any]] = []
    url: str | None = f"{timed.audit}?limit=4"
    while url:
        response = timed.admin.get(url)
        records += response.json()
        link = response.headers.get("Link")
        assert len(response.json()) <= 4
        url = link.partition("<")[2].partition(">")[0] if link else None

    assert [record["target"]["name"] for record in records[:12]] == [
        f"agent {number}" for number in reversed(range(12))
    ]
    assert len(records) == 14
    assert len({record["at"][:7] for record in records}) == 6
    assert {record["action"] for record in records[12:]} == {"workspace.created", "api_key.created"}


def test_a_page_that_ends_with_a_month_leads_to_the_next(timed: Workspace, clock: StillClock) -> None:
    clock.advance(40 * DAY)
    for number in range(2):
        timed.make_agent(name=f"agent {number}")

    first = timed.admin.get(timed.audit, params={"limit": 2})
    second = timed.admin.get(first.headers["Link"].partition("<")[2].partition(">")[0])

    assert {record["target"]["name"] for record in first.json()} == {"agent 0", "agent 1"}  # of one millisecond
    assert {record["action"] for record in second.json()} == {"workspace.created", "api_key.created"}
    assert "Link" not in second.headers


def test_records_carry_the_time_of_their_change(timed: Workspace, clock: StillClock) -> None:
    clock.advance(5 * DAY)
    timed.make_agent()

    assert newest(timed)["at"] == rfc3339(clock.now())
