from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest

from api.kit.crypto.secret import Secret
from api.kit.storage.dynamodb.store import dynamo_client
from api.kit.storage.dynamodb.table import create_table
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Always, Key, Put
from api.main.container import DATABASE, KEY_FILE
from api.main.maintenance.store_copy import PAGE
from api.main.settings import Settings
from tests.commands.conftest import Run
from tests.fakes.postgres import PostgresServer
from tests.harness import served

CHANGE_WHILE_COPYING = """
CREATE TRIGGER changing AFTER INSERT ON items WHEN NEW.sk = 'REVISION' BEGIN
    UPDATE items SET version = version + 1 WHERE pk = NEW.pk AND sk = NEW.sk;
END
"""
GOOD_KEY = "test:bHVrzZ1Yp0b6mYtqv3cJx8Q9sWfKd2RgTnUoAiEhLjM="
OTHER_KEY = "other:bHVrzZ1Yp0b6mYtqv3cJx8Q9sWfKd2RgTnUoAiEhLjM="
STOP_FIRST = "Stop all servers first: what they write from now on is not copied.\n"
SERVER = {
    "name": "Weather",
    "url": "https://api.example.com/mcp",
    "authType": "header",
    "config": {"headerValue": "canary"},
}


class Installation:
    """A source in SQLite with one workspace and one server, and a file with the settings of the target."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.run = run
        self.folder = folder
        self.settings = Settings(data_dir=folder / "var", root_key=Secret(GOOD_KEY))
        self.created = json.loads(run("setup", "--workspace", "Acme", "--json", PLUGBOARD_ROOT_KEY=GOOD_KEY))
        self.path = f"/api/workspaces/{self.created['workspaceId']}/mcp-servers"
        with served(self.settings) as app, app.caller(self.created["apiKey"]) as admin:
            self.servers = [admin.post(self.path, json=SERVER).json()]

    def target(self, **settings: str) -> Path:
        file = self.folder / f"target-{uuid.uuid4().hex}.env"
        named = {"PLUGBOARD_DATA_DIR": str(self.folder / "there"), "PLUGBOARD_ROOT_KEY": GOOD_KEY} | settings
        file.write_text("# the other store\n\n" + "".join(f"{name}='{text}'\n" for name, text in named.items()))
        return file

    def copy(self, target: Path, *options: str, **source: str) -> str:
        source = {"PLUGBOARD_ROOT_KEY": GOOD_KEY} | source
        return self.run("store", "copy", "--to", str(target), *options, **source)

    def served_servers(self, settings: Settings) -> object:
        with served(settings) as app, app.caller(self.created["apiKey"]) as admin:
            answer: httpx2.Response = admin.get(self.path)
            return answer.json()


@pytest.fixture
def installation(run: Run, tmp_path: Path) -> Installation:
    return Installation(run, tmp_path)


@pytest.fixture(
    params=[
        "moto_server",
        pytest.param("dynoxide", marks=pytest.mark.slow),
        pytest.param("postgres", marks=pytest.mark.slow),
    ]
)
def table(request: pytest.FixtureRequest) -> Mapping[str, str]:
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        return {"PLUGBOARD_STORE": "postgres", "PLUGBOARD_POSTGRES_URL": server.url_of(server.make_database())}
    any_dynamodb: str = request.getfixturevalue(request.param)
    name = f"test-{uuid.uuid4().hex}"
    create_table(dynamo_client(any_dynamodb, read_seconds=30.0), name)
    return {"PLUGBOARD_STORE": "dynamodb", "PLUGBOARD_TABLE": name, "PLUGBOARD_DYNAMODB_ENDPOINT": any_dynamodb}


def items(database: Path) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(database)
    try:
        return connection.execute("SELECT pk, sk, version, expires, data FROM items ORDER BY pk, sk").fetchall()
    finally:
        connection.close()


def write(database: Path, *changes: Put) -> None:
    async def apply() -> None:
        store = SqliteStore(database)
        for first in range(0, len(changes), PAGE):
            await store.write(*changes[first : first + PAGE])
        await store.close()

    asyncio.run(apply())


def test_a_copy_holds_the_same_items_and_serves_them(installation: Installation, tmp_path: Path) -> None:
    write(
        tmp_path / "var" / DATABASE, *(Put(Key("AUDIT#x", f"{n:05}"), {"n": n}, Always()) for n in range(2 * PAGE + 1))
    )

    output = installation.copy(installation.target())

    before, after = (items(tmp_path / folder / DATABASE) for folder in ("var", "there"))
    assert before == after
    copied = f"{len(before)} items are in sqlite as they were in sqlite. The servers may start.\n"
    assert output == STOP_FIRST + copied
    there = Settings(data_dir=tmp_path / "there", root_key=Secret(GOOD_KEY))
    assert installation.served_servers(there) == installation.servers


def test_an_installation_moves_to_another_store_and_back(
    installation: Installation, table: Mapping[str, str], tmp_path: Path
) -> None:
    installation.copy(installation.target(**table))
    elsewhere = Settings.from_environment({"PLUGBOARD_ROOT_KEY": GOOD_KEY, **table})
    assert installation.served_servers(elsewhere) == installation.servers

    installation.copy(installation.target(), **table)

    there = Settings(data_dir=tmp_path / "there", root_key=Secret(GOOD_KEY))
    assert installation.served_servers(there) == installation.servers


def test_an_interrupted_copy_is_not_served_and_goes_on(installation: Installation, tmp_path: Path) -> None:
    installation.copy(installation.target())
    database = tmp_path / "there" / DATABASE
    whole = items(database)
    installation.run("backup", str(tmp_path / "unused"))
    mark_as_unfinished(installation, database)

    with pytest.raises(SystemExit, match="the store is an unfinished copy: run `plugboard store copy` again"):
        installation.run("keys", "status", PLUGBOARD_DATA_DIR=str(tmp_path / "there"), PLUGBOARD_ROOT_KEY=GOOD_KEY)

    installation.copy(installation.target())
    assert items(database) == whole


def mark_as_unfinished(installation: Installation, database: Path) -> None:
    """The state of a run that was killed: a mark, a missing item, an old item, and one that was deleted since."""
    stop_a_copy(installation)
    (tail,) = [row for row in items(database) if str(row[1]) == "META"]
    connection = sqlite3.connect(database)
    connection.execute("DELETE FROM items WHERE sk = 'REVISION'")
    connection.execute("UPDATE items SET version = 99, data = '{}' WHERE pk = ? AND sk = ?", tail[:2])
    connection.execute("INSERT INTO items VALUES ('WS#gone', 'SERVER#gone', 1, NULL, '{}')")
    connection.commit()
    connection.close()


def stop_a_copy(installation: Installation) -> None:
    """A run that ends in its verification, because an item changes in the meantime."""
    connection = sqlite3.connect(installation.folder / "there" / DATABASE)
    connection.execute("DELETE FROM items")
    connection.execute(CHANGE_WHILE_COPYING)
    connection.commit()
    connection.close()
    with pytest.raises(SystemExit, match="stop all servers of the source and run the command again"):
        installation.copy(installation.target())
    connection = sqlite3.connect(installation.folder / "there" / DATABASE)
    connection.execute("DROP TRIGGER changing")
    connection.commit()
    connection.close()


def test_a_copy_waits_for_the_servers_of_both_stores(installation: Installation, tmp_path: Path) -> None:
    installation.copy(installation.target(), "--dry-run")  # makes the database of the target
    there = Settings(data_dir=tmp_path / "there", root_key=Secret(GOOD_KEY))
    for open_settings in (installation.settings, there):
        database = open_settings.data_dir / DATABASE
        before = items(tmp_path / "there" / DATABASE)
        store = SqliteStore(database)
        try:
            with pytest.raises(SystemExit, match=f"another process has {database} open, such as a server. Stop it"):
                installation.copy(installation.target())
            dry = installation.copy(installation.target(), "--dry-run")
        finally:
            asyncio.run(store.close())
        assert f"{STOP_FIRST}Before the copy: another process has {database} open" in dry
        assert dry.endswith(" items would be copied from sqlite to sqlite.\n")
        assert items(tmp_path / "there" / DATABASE) == before == []

    assert installation.copy(installation.target()).endswith("The servers may start.\n")


def test_a_store_that_another_process_has_open_is_not_copied(installation: Installation, tmp_path: Path) -> None:
    database = tmp_path / "var" / DATABASE
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT 1 FROM items'); print(); input()"
    command = [sys.executable, "-c", code, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(SystemExit, match=f"another process has {database} open"):
            installation.copy(installation.target())
        process.communicate(b"\n", timeout=30)

    assert installation.copy(installation.target()).endswith("The servers may start.\n")


def test_a_misspelled_setting_of_the_other_store_is_named(installation: Installation) -> None:
    with pytest.raises(SystemExit, match=r"PLUGBOARD_DATADIR is not a setting .* did you mean PLUGBOARD_DATA_DIR"):
        installation.copy(installation.target(PLUGBOARD_DATADIR="/x"))


def test_a_dry_run_copies_nothing(installation: Installation, tmp_path: Path) -> None:
    output = installation.copy(installation.target(), "--dry-run")

    count = len(items(tmp_path / "var" / DATABASE))
    assert output == f"{STOP_FIRST}{count} items would be copied from sqlite to sqlite.\n"
    assert items(tmp_path / "there" / DATABASE) == []


def test_a_store_with_other_data_is_not_overwritten(installation: Installation, run: Run, tmp_path: Path) -> None:
    run("setup", "--workspace", "Other", PLUGBOARD_DATA_DIR=str(tmp_path / "there"), PLUGBOARD_ROOT_KEY=GOOD_KEY)
    before = items(tmp_path / "there" / DATABASE)

    with pytest.raises(SystemExit, match="the store is not empty"):
        installation.copy(installation.target())
    assert items(tmp_path / "there" / DATABASE) == before


def test_root_keys_that_do_not_open_the_source_are_refused(installation: Installation, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="the root keys in the file of --to do not open the data keys of the source"):
        installation.copy(installation.target(PLUGBOARD_ROOT_KEY=OTHER_KEY))
    with pytest.raises(SystemExit, match=r"put the root key of the source into .*there/root\.key"):
        installation.copy(installation.target(PLUGBOARD_ROOT_KEY=""))

    assert not (tmp_path / "there" / KEY_FILE).exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [("PLUGBOARD_STORE\n", "'PLUGBOARD_STORE' is not a line of the form NAME=value"), (None, "cannot be read")],
)
def test_a_file_of_settings_that_cannot_be_read_is_refused(
    installation: Installation, tmp_path: Path, text: str | None, problem: str
) -> None:
    file = tmp_path / "wrong.env"
    if text:
        file.write_text(text)

    with pytest.raises(SystemExit, match=problem):
        installation.copy(file)


def test_a_store_is_not_copied_onto_itself(installation: Installation, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="names the store that is to be copied"):
        installation.copy(installation.target(PLUGBOARD_DATA_DIR=str(tmp_path / "var")))
