"""A deleted workspace is gone: for its keys at once, for its secrets in every backup, and soon from the table."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.access.context import partition_of
from api.kit.clock import SystemClock
from api.kit.crypto.data_keys import NoDataKey
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.vault import Sealed, SecretLocation
from api.kit.jobs import BackgroundJobs
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Always, Change, Delete, Item, Key, Put, StoreUnavailable
from api.main.container import Container, build_container
from api.servers.credential_binding import unbind_credential
from api.workspaces.purge import WorkspacePurge
from api.workspaces.repository import DELETED, WorkspaceDirectory
from tests.harness import Plugboard, Workspace, many_callers, served

LEFT = "ws_00000000000000000000"
ENTRY = {"name": "x", "authType": "none", "url": "https://x.example.com"}


async def everything(parts: Container, partition: str) -> list[Item]:
    return await parts.store.query(partition, limit=1000)


async def cleared(parts: Container, workspace_id: str) -> None:
    """What the job in the background does, to its end."""
    await WorkspaceDirectory(parts.store).purge(workspace_id)


def statuses(callers: Sequence[httpx2.Client], path: str) -> list[int]:
    return [caller.get(path).status_code for caller in callers]


@pytest.mark.requirement("AUT-04")
def test_every_key_of_a_deleted_workspace_is_refused_at_once_in_every_process(any_workspace: Workspace) -> None:
    keys = [any_workspace.key, *(any_workspace.make_key(scope)["apiKey"] for scope in ("manage", "read", "admin"))]
    with served(any_workspace.plugboard.settings) as second:
        callers = [plugboard.caller(key) for plugboard in (any_workspace.plugboard, second) for key in keys]
        assert statuses(callers, any_workspace.servers) == [200] * 8

        gone = any_workspace.admin.delete(any_workspace.path)

        assert (gone.status_code, gone.content) == (204, b"")
        assert statuses(callers, any_workspace.servers) == [401] * 8
        assert statuses(callers, any_workspace.path) == [401] * 8


def test_an_operator_can_delete_a_workspace(workspace: Workspace) -> None:
    operator = workspace.plugboard.operator

    assert operator.delete(workspace.path, headers={"If-Match": '"2"'}).status_code == 412
    assert operator.delete(workspace.path, headers={"If-Match": '"1"'}).status_code == 204
    assert operator.delete(workspace.path).status_code == 404
    assert workspace.admin.get(workspace.path).status_code == 401
    assert workspace.id not in [item["id"] for item in operator.get("/api/workspaces?limit=100").json()]


@pytest.mark.requirement("ENC-11")
async def test_no_backup_of_a_deleted_workspace_can_be_opened(any_workspace: Workspace) -> None:
    server = any_workspace.make_server()
    partition, sk = partition_of(any_workspace.id), f"SERVER#{server['id']}"
    parts = await build_container(any_workspace.plugboard.settings)
    try:
        backup = await everything(parts, partition)
        (sealed,) = [Sealed.parse(item.data["sealed"]["headerValue"]) for item in backup if item.key.sk == sk]
        place = SecretLocation(sk, "headerValue")
        entered_for, value = unbind_credential(await parts.vault.unseal(partition, place, sealed))
        assert entered_for == "header external https://api.weather.example.com:443"
        assert value.reveal_text() == "Bearer canary-weather"

        assert any_workspace.admin.delete(any_workspace.path).status_code == 204

        assert not [item for item in await everything(parts, partition) if item.key.sk.startswith("DATAKEY")]
        another_process = await build_container(any_workspace.plugboard.settings)
        with pytest.raises((NoDataKey, CannotOpen)):
            await another_process.vault.unseal(partition, place, sealed)
        await cleared(parts, any_workspace.id)
        items = [item for item in backup if not item.key.sk.startswith("DATAKEY")]
        await parts.store.write(*(Put(item.key, item.data, Always()) for item in items))  # the backup is put back
        with pytest.raises((NoDataKey, CannotOpen)):
            await another_process.vault.unseal(partition, place, sealed)
        await another_process.close()
    finally:
        await parts.close()


async def test_a_deleted_workspace_is_purged_and_its_audit_trail_stays(any_workspace: Workspace) -> None:
    keys = [any_workspace.make_key("read") for _ in range(30)]
    server = any_workspace.make_server()
    for _ in range(20):
        any_workspace.make_agent(enabledMcpServerIds=[server["id"]])
    any_workspace.admin.post(any_workspace.servers, json=ENTRY, headers={"Idempotency-Key": "kept"})
    any_workspace.plugboard.caller(keys[0]["apiKey"]).get(any_workspace.servers)

    assert any_workspace.admin.delete(any_workspace.path).status_code == 204

    parts = await build_container(any_workspace.plugboard.settings)
    try:
        await cleared(parts, any_workspace.id)
        assert await everything(parts, partition_of(any_workspace.id)) == []
        lookups = [Key(f"APIKEY#{key['id']}", "OWNER") for key in keys]
        assert await parts.store.get_many([*lookups, Key(DELETED, any_workspace.id)]) == {}
        assert await parts.store.get(Key("WORKSPACES", any_workspace.id)) is None
        month = keys[0]["createdAt"][:7]
        trail = await parts.store.query(f"AUDIT#{any_workspace.id}#{month}", limit=1000)
        assert [item.data["action"] for item in trail].count("workspace.deleted") == 1
    finally:
        await parts.close()


def test_a_new_process_continues_an_unfinished_purge(workspace: Workspace) -> None:
    """The store as it is when the process was killed right after the delete."""
    left, deleted = Key(partition_of(LEFT), "SERVER#left"), Key(DELETED, LEFT)

    async def found(*changes: Put) -> set[Key]:
        parts = await build_container(workspace.plugboard.settings)
        try:
            if changes:
                await parts.store.write(*changes)
            return set(await parts.store.get_many([left, deleted]))
        finally:
            await parts.close()

    assert asyncio.run(found(Put(left, {}, Always()), Put(deleted, {}, Always()))) == {left, deleted}

    with served(workspace.plugboard.settings):
        assert any(not asyncio.run(found()) for _ in range(100))


async def test_writes_during_a_deletion_leave_nothing_half_created(any_workspace: Workspace) -> None:
    async with many_callers(any_workspace.plugboard.url, any_workspace.key) as callers:
        writes = [callers.post(any_workspace.servers, json=ENTRY) for _ in range(15)]
        writes += [callers.post(any_workspace.api_keys, json={"name": "k", "scope": "read"}) for _ in range(15)]
        deletes = [callers.delete(any_workspace.path) for _ in range(2)]
        responses = await asyncio.gather(*writes[:10], *deletes, *writes[10:])

    assert {response.status_code for response in responses} <= {201, 204, 401, 404}
    assert [response.status_code for response in responses].count(204) == 1
    parts = await build_container(any_workspace.plugboard.settings)
    try:
        await cleared(parts, any_workspace.id)
        assert await everything(parts, partition_of(any_workspace.id)) == []
        created = [response.json()["id"] for response in responses if "apiKey" in response.text]
        assert await parts.store.get_many([Key(f"APIKEY#{key_id}", "OWNER") for key_id in created]) == {}
    finally:
        await parts.close()


def test_deleting_one_workspace_touches_no_other(plugboard: Plugboard) -> None:
    gone, stays = plugboard.make_workspace("Gone"), plugboard.make_workspace("Stays")
    server = stays.make_server()

    assert gone.admin.delete(gone.path).status_code == 204

    assert stays.admin.get(stays.servers).json() == [server]
    assert stays.stored_credentials(server["id"]) == {"headerValue": "Bearer canary-weather"}


class PartlyBusyStore(SqliteStore):
    """A store that is too busy to read one partition."""

    busy = partition_of("ws_a")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.purged = asyncio.Event()

    async def query(self, pk: str, *prefix: str, **options: Any) -> list[Item]:
        if pk == self.busy:
            raise StoreUnavailable(pk)
        return await super().query(pk, *prefix, **options)

    async def write(self, *changes: Change) -> None:
        await super().write(*changes)
        if any(isinstance(change, Delete) and change.key.pk == DELETED for change in changes):
            self.purged.set()


async def test_a_workspace_that_cannot_be_purged_delays_no_other(tmp_path: Path) -> None:
    store, jobs = PartlyBusyStore(tmp_path / "test.db"), BackgroundJobs(SystemClock())
    for workspace_id in ("ws_a", "ws_b"):
        await store.write(
            Put(Key(DELETED, workspace_id), {}, Always()), Put(Key(partition_of(workspace_id), "x"), {}, Always())
        )
    WorkspacePurge(store).schedule(jobs)

    jobs.start()
    async with asyncio.timeout(10):
        await store.purged.wait()
    await jobs.close()

    assert await WorkspaceDirectory(store).deleted() == ["ws_a"]
    assert await store.query(partition_of("ws_b"), limit=1) == []
    await store.close()
