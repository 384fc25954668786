"""Lists are in the order of creation, whatever the ids are and whichever process created the objects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Always, Key, Put
from api.main.container import DATABASE, build_container
from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, Workspace, served

MANY = 12


def pages(caller: httpx2.Client, path: str, **filters: str) -> Iterator[list[dict[str, Any]]]:
    """Of three items each."""
    url: str | None = str(httpx2.URL(path, params={"limit": "3", **filters}))
    while url:
        response = caller.get(url)
        assert response.status_code == 200, response.text
        yield response.json()
        link = response.headers.get("Link")
        url = link.partition("<")[2].partition(">")[0] if link else None


def ids(caller: httpx2.Client, path: str, **filters: str) -> list[str]:
    return [item["id"] for page in pages(caller, path, **filters) for item in page]


def test_keys_are_in_the_order_of_creation(any_workspace: Workspace) -> None:
    first = [key["id"] for key in any_workspace.admin.get(any_workspace.api_keys).json()]
    made = [any_workspace.make_key("read")["id"] for _ in range(MANY)]

    assert ids(any_workspace.admin, any_workspace.api_keys) == [*first, *made]
    assert ids(any_workspace.admin, any_workspace.api_keys, scope="read") == made


def test_workspaces_are_in_the_order_of_creation(any_plugboard: Plugboard) -> None:
    made = [any_plugboard.make_workspace(f"Ordered {number}").id for number in range(MANY)]

    assert [each for each in ids(any_plugboard.operator, "/api/workspaces") if each in made] == made
    assert ids(any_plugboard.operator, "/api/workspaces", q="ordered")[-MANY:] == made


def test_what_several_processes_create_is_in_one_order(workspace: Workspace) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(served(workspace.plugboard.settings)) for _ in range(2)]
        callers = [plugboard.caller(workspace.key) for plugboard in (workspace.plugboard, *others)]
        for path in (workspace.servers, workspace.agents, workspace.api_keys):
            before = set(ids(workspace.admin, path))
            made = [created(callers[number % 3], path)["id"] for number in range(MANY)]

            assert [each for each in ids(workspace.admin, path) if each not in before] == made


def created(caller: httpx2.Client, path: str) -> dict[str, Any]:
    bodies = {
        "mcp-servers": {"authType": "none", "url": "https://x.example.com"},
        "api-keys": {"scope": "read"},
    }
    response = caller.post(path, json={"name": "x"} | bodies.get(path.rpartition("/")[2], {}))
    assert response.status_code == 201
    return response.json()  # type: ignore[no-any-return]


def test_a_page_goes_on_after_an_object_that_was_deleted(workspace: Workspace) -> None:
    made = [workspace.make_key("read")["id"] for _ in range(6)]
    walk = pages(workspace.admin, workspace.api_keys)
    first = [key["id"] for key in next(walk)]
    for key_id in (first[-1], made[3]):
        workspace.admin.delete(f"{workspace.api_keys}/{key_id}")

    assert [key["id"] for page in walk for key in page] == [made[2], made[4], made[5]]


def test_objects_of_an_earlier_version_are_in_the_same_order(tmp_path: Path) -> None:
    """Its entries of workspaces have no time."""
    clock = StillClock()
    with served(Settings(data_dir=tmp_path), clock) as plugboard:
        made = []
        for number in range(MANY):
            clock.advance(1)
            made.append(plugboard.make_workspace(f"Workspace {number}").id)
        asyncio.run(without_times(tmp_path, made[::2]))

        assert ids(plugboard.operator, "/api/workspaces") == made
        assert ids(plugboard.operator, "/api/workspaces", q="workspace") == made


async def without_times(data_dir: Path, workspace_ids: list[str]) -> None:
    store = SqliteStore(data_dir / DATABASE)
    for workspace_id in workspace_ids:
        await store.write(Put(Key("WORKSPACES", workspace_id), {}, Always()))
    await store.close()


@pytest.mark.parametrize("path", ["/api/workspaces", "keys"])
def test_a_walk_that_an_earlier_version_began_goes_on_in_its_order(tmp_path: Path, path: str) -> None:
    """Its cursors have the last id, and its lists were in the order of ids."""
    settings = Settings(data_dir=tmp_path)
    with served(settings) as plugboard:
        workspaces = [plugboard.make_workspace() for _ in range(MANY)]
        for _ in range(MANY):
            workspaces[0].make_key("read")
        caller, path = (plugboard.operator, path) if path != "keys" else (workspaces[0].admin, workspaces[0].api_keys)
        in_order_of_ids = sorted(ids(caller, path))

        cursor = asyncio.run(cursor_after(settings, path, in_order_of_ids[4]))

        assert ids(caller, path, cursor=cursor) == in_order_of_ids[5:]


async def cursor_after(settings: Settings, path: str, last_id: str) -> str:
    parts = await build_container(settings)
    try:
        return parts.cursors.make(path, last_id)
    finally:
        await parts.close()
