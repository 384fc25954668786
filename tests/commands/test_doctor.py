from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from api.access.peppers import SYSTEM
from api.kit.crypto.data_keys import HEAD
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Always, Key, Put
from api.main.container import DATABASE
from tests.commands.conftest import Run

OTHER_KEY = "other:bHVrzZ1Yp0b6mYtqv3cJx8Q9sWfKd2RgTnUoAiEhLjM="


def levels(output: str) -> dict[str, list[str]]:
    """The texts of each level."""
    found: dict[str, list[str]] = {"ok": [], "warning": [], "error": []}
    for line in output.splitlines():
        level, text = line.split(maxsplit=1)
        found[level].append(text)
    return found


@contextmanager
def vendor(date: str) -> Iterator[str]:
    """An HTTP server whose clock shows `date`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def date_time_string(self, timestamp: float | None = None) -> str:  # noqa: ARG002
            return date

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_working_installation_has_no_error(run: Run) -> None:
    run("setup", "--workspace", "Acme")

    found = levels(run("doctor", "--offline"))

    assert found["error"] == []
    assert found["warning"] == []
    assert any(re.fullmatch(r"store: sqlite; a read took [0-9.]+ ms\.", text) for text in found["ok"])
    assert any(text.endswith("the data keys of 1 workspace open.") for text in found["ok"])


def test_without_a_database_it_says_where_it_looked_and_makes_none(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        run("doctor", "--offline")

    assert exit_.value.code == 1
    assert f"there is no database in {tmp_path / 'var'}" in levels(capsys.readouterr().out)["error"][0]
    assert not (tmp_path / "var").exists()


def test_a_misspelled_setting_and_a_half_set_app_are_named_without_their_values(run: Run) -> None:
    run("setup", "--workspace", "Acme")

    output = run("doctor", "--offline", PLUGBOARD_WORKRES="s3cret-1", SLACK_OAUTH_CLIENT_SECRET="s3cret-2")

    one, two = levels(output)["warning"]
    assert one == "settings: PLUGBOARD_WORKRES is not a setting and has no effect; did you mean PLUGBOARD_WORKERS?"
    assert two.startswith("settings: SLACK_OAUTH_CLIENT_ID is not set, but SLACK_OAUTH_CLIENT_SECRET is;")
    assert "s3cret" not in output
    (apps,) = [text for text in levels(output)["ok"] if text.startswith("OAuth apps: none. Not set, ")]
    assert "LINEAR_OAUTH_CLIENT_ID" in apps
    assert "Slack" not in apps  # the warning says what is missing


def test_a_root_key_that_does_not_open_the_data_keys_is_an_error(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("setup", "--workspace", "Acme")

    with pytest.raises(SystemExit):
        run("doctor", "--offline", PLUGBOARD_ROOT_KEY=OTHER_KEY)

    (error,) = levels(capsys.readouterr().out)["error"]
    assert error.startswith("store and keys: a data key is wrapped by root key 'local-")


def test_data_keys_from_the_future_show_that_the_clock_is_behind(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("setup", "--workspace", "Acme")
    asyncio.run(_date_system_key(tmp_path / "var" / DATABASE, "2099-01-01T00:00:00.000Z"))

    with pytest.raises(SystemExit):
        run("doctor", "--offline")

    (error,) = levels(capsys.readouterr().out)["error"]
    assert error == "clock: the machine's clock is behind: a data key was created at 2099-01-01T00:00:00.000Z."


async def _date_system_key(database: Path, created: str) -> None:
    store = SqliteStore(database)
    item = await store.get(Key(SYSTEM, f"{HEAD}#000001"))
    assert item is not None
    await store.write(Put(item.key, {**item.data, "createdAt": created}, Always()))
    await store.close()


def test_services_that_cannot_be_reached_and_a_wrong_clock_are_told_apart(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run("setup", "--workspace", "Acme")
    with vendor("Mon, 01 Jan 2001 00:00:00 GMT") as wrong:
        closed = "http://127.0.0.1:9"
        others = {f"{name}_API_BASE_URL": closed for name in ("LINEAR", "HUBSPOT", "SLACK", "POSTHOG")}

        with pytest.raises(SystemExit):
            run("doctor", NOTION_API_BASE_URL=wrong, **others)

    found = levels(capsys.readouterr().out)
    assert len(found["warning"]) == 4
    assert all(f"{closed} cannot be reached: " in text for text in found["warning"])
    (error,) = found["error"]
    assert error.startswith(f"clock: the machine's clock and that of {wrong} differ by ")


@pytest.mark.parametrize("command", [("--workspace", "Acme"), ("--operator",)], ids=" ".join)
def test_setup_makes_a_database_in_an_unnamed_place_only_on_request(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.delenv("PLUGBOARD_DATA_DIR")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SystemExit, match=r"there is no database in .*/var\. .* To make a new database here, add --new"):
        run("setup", *command)
    assert list(tmp_path.iterdir()) == []

    assert "apiKey" in json.loads(run("setup", *command, "--new", "--json"))
    assert "apiKey" in json.loads(run("setup", *command, "--json"))


def test_an_admin_key_is_made_in_an_existing_database_only(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"there is no database in .*/var\. Run the command in the server's directory"):
        run("setup", "--admin-key", "ws_00000000000000000000")

    assert list(tmp_path.iterdir()) == []


def test_the_version_is_printed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        run("--version")

    assert exit_.value.code == 0
    assert re.fullmatch(r"plugboard [0-9]+\.[0-9]+\.[0-9]+\n", capsys.readouterr().out)
