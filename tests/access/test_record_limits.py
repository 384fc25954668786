"""A workspace, and the installation, have at most as many records as the operator allows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.access.context import partition_of
from api.access.record_limits import AGAIN_AT_THE_LIMIT_SECONDS, AGAIN_SECONDS, CountedKind
from api.kit.storage.store import Always, Change, Delete, Key, Put
from api.main.container import build_container
from api.main.settings import InvalidSetting, Settings
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, Workspace, many_callers, served

BODIES: dict[str, dict[str, Any]] = {
    "mcp-servers": {"name": "x", "authType": "none", "url": "https://x.example.com"},
    "agents": {"name": "x"},
    "api-keys": {"name": "x", "scope": "read"},
}
KINDS = {
    "mcp-servers": CountedKind.SERVERS,
    "agents": CountedKind.AGENTS,
    "api-keys": CountedKind.API_KEYS,
}
COLLECTIONS = list(BODIES)
QUERIES = 'plugboard_store_seconds_count{operation="query",outcome="ok"'


def limited(settings: Settings, at_most: int, *kinds: CountedKind) -> Settings:
    limits = {kind: replace(limit, at_most=at_most) for kind, limit in settings.record_limits.items() if kind in kinds}
    return replace(settings, record_limits={**settings.record_limits, **limits})


@contextmanager
def serving_limited(
    workspace: Workspace, at_most: int, clock: StillClock | None = None
) -> Iterator[tuple[Plugboard, httpx2.Client]]:
    """Another process on the same store, and the admin's caller there."""
    with served(limited(workspace.plugboard.settings, at_most, *KINDS.values()), clock) as plugboard:
        yield plugboard, plugboard.caller(workspace.key)


def create(caller: httpx2.Client, workspace: Workspace, collection: str, **headers: str) -> httpx2.Response:
    return caller.post(f"{workspace.path}/{collection}", json=BODIES[collection], headers=headers)


def write(workspace: Workspace, *changes: Change) -> None:
    asyncio.run(_write(workspace.plugboard.settings, changes))


async def _write(settings: Settings, changes: Sequence[Change]) -> None:
    parts = await build_container(settings)
    await parts.store.write(*changes)
    await parts.close()


def counter(workspace: Workspace, collection: str) -> Key:
    return Key(partition_of(workspace.id), f"COUNT#{KINDS[collection]}")


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_one_more_than_the_limit_is_refused(any_workspace: Workspace, collection: str) -> None:
    with serving_limited(any_workspace, 3) as (_, admin):
        made = [create(admin, any_workspace, collection) for _ in range(3 - (collection == "api-keys"))]
        refused = create(admin, any_workspace, collection)

        assert {response.status_code for response in made} == {201}
        assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
        setting = admin_settings(collection)
        assert refused.json()["detail"].startswith("The workspace has 3 ")
        assert f"`{setting}`" in refused.json()["detail"]

        assert admin.delete(made[-1].headers["Location"]).status_code == 204
        assert create(admin, any_workspace, collection).status_code == 201
        assert create(admin, any_workspace, collection).status_code == 409


def admin_settings(collection: str) -> str:
    return Settings().record_limits[KINDS[collection]].setting


@pytest.mark.slow
@pytest.mark.parametrize("collection", COLLECTIONS)
def test_fifty_creates_at_once_in_two_processes_do_not_pass_the_limit(
    any_workspace: Workspace, collection: str
) -> None:
    first = limited(any_workspace.plugboard.settings, 10, *KINDS.values())
    with served(first) as one, served(first) as other:
        statuses = asyncio.run(creates(any_workspace, collection, [one.url, other.url]))

    listed = any_workspace.admin.get(f"{any_workspace.path}/{collection}").json()
    assert len(listed) == 10
    assert sorted(statuses) == [201] * (10 - (collection == "api-keys")) + [409] * (40 + (collection == "api-keys"))


async def creates(workspace: Workspace, collection: str, urls: Sequence[str]) -> list[int]:
    async with many_callers(urls[0], workspace.key) as one, many_callers(urls[1], workspace.key) as other:
        calls = [
            caller.post(f"{workspace.path}/{collection}", json=BODIES[collection])
            for caller in (one, other)
            for _ in range(25)
        ]
        return [response.status_code for response in await asyncio.gather(*calls)]


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_records_of_an_earlier_version_count(any_workspace: Workspace, collection: str) -> None:
    """It has stored no number."""
    for _ in range(4):
        assert create(any_workspace.admin, any_workspace, collection).status_code == 201
    write(any_workspace, Delete(counter(any_workspace, collection), Always()))

    with serving_limited(any_workspace, 6) as (_, admin):
        statuses = [create(admin, any_workspace, collection).status_code for _ in range(3)]

    assert statuses == ([201, 409, 409] if collection == "api-keys" else [201, 201, 409])


def test_a_deletion_is_counted_where_no_number_is_stored(any_workspace: Workspace) -> None:
    made = [any_workspace.make_agent()["id"] for _ in range(3)]
    write(any_workspace, Delete(counter(any_workspace, "agents"), Always()))

    with serving_limited(any_workspace, 3) as (_, admin):
        assert admin.delete(f"{any_workspace.agents}/{made[0]}").status_code == 204
        assert [create(admin, any_workspace, "agents").status_code for _ in range(2)] == [201, 409]


