"""A copy of the table contains no usable key."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from api.access.context import partition_of
from api.access.principal import Scope
from api.kit.storage.store import Item, Key
from api.main.container import build_container
from api.main.settings import Settings
from tests.harness import Workspace, served


def dumped(data_dir: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(data_dir.glob("plugboard.db*")))


async def record_of(workspace: Workspace, key_id: str) -> Item:
    parts = await build_container(workspace.plugboard.settings)
    try:
        item = await parts.store.get(Key(partition_of(workspace.id), f"KEY#{key_id}"))
        assert item is not None
        return item
    finally:
        await parts.close()


@pytest.mark.requirement("AUT-02", "REL-03")
def test_a_copy_of_the_table_holds_no_usable_key(tmp_path: Path) -> None:
    with served(Settings(data_dir=tmp_path)) as plugboard:
        workspace = plugboard.make_workspace()
        keys = [plugboard.operator_key, workspace.key]
        for number, scope in enumerate(("admin", "manage", "read", "invoke")):
            response = workspace.admin.post(
                workspace.api_keys, json={"name": "k", "scope": scope}, headers={"Idempotency-Key": f"key-{number}"}
            )
            keys.append(response.json()["apiKey"])
        while_it_runs = dumped(tmp_path)
    assert len(while_it_runs) > 10_000

    for key in keys:
        public, secret = key.removeprefix("pb_").split("_")
        for dump in (while_it_runs, dumped(tmp_path)):
            assert public.encode() in dump
            assert secret.encode() not in dump
            assert secret[:32].encode() not in dump
            assert secret[:32].encode().hex().encode() not in dump


@pytest.mark.requirement("AUT-02")
def test_only_a_keyed_hash_of_a_key_is_stored(any_workspace: Workspace) -> None:
    api_key = any_workspace.make_key("read")
    item = asyncio.run(record_of(any_workspace, api_key["id"]))

    assert set(item.data) == {
        "id", "name", "scope", "hash", "pepper", "created_at", "created_by", "agent_ids", "expires_at"
    }  # fmt: skip
    assert len(item.data["hash"]) == 64
    assert api_key["apiKey"][24:] not in json.dumps(item.data)


@pytest.mark.requirement("AUT-02")
def test_another_installation_hashes_the_same_secret_differently(tmp_path: Path) -> None:
    async def hashed_by(place: str) -> str:
        parts = await build_container(Settings(data_dir=tmp_path / place))
        try:
            record, key = await parts.key_maker.make("WS#w", "k", Scope.READ, created_by="setup")
            pepper = await parts.vault.derived_key("SYSTEM", "api-key pepper", record.pepper)
            assert key.reveal_text()[24:56] not in record.hash
            return pepper.secret.reveal().hex()
        finally:
            await parts.close()

    assert asyncio.run(hashed_by("one")) != asyncio.run(hashed_by("two"))
