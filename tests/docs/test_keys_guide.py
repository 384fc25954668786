"""The blocks of `docs/keys-and-backups.md`."""

import re
import shutil
from pathlib import Path

import pytest

from api.main.settings import Settings
from tests.docs.reader import Reader, in_a_shell
from tests.documents import guide
from tests.harness import Workspace, served

KEYS = guide("keys-and-backups")
SERVE = "PLUGBOARD_DATA_DIR=restored plugboard serve\n"


def served_credentials(workspace: Workspace, settings: Settings, server_id: str) -> dict[str, str]:
    """As a Plugboard with these settings opens them."""
    with served(settings) as plugboard, plugboard.caller(workspace.key) as admin:
        assert admin.get(f"{workspace.servers}/{server_id}").status_code == 200
        return Workspace(plugboard, workspace.id, workspace.key, admin).stored_credentials(server_id)


def test_a_backup_can_be_restored_and_served(reader: Reader) -> None:
    stored = reader.workspace.make_server()
    restore = KEYS.block("sh", SERVE).replace(SERVE, "")

    reader.type(KEYS.block("sh", "plugboard backup backup") + restore)

    restored = Settings(data_dir=reader.folder / "restored")
    assert (reader.folder / "restored").stat().st_mode & 0o777 == 0o700
    assert served_credentials(reader.workspace, restored, stored["id"]) == {"headerValue": "Bearer canary-weather"}


@pytest.mark.slow
def test_an_installation_moves_to_another_store(tmp_path: Path) -> None:
    with served(Settings(data_dir=tmp_path / "var")) as plugboard:
        workspace = plugboard.make_workspace()
        stored = workspace.make_server()
    (tmp_path / "there").mkdir(mode=0o700)
    shutil.copy2(tmp_path / "var/root.key", tmp_path / "there")
    (tmp_path / "new.env").write_text("PLUGBOARD_DATA_DIR=there\n")

    in_a_shell(KEYS.block("sh", "plugboard store copy"), tmp_path)

    moved = Settings(data_dir=tmp_path / "there")
    assert served_credentials(workspace, moved, stored["id"]) == {"headerValue": "Bearer canary-weather"}


@pytest.mark.slow
def test_data_keys_are_rotated_while_the_service_runs(reader: Reader) -> None:
    stored = reader.workspace.make_server()

    printed = reader.run(KEYS, "plugboard keys rotate")
    _, rotated, rewrapped = [line for line in printed if reader.workspace.id in line]

    assert re.search(r"\b2\b", rotated), "the version that seals now"
    assert re.search(r"\b1 .*\b1 ", rewrapped), "one value, one destroyed key"
    assert reader.workspace.stored_credentials(stored["id"]) == {"headerValue": "Bearer canary-weather"}


def test_a_new_root_key_in_the_key_file_replaces_the_old_one(tmp_path: Path) -> None:
    if not shutil.which("openssl"):
        pytest.skip("the lines need openssl")
    settings, key_file = Settings(data_dir=tmp_path / "var"), tmp_path / "var/root.key"
    with served(settings) as plugboard:
        workspace = plugboard.make_workspace()
        stored = workspace.make_server()
    old = key_file.read_text().strip()

    in_a_shell(KEYS.block("sh", "openssl rand"), tmp_path)
    new, kept = key_file.read_text().split()
    in_a_shell("plugboard keys rewrap", tmp_path)
    key_file.write_text(f"{new}\n")

    assert (kept, key_file.stat().st_mode & 0o777) == (old, 0o600)
    assert served_credentials(workspace, settings, stored["id"]) == {"headerValue": "Bearer canary-weather"}
