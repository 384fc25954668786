"""Edited key records: write access to the table does not extend a key's rights."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from api.access.context import partition_of
from api.kit.storage.store import Always, Item, Key, Put
from api.main.container import build_container
from tests.harness import Workspace

Edit = Callable[[Item], Item]


def edited(workspace: Workspace, key_id: str, edit: Edit) -> None:
    """Edits a record directly in the table."""

    async def write() -> None:
        parts = await build_container(workspace.plugboard.settings)
        try:
            item = await parts.store.get(Key(partition_of(workspace.id), f"KEY#{key_id}"))
            assert item is not None
            changed = edit(item)
            revision = Put(Key(changed.key.pk, "REVISION"), {}, Always())
            await parts.store.write(Put(changed.key, changed.data, Always()), revision)
        finally:
            await parts.close()

    asyncio.run(write())


def with_data(**changed: Any) -> Edit:
    return lambda item: replace(item, data={**item.data, **changed})


@pytest.mark.requirement("AUT-02")
@pytest.mark.parametrize("changed", [{"scope": "admin"}, {"expires_at": None}, {"agent_ids": None}, {"id": "key_x"}])
def test_a_key_record_with_edited_rights_matches_no_key(workspace: Workspace, changed: dict[str, Any]) -> None:
    agent = workspace.make_agent()
    api_key = workspace.make_key("invoke", agentIds=[agent["id"]], expiresAt="2999-01-01T00:00:00Z")
    caller = workspace.plugboard.caller(api_key["apiKey"])
    assert caller.get(workspace.servers).status_code == 403

    edited(workspace, api_key["id"], with_data(**changed))

    assert caller.get(workspace.servers).status_code == 401


@pytest.mark.requirement("AUT-02", "AUT-07")
def test_a_key_copied_into_another_workspace_is_invalid_there(workspace: Workspace) -> None:
    other = workspace.plugboard.make_workspace("Other")
    api_key = workspace.make_key("admin")

    edited(workspace, api_key["id"], lambda item: replace(item, key=Key(partition_of(other.id), item.key.sk)))

    caller = workspace.plugboard.caller(api_key["apiKey"])
    assert caller.get(other.servers).status_code == 404
    assert caller.get(workspace.servers).status_code == 200
