"""A revoked key is refused from the next request on, in every process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from api.access.api_key import ApiKey
from api.kit.clock import rfc3339
from api.main.settings import Settings
from tests.e2e.process import until
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, Workspace, caller, served

MINUTE, HOUR, DAY = 60.0, 3600.0, 24 * 3600.0


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def timed(tmp_path: Path, clock: StillClock) -> Iterator[Workspace]:
    """A workspace in a Plugboard whose clock stands still."""
    with served(Settings(data_dir=tmp_path), clock) as plugboard:
        yield plugboard.make_workspace()


@pytest.mark.requirement("AUT-04")
def test_a_revocation_takes_effect_at_once_in_every_process(any_workspace: Workspace) -> None:
    api_key = any_workspace.make_key("manage")
    with served(any_workspace.plugboard.settings) as second:
        here, there = any_workspace.plugboard.caller(api_key["apiKey"]), second.caller(api_key["apiKey"])
        for _ in range(3):
            assert here.get(any_workspace.servers).status_code == there.get(any_workspace.servers).status_code == 200

        assert any_workspace.admin.delete(f"{any_workspace.api_keys}/{api_key['id']}").status_code == 204

        assert there.get(any_workspace.servers).status_code == 401
        assert here.get(any_workspace.servers).status_code == 401
        assert there.post(any_workspace.agents, json={"name": "late"}).status_code == 401
        assert any_workspace.admin.get(any_workspace.agents).json() == []


@pytest.mark.requirement("AUT-04")
def test_a_new_key_works_at_once_in_every_process(any_workspace: Workspace) -> None:
    with served(any_workspace.plugboard.settings) as second:
        assert second.caller(any_workspace.key).get(any_workspace.servers).status_code == 200
        assert second.caller(any_workspace.make_key("read")["apiKey"]).get(any_workspace.servers).status_code == 200


@pytest.mark.requirement("AUT-04")
def test_a_key_expires_to_the_millisecond(timed: Workspace, clock: StillClock) -> None:
    key = timed.caller("read", expiresAt=rfc3339(clock.now() + HOUR))

    clock.advance(HOUR - 0.001)
    assert key.get(timed.servers).status_code == 200
    clock.advance(0.001)
    assert key.get(timed.servers).status_code == 401


def test_an_expiry_may_have_any_time_zone(timed: Workspace) -> None:
    api_key = timed.make_key("read", expiresAt="2030-06-01T02:00:00.5+02:00")

    assert api_key["expiresAt"] == "2030-06-01T00:00:00.500Z"


def test_an_admin_can_revoke_the_key_that_it_calls_with(workspace: Workspace) -> None:
    own = workspace.make_key("admin")
    key = workspace.plugboard.caller(own["apiKey"])

    assert key.delete(f"{workspace.api_keys}/{own['id']}").status_code == 204
    assert key.get(workspace.path).status_code == 401


def test_a_key_is_revoked_once(workspace: Workspace) -> None:
    path = f"{workspace.api_keys}/{workspace.make_key('read')['id']}"

    assert workspace.admin.delete(path).status_code == 204
    assert workspace.admin.delete(path).status_code == 404


def used_at(workspace: Workspace, key_id: str) -> str | None:
    listed = {item["id"]: item for item in workspace.admin.get(workspace.api_keys).json()}
    last: str | None = listed[key_id]["lastUsedAt"]
    return last


def until_used_at(workspace: Workspace, key_id: str, expected: str) -> None:
    """Use is written beside the requests, so it may show a few requests later."""
    until(lambda: used_at(workspace, key_id) == expected)


def test_the_last_use_of_a_key_is_shown_to_the_minute(timed: Workspace, clock: StillClock) -> None:
    api_key = timed.make_key("read")
    key = timed.plugboard.caller(api_key["apiKey"])
    assert used_at(timed, api_key["id"]) is None

    first = rfc3339(clock.now())
    key.get(timed.servers)
    until_used_at(timed, api_key["id"], first)

    clock.advance(MINUTE - 1)
    key.get(timed.servers)
    assert used_at(timed, api_key["id"]) == first

    clock.advance(1)
    key.get(timed.servers)
    until_used_at(timed, api_key["id"], rfc3339(clock.now()))


def test_the_last_use_of_an_expired_key_is_forgotten_after_90_days(timed: Workspace, clock: StillClock) -> None:
    api_key = timed.make_key("read", expiresAt=rfc3339(clock.now() + HOUR))
    used = rfc3339(clock.now())
    timed.plugboard.caller(api_key["apiKey"]).get(timed.servers)
    until_used_at(timed, api_key["id"], used)

    clock.advance(90 * DAY + HOUR - 1)
    assert used_at(timed, api_key["id"]) == used

    clock.advance(1)
    assert used_at(timed, api_key["id"]) is None


def test_a_refused_key_records_no_use(timed: Workspace) -> None:
    api_key = timed.make_key("read")
    own = ApiKey.parse(api_key["apiKey"])
    assert own is not None
    forged = ApiKey(own.key_id, ApiKey.new().secret).text().reveal_text()

    assert timed.plugboard.caller(forged).get(timed.servers).status_code == 401
    assert used_at(timed, api_key["id"]) is None


def test_using_a_key_does_not_change_its_version(workspace: Workspace) -> None:
    api_key = workspace.make_key("read")
    workspace.plugboard.caller(api_key["apiKey"]).get(workspace.servers)

    path = f"{workspace.api_keys}/{api_key['id']}"
    assert workspace.admin.delete(path, headers={"If-Match": '"1"'}).status_code == 204


def test_a_stopping_process_writes_pending_uses(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with served(settings) as plugboard:
        workspace = plugboard.make_workspace()
        api_key = workspace.make_key("read")
        plugboard.caller(api_key["apiKey"]).get(workspace.servers)

    with served(settings) as again, caller(again.url, workspace.key) as admin:
        listed = {item["id"]: item for item in admin.get(workspace.api_keys).json()}
        assert listed[api_key["id"]]["lastUsedAt"] is not None


def statuses(client: httpx2.Client, path: str, times: int) -> set[int]:
    return {client.get(path).status_code for _ in range(times)}


@pytest.mark.requirement("AUT-04")
def test_an_operator_key_works_in_every_process(any_plugboard: Plugboard) -> None:
    with served(any_plugboard.settings) as second:
        assert statuses(second.caller(any_plugboard.operator_key), "/api/workspaces", 2) == {200}
        assert statuses(any_plugboard.caller(second.operator_key), "/api/workspaces", 2) == {200}
