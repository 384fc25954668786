"""The last admin key of a workspace is revoked on purpose only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2

from api.kit.clock import rfc3339
from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.harness import Workspace, many_callers, served

ROUNDS = 6


def path_of(workspace: Workspace, key: dict[str, Any]) -> str:
    return f"{workspace.api_keys}/{key['id']}"


def own_key(workspace: Workspace) -> dict[str, Any]:
    (own,) = [key for key in workspace.admin.get(workspace.api_keys).json() if key["name"] == "First admin key"]
    return own  # type: ignore[no-any-return]


def test_the_last_admin_key_is_kept(any_workspace: Workspace) -> None:
    for scope in ("manage", "read", "invoke"):
        any_workspace.make_key(scope)

    refused = any_workspace.admin.delete(path_of(any_workspace, own_key(any_workspace)))

    assert (refused.status_code, refused.json()["code"]) == (409, "last_admin_key")
    assert "`?last=true`" in refused.json()["detail"]
    assert any_workspace.admin.get(any_workspace.path).status_code == 200


def test_the_last_admin_key_is_revoked_on_request(workspace: Workspace) -> None:
    path = path_of(workspace, own_key(workspace))

    assert workspace.admin.delete(f"{path}?last=yes").status_code == 422
    assert workspace.admin.delete(f"{path}?last=true", headers={"If-Match": '"2"'}).status_code == 412
    assert workspace.admin.delete(f"{path}?last=true").status_code == 204
    assert workspace.admin.get(workspace.path).status_code == 401


def test_an_admin_key_that_is_not_the_last_is_revoked(workspace: Workspace) -> None:
    first, second = own_key(workspace), workspace.make_key("admin")

    assert workspace.admin.delete(path_of(workspace, first)).status_code == 204
    other = workspace.plugboard.caller(second["apiKey"])
    third = other.post(workspace.api_keys, json={"name": "third", "scope": "admin"}).json()
    assert other.delete(path_of(workspace, third)).status_code == 204  # the caller's own key remains
    assert other.delete(path_of(workspace, second)).json()["code"] == "last_admin_key"


def test_the_other_admin_key_may_be_among_many(workspace: Workspace) -> None:
    """More keys than one read returns."""
    for _ in range(110):
        workspace.make_key("read")
    assert workspace.admin.delete(path_of(workspace, own_key_of_many(workspace))).status_code == 409
    workspace.make_key("admin")

    assert workspace.admin.delete(path_of(workspace, own_key_of_many(workspace))).status_code == 204


def own_key_of_many(workspace: Workspace) -> dict[str, Any]:
    (own,) = workspace.admin.get(workspace.api_keys, params={"q": "first admin", "limit": 1}).json()
    return own  # type: ignore[no-any-return]


def test_an_expired_admin_key_is_no_other_one(tmp_path: Path) -> None:
    clock = StillClock()
    with served(Settings(data_dir=tmp_path), clock) as plugboard:
        workspace = plugboard.make_workspace()
        workspace.make_key("admin", expiresAt=rfc3339(clock.now() + 60))
        clock.advance(61)

        refused = workspace.admin.delete(path_of(workspace, own_key(workspace)))

        assert refused.json()["code"] == "last_admin_key"


def test_two_admins_who_revoke_their_keys_at_once_leave_one(any_workspace: Workspace) -> None:
    """Each sees the key of the other, and only one of the writes can rest on it."""
    with served(any_workspace.plugboard.settings) as second:
        urls = (any_workspace.plugboard.url, second.url)
        admin = {"id": own_key(any_workspace)["id"], "apiKey": any_workspace.key}
        for _ in range(ROUNDS):
            other = _another_admin(any_workspace, admin)
            responses = asyncio.run(_revoke_themselves(any_workspace, urls, (admin, other)))

            assert sorted(response.status_code for response in responses) == [204, 409]
            admin = admin if responses[0].status_code == 409 else other


def _another_admin(workspace: Workspace, admin: dict[str, Any]) -> dict[str, Any]:
    draft = {"name": "another", "scope": "admin"}
    created = workspace.plugboard.caller(admin["apiKey"]).post(workspace.api_keys, json=draft)
    assert created.status_code == 201
    return created.json()  # type: ignore[no-any-return]


async def _revoke_themselves(
    workspace: Workspace, urls: Sequence[str], keys: Sequence[dict[str, Any]]
) -> list[httpx2.Response]:
    calls = [_revoke_itself(url, workspace, key) for url, key in zip(urls, keys, strict=True)]
    return await asyncio.gather(*calls)


async def _revoke_itself(url: str, workspace: Workspace, key: dict[str, Any]) -> httpx2.Response:
    async with many_callers(url, key["apiKey"]) as caller:
        await caller.get(workspace.path)  # opens the connection
        return await caller.delete(path_of(workspace, key))