def test_what_an_earlier_version_deleted_makes_room(tmp_path: Path) -> None:
    """It runs beside this one during an upgrade, and does not count."""
    clock = StillClock()
    with served(limited(Settings(data_dir=tmp_path), 3, CountedKind.AGENTS), clock) as plugboard:
        workspace = plugboard.make_workspace()
        made = [workspace.make_agent()["id"] for _ in range(3)]
        assert create(workspace.admin, workspace, "agents").status_code == 409
        write(workspace, Delete(Key(partition_of(workspace.id), f"AGENT#{made[0]}"), Always()))

        clock.advance(AGAIN_AT_THE_LIMIT_SECONDS)

        assert create(workspace.admin, workspace, "agents").status_code == 201
        assert create(workspace.admin, workspace, "agents").status_code == 409


def test_what_an_earlier_version_created_counts_after_a_day(tmp_path: Path) -> None:
    clock = StillClock()
    with served(limited(Settings(data_dir=tmp_path), 3, CountedKind.AGENTS), clock) as plugboard:
        workspace = plugboard.make_workspace()
        workspace.make_agent()
        for number in range(2):
            write(workspace, Put(Key(partition_of(workspace.id), f"AGENT#old_{number}"), {}, Always()))

        clock.advance(AGAIN_SECONDS)

        assert create(workspace.admin, workspace, "agents").status_code == 409


def test_a_create_reads_one_number_and_no_list(workspace: Workspace) -> None:
    for collection in COLLECTIONS:
        create(workspace.admin, workspace, collection)  # counts
    before = queries(workspace.plugboard)

    for collection in COLLECTIONS:
        assert create(workspace.admin, workspace, collection).status_code == 201

    assert queries(workspace.plugboard) == before


def queries(plugboard: Plugboard) -> str:
    lines = plugboard.operator.get("/metrics").text.splitlines()
    (line,) = [line for line in lines if QUERIES in line]
    return line


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_repeated_create_has_its_first_response_at_the_limit(workspace: Workspace, collection: str) -> None:
    key = {"Idempotency-Key": "once"}
    with serving_limited(workspace, 2) as (_, admin):
        first = create(admin, workspace, collection, **key)
        create(admin, workspace, collection)

        again = create(admin, workspace, collection, **key)

        assert (again.status_code, again.json()) == (201, first.json())


def test_what_is_there_stays_when_a_limit_is_lowered(workspace: Workspace) -> None:
    made = [workspace.make_agent()["id"] for _ in range(4)]
    with serving_limited(workspace, 2) as (_, admin):
        assert [agent["id"] for agent in admin.get(workspace.agents).json()] == made
        assert admin.put(f"{workspace.agents}/{made[0]}", json={"name": "Changed"}).status_code == 200
        assert create(admin, workspace, "agents").status_code == 409


def test_another_workspace_has_its_own_number(workspace: Workspace) -> None:
    other = workspace.plugboard.make_workspace()
    with serving_limited(workspace, 2) as (plugboard, admin):
        for _ in range(3):
            create(admin, workspace, "agents")

        assert create(plugboard.caller(other.key), other, "agents").status_code == 201


def test_there_are_only_so_many_workspaces(tmp_path: Path) -> None:
    with served(limited(Settings(data_dir=tmp_path), 3, CountedKind.WORKSPACES)) as plugboard:
        made = [plugboard.make_workspace() for _ in range(3)]

        refused = plugboard.operator.post("/api/workspaces", json={"name": "x"})

        assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
        assert refused.json()["detail"].startswith("The installation has 3 workspaces")
        assert "`PLUGBOARD_MAX_WORKSPACES`" in refused.json()["detail"]
        assert made[0].admin.delete(made[0].path).status_code == 204
        plugboard.make_workspace()
        assert plugboard.operator.post("/api/workspaces", json={"name": "x"}).status_code == 409


def test_many_workspaces_at_once_do_not_pass_the_limit(tmp_path: Path) -> None:
    with served(limited(Settings(data_dir=tmp_path), 5, CountedKind.WORKSPACES)) as plugboard:
        statuses = asyncio.run(make_workspaces(plugboard, 20))

        assert sorted(statuses) == [201] * 5 + [409] * 15
        assert len(plugboard.operator.get("/api/workspaces").json()) == 5


async def make_workspaces(plugboard: Plugboard, number: int) -> list[int]:
    async with many_callers(plugboard.url, plugboard.operator_key) as operator:
        calls = [operator.post("/api/workspaces", json={"name": "x"}) for _ in range(number)]
        return [response.status_code for response in await asyncio.gather(*calls)]


def test_the_operator_sets_the_limits() -> None:
    usual = Settings().record_limits
    given = {limit.setting: str(number) for number, limit in enumerate(usual.values(), start=7)}

    limits = Settings.from_environment(given).record_limits

    assert {limit.setting: str(limit.at_most) for limit in limits.values()} == given
    assert Settings.from_environment({}).record_limits == usual
    with pytest.raises(InvalidSetting, match="PLUGBOARD_MAX_SERVERS: must be a whole number from 1"):
        Settings.from_environment({"PLUGBOARD_MAX_SERVERS": "0"})
