"""Keys are turned, renewed and replaced under a server that goes on serving."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from api.main.cli import main
from api.main.settings import Settings
from tests.harness import WEATHER, Workspace, served


@dataclass
class Command:
    """`plugboard keys …`, beside the server, on the same data."""

    data: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *arguments: str) -> str:
        with self.monkeypatch.context() as environment:
            environment.setenv("PLUGBOARD_DATA_DIR", str(self.data))
            main(["keys", *arguments])
        return self.capsys.readouterr().out

    def of(self, workspace: Workspace, what: str) -> str:
        return self(what, "--workspace", workspace.id)


@pytest.fixture
def keys(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(tmp_path, capsys, monkeypatch)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with served(Settings(data_dir=tmp_path)) as plugboard:
        yield plugboard.make_workspace()


def read(workspace: Workspace, server_id: str) -> httpx2.Response:
    response = workspace.admin.get(f"{workspace.servers}/{server_id}")
    assert response.status_code == 200
    return response


@pytest.mark.requirement("ENC-08", "ENC-10")
def test_after_a_rotation_and_rewrap_nothing_uses_the_old_key(workspace: Workspace, keys: Command) -> None:
    before = [workspace.make_server()["id"] for _ in range(5)]
    assert "5 values sealed under" in keys.of(workspace, "status")

    assert keys.of(workspace, "rotate") == f"WS#{workspace.id}: now at version 2\n"
    after = workspace.make_server()["id"]
    status = keys.of(workspace, "status")
    assert re.search(r"newest local-\w+/v2; .*5 values sealed under local-\w+/v1.*; 5 values still under old", status)
    assert re.search(r" 1 value sealed under local-\w+/v2", status)

    rewrapped = keys.of(workspace, "rewrap")
    assert "5 values sealed again, 0 data keys wrapped again, 1 destroyed; 0 values still" in rewrapped
    assert re.search(r"6 values sealed under local-\w+/v2; 0 values still under old", keys.of(workspace, "status"))
    for server_id in (*before, after):
        assert workspace.stored_credentials(server_id) == {"headerValue": "Bearer canary-weather"}


@pytest.mark.requirement("ENC-08")
def test_a_server_can_be_read_and_changed_after_a_rewrap(workspace: Workspace, keys: Command) -> None:
    servers = [workspace.make_server()["id"] for _ in range(3)]
    with served(workspace.plugboard.settings) as second:
        processes = [workspace, Workspace(second, workspace.id, workspace.key, second.caller(workspace.key))]
        for process in processes:
            assert [read(process, server).headers["ETag"] for server in servers] == ['"1"'] * 3

        keys.of(workspace, "rotate")
        keys.of(workspace, "rewrap")

        for process in processes:
            assert [read(process, server).headers["ETag"] for server in servers] == ['"1"'] * 3
            assert [read(process, server).json()["version"] for server in servers] == [1] * 3
        keys.of(workspace, "rotate")
        keys.of(workspace, "rewrap")
        for number, server_id in enumerate(servers):
            process = processes[number % 2]
            etag = read(process, server_id).headers["ETag"]
            changed = process.admin.put(
                f"{workspace.servers}/{server_id}", json={"name": "New"}, headers={"If-Match": etag}
            )
            assert (changed.status_code, changed.json()["version"]) == (200, 2)
            assert all(read(process, server_id).json()["name"] == "New" for process in processes)


@pytest.mark.requirement("ENC-08")
def test_an_empty_rewrap_invalidates_no_cache(workspace: Workspace, keys: Command) -> None:
    etag = read(workspace, workspace.make_server()["id"]).headers["ETag"]

    assert "0 values sealed again, 0 data keys wrapped again, 0 destroyed" in keys.of(workspace, "rewrap")
    (server,) = workspace.admin.get(workspace.servers).json()
    assert read(workspace, server["id"]).headers["ETag"] == etag


@pytest.mark.requirement("ENC-09")
def test_a_root_key_is_replaced_and_the_old_one_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, file = Command(tmp_path, capsys, monkeypatch), tmp_path / "root.key"
    with served(Settings(data_dir=tmp_path)) as plugboard:
        workspace = plugboard.make_workspace()
        server = workspace.make_server()
    old, new = file.read_text(), f"new:{base64.b64encode(secrets.token_bytes(32)).decode()}\n"

    file.write_text(new + old)
    assert "1 data key wrapped again, 0 destroyed; 0 values still" in keys.of(workspace, "rewrap")
    assert keys("rewrap").count("1 data key wrapped again") == 1  # the system's own
    assert all("local-" not in line for line in keys("status").splitlines())
    file.write_text(new)

    with served(Settings(data_dir=tmp_path)) as plugboard:
        admin = plugboard.caller(workspace.key)
        path = f"{workspace.servers}/{server['id']}"
        assert admin.get(path).json() == server
        assert admin.put(path, json=WEATHER).status_code == 200
        assert plugboard.caller(workspace.plugboard.operator_key).get("/api/workspaces").status_code == 200
        same = Workspace(plugboard, workspace.id, workspace.key, admin)
        assert same.stored_credentials(server["id"]) == {"headerValue": "Bearer canary-weather"}


@pytest.mark.requirement("ENC-09", "ENC-10")
def test_unreadable_values_are_counted_and_reported(workspace: Workspace, keys: Command) -> None:
    workspace.make_server()
    file = keys.data / "root.key"
    file.write_text(f"new:{base64.b64encode(secrets.token_bytes(32)).decode()}\n{file.read_text()}")
    keys("rotate")
    old = file.read_text().splitlines()[1]
    file.write_text(file.read_text().replace(old + "\n", ""))

    with pytest.raises(SystemExit) as left:
        keys("rewrap")

    assert left.value.code not in (0, None)
    assert old.partition(":")[2] not in str(left.value.code)
    assert "Traceback" not in str(left.value.code)
    file.write_text(f"{file.read_text()}{old}\n")
    keys("rewrap")
    assert "0 values still under old keys" in keys.of(workspace, "status")


@pytest.mark.requirement("ENC-08")
def test_the_keys_of_all_workspaces_are_rotated_together(workspace: Workspace, keys: Command) -> None:
    other = workspace.plugboard.make_workspace()
    servers = [(item, item.make_server()["id"]) for item in (workspace, other)]

    assert len(keys("rotate").splitlines()) == 3
    assert len(keys("rewrap").splitlines()) == 3

    for item, server_id in servers:
        assert read(item, server_id).headers["ETag"] == '"1"'
        assert item.stored_credentials(server_id) == {"headerValue": "Bearer canary-weather"}
    assert workspace.plugboard.operator.get("/api/workspaces").status_code == 200
