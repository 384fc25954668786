from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api.main.container import DATABASE, KEY_FILE
from api.main.maintenance.backup import MANIFEST
from api.main.settings import Settings
from tests.commands.conftest import Run
from tests.harness import served

SERVER = {
    "name": "Weather",
    "url": "https://api.example.com/mcp",
    "authType": "header",
    "config": {"headerValue": "s3cret"},
}


@pytest.fixture
def installation(run: Run, tmp_path: Path) -> Path:
    run("setup", "--workspace", "Acme")
    return tmp_path / "var"


@pytest.fixture
def saved(run: Run, installation: Path, tmp_path: Path) -> Path:
    assert installation.exists()
    run("backup", str(tmp_path / "saved"))
    return tmp_path / "saved"


def test_a_restored_installation_serves_what_was_backed_up(run: Run, data: Settings, tmp_path: Path) -> None:
    created = json.loads(run("setup", "--workspace", "Acme", "--json"))
    path = f"/api/workspaces/{created['workspaceId']}/mcp-servers"
    with served(data) as app, app.caller(created["apiKey"]) as admin:
        before = admin.post(path, json=SERVER).json()
        run("backup", str(tmp_path / "saved"))
        admin.post(path, json=SERVER | {"name": "Later"})

    there = tmp_path / "there"
    run("restore", str(tmp_path / "saved"), PLUGBOARD_DATA_DIR=str(there))
    (there / KEY_FILE).write_bytes((tmp_path / "var" / KEY_FILE).read_bytes())
    (there / KEY_FILE).chmod(0o600)

    with served(Settings(data_dir=there)) as app, app.caller(created["apiKey"]) as admin:
        assert admin.get(path).json() == [before]


def test_a_backup_holds_no_root_key_and_is_for_its_owner_alone(run: Run, installation: Path, saved: Path) -> None:
    assert {file.name for file in saved.iterdir()} == {DATABASE, MANIFEST}
    assert [stat.S_IMODE(file.stat().st_mode) for file in (saved, *saved.iterdir())] == [0o700, 0o600, 0o600]
    _, key = (installation / KEY_FILE).read_bytes().strip().split(b":")
    assert all(key not in file.read_bytes() for file in saved.iterdir())
    output = run("restore", str(saved), "--check")
    assert "It opens only with the root key local-" in output


def test_the_manifest_counts_what_the_database_holds(saved: Path) -> None:
    manifest = json.loads((saved / MANIFEST).read_text())
    connection = sqlite3.connect(saved / DATABASE)

    assert sum(manifest["items"].values()) == connection.execute("SELECT count(*) FROM items").fetchone()[0]
    assert manifest["items"]["WS"] > 0
    connection.close()


@contextmanager
def writing(database: Path) -> Iterator[None]:
    """Another process's writes: each transaction puts the same number into two items."""
    is_done, has_started = threading.Event(), threading.Event()

    def write() -> None:
        connection = sqlite3.connect(database, isolation_level=None, timeout=30)
        number = 0
        while not is_done.is_set():
            number += 1
            connection.execute("BEGIN IMMEDIATE")
            for sk in ("one", "two"):
                connection.execute("INSERT OR REPLACE INTO items VALUES ('STORM', ?, ?, NULL, '{}')", (sk, number))
            connection.execute("COMMIT")
            has_started.set()
        connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    assert has_started.wait(30)
    try:
        yield
    finally:
        is_done.set()
        thread.join()


def test_a_backup_during_writes_is_consistent(run: Run, installation: Path, tmp_path: Path) -> None:
    with writing(installation / DATABASE):
        for number in range(10):
            run("backup", str(tmp_path / f"saved-{number}"))

    for number in range(10):
        connection = sqlite3.connect(tmp_path / f"saved-{number}" / DATABASE)
        versions = connection.execute("SELECT version FROM items WHERE pk = 'STORM'").fetchall()
        connection.close()
        assert len(versions) == 2
        assert len(set(versions)) == 1


def test_check_restores_nothing(run: Run, saved: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"

    assert "is complete" in run("restore", str(saved), "--check", PLUGBOARD_DATA_DIR=str(there))
    assert not there.exists()


def test_a_changed_byte_is_noticed(run: Run, saved: Path, tmp_path: Path) -> None:
    with (saved / DATABASE).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))

    with pytest.raises(SystemExit, match="differs from what the manifest describes"):
        run("restore", str(saved), PLUGBOARD_DATA_DIR=str(tmp_path / "there"))
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("missing", [DATABASE, MANIFEST])
def test_a_missing_file_is_named(run: Run, saved: Path, missing: str) -> None:
    (saved / missing).unlink()

    with pytest.raises(SystemExit, match=missing):
        run("restore", str(saved), "--check")


def test_a_manifest_of_a_later_format_is_refused(run: Run, saved: Path) -> None:
    manifest = json.loads((saved / MANIFEST).read_text())
    (saved / MANIFEST).write_text(json.dumps(manifest | {"format": 2}))

    with pytest.raises(SystemExit, match="has format 2; this version reads format 1"):
        run("restore", str(saved), "--check")


@pytest.mark.usefixtures("installation")
def test_nothing_is_overwritten(run: Run, saved: Path) -> None:
    with pytest.raises(SystemExit, match="is not empty: name a new directory for each backup"):
        run("backup", str(saved))
    with pytest.raises(SystemExit, match="exists; restore into a directory without a database"):
        run("restore", str(saved))


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_other_stores_have_tools_of_their_own(run: Run, saved: Path, command: str) -> None:
    with pytest.raises(SystemExit, match="see docs/keys-and-backups"):
        run(command, str(saved), PLUGBOARD_STORE="dynamodb")


def test_a_backup_makes_no_database(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no database in"):
        run("backup", str(tmp_path / "saved"))
    assert list(tmp_path.iterdir()) == []


def test_a_backup_of_another_store_names_its_own_tools(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"are for SQLite\. Use DynamoDB.s own tools: see docs/keys"):
        run("backup", str(tmp_path / "copy"), PLUGBOARD_STORE="dynamodb", PLUGBOARD_ROOT_KEY=f"a:{'A' * 43}=")
