"""A killed process: every acknowledged write is stored completely."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.access.context import partition_of
from api.kit.storage.store import Item
from api.main.container import build_container
from api.main.settings import Settings
from tests.conftest import ROOT_KEY
from tests.e2e.process import Process, first_workspace, serving
from tests.fakes.postgres import PostgresServer
from tests.harness import WEATHER, many_callers

WRITERS, KILLED_AFTER = 8, 60


class ConcurrentWriters:
    """Writers that create servers and agents until the process is gone."""

    def __init__(self, process: Process, path: str, key: str) -> None:
        self._process = process
        self._path = path
        self._key = key
        self.acknowledged: list[dict[str, Any]] = []

    async def rage(self) -> None:
        async with many_callers(self._process.url, self._key) as callers:
            await asyncio.gather(*(self._write(callers, number) for number in range(WRITERS)))

    async def _write(self, callers: httpx2.AsyncClient, number: int) -> None:
        try:
            while True:
                server = await self._post(callers, "mcp-servers", WEATHER | {"name": f"storm {number}"})
                await self._post(callers, "agents", {"name": "storm", "enabledMcpServerIds": [server["id"]]})
        except httpx2.TransportError:
            pass  # killed

    async def _post(self, callers: httpx2.AsyncClient, kind: str, body: object) -> dict[str, Any]:
        response = await callers.post(f"{self._path}/{kind}", json=body)
        assert response.status_code == 201, response.text
        created: dict[str, Any] = response.json()
        self.acknowledged.append(created)
        if len(self.acknowledged) == KILLED_AFTER:
            self._process.popen.kill()
        return created


async def stored(settings: Settings, workspace_id: str) -> tuple[list[Item], list[Item]]:
    parts = await build_container(settings)
    try:
        items = await parts.store.query(partition_of(workspace_id), limit=100_000)
        workspace = next(item for item in items if item.key.sk == "META")
        month = workspace.data["created_at"][:7]
        return items, await parts.store.query(f"AUDIT#{workspace_id}#{month}", limit=100_000)
    finally:
        await parts.close()


def ids_with_prefix(items: Sequence[Item], prefix: str) -> set[str]:
    return {item.key.sk.removeprefix(prefix) for item in items if item.key.sk.startswith(prefix)}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def variables(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment of the process that is killed."""
    data = {"PLUGBOARD_DATA_DIR": str(tmp_path / "var")}
    if request.param == "sqlite":
        return data
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.url_of(server.make_database())
    return data | {"PLUGBOARD_STORE": "postgres", "PLUGBOARD_POSTGRES_URL": url, "PLUGBOARD_ROOT_KEY": ROOT_KEY}


@pytest.mark.requirement("REL-02", "REL-07", "REL-20")
def test_acknowledged_writes_survive_a_kill_and_none_is_partial(tmp_path: Path, variables: dict[str, str]) -> None:
    data, acknowledged = tmp_path / "var", []
    workspace_id, key = first_workspace(data, **variables)
    for _ in range(3):
        with serving(data, **variables) as process:
            storm = ConcurrentWriters(process, f"/api/workspaces/{workspace_id}", key)
            asyncio.run(storm.rage())
            process.wait_for_exit()
        acknowledged += storm.acknowledged

    items, trail = asyncio.run(stored(Settings.from_environment(variables), workspace_id))
    servers = {item.data["id"]: item for item in items if item.key.sk.startswith("SERVER#")}
    agents = {item.data["id"]: item for item in items if item.key.sk.startswith("AGENT#")}
    claims = {
        item.key.sk.removeprefix("SLUG#"): item.data["server"] for item in items if item.key.sk.startswith("SLUG#")
    }

    assert len(acknowledged) >= 3 * KILLED_AFTER
    assert {created["id"] for created in acknowledged} <= servers.keys() | agents.keys()
    assert claims == {item.data["slug"]: server_id for server_id, item in servers.items()}
    assert all(item.data["sealed"].keys() == {"headerValue"} for item in servers.values())
    uses = {f"{server}#{agent}" for agent, item in agents.items() for server in item.data["enabled_mcp_server_ids"]}
    assert ids_with_prefix(items, "USE#") == uses
    texts = [
        record.data["target_id"] for record in trail if record.data["action"] in ("server.created", "agent.created")
    ]
    assert sorted(texts) == sorted([*servers, *agents])
