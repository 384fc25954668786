"""`plugboard backup` and `plugboard restore`: a consistent copy of the SQLite database, with a manifest to check it by.

The root key is not part of a backup, because both together open every credential.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import msgspec

from api.access.peppers import SYSTEM
from api.kit.clock import SystemClock, rfc3339
from api.main.container import DATABASE, KEY_FILE
from api.main.settings import InvalidSetting, Settings

MANIFEST = "manifest.json"
FORMAT = 1
PRIVATE = 0o600
ROOTS = "SELECT DISTINCT json_extract(CAST(data AS TEXT), '$.root') FROM items WHERE sk LIKE 'DATAKEY#%' ORDER BY 1"
PARTITION_KINDS = (
    "SELECT substr(pk, 1, instr(pk || '#', '#') - 1) AS kind, count(*) FROM items GROUP BY kind ORDER BY 1"
)


class InvalidBackup(Exception):
    """A backup cannot be used. The text says why."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds. `items` counts the records by the kind of their partition."""

    format: int
    version: str
    created_at: str
    sha256: str
    bytes: int
    items: dict[str, int]
    root_keys: list[str]
    """The ids of the root keys that its data keys are wrapped by."""

    def write(self, path: Path) -> None:
        _write_private(path, msgspec.json.format(msgspec.json.encode(asdict(self)), indent=2))

    @classmethod
    def read(cls, path: Path) -> Manifest:
        try:
            manifest = msgspec.json.decode(path.read_bytes(), type=cls)
        except (OSError, msgspec.DecodeError) as error:
            raise InvalidBackup(f"{path} cannot be read: {error}.") from error
        if manifest.format != FORMAT:
            raise InvalidBackup(f"{path} has format {manifest.format}; this version reads format {FORMAT}.")
        return manifest


async def backup(settings: Settings, args: argparse.Namespace) -> None:
    """Works while the server runs: SQLite copies a consistent state."""
    database = _database(settings)
    if not database.exists():
        raise InvalidSetting("PLUGBOARD_DATA_DIR", f"there is no database in {settings.data_dir.absolute()}.")
    directory: Path = args.directory
    _make_empty_directory(directory)
    copy = directory / DATABASE
    _copy_database(database, copy)
    manifest = _describe(copy)
    manifest.write(directory / MANIFEST)
    _sync(directory)
    sys.stdout.write(
        f"{sum(manifest.items.values())} items, {manifest.bytes} bytes, are in {directory}.\n"
        f"The backup opens only with {_root_keys(manifest)}, which it does not contain. "
        f"{_where_the_key_is(settings)}\n"
    )


async def restore(settings: Settings, args: argparse.Namespace) -> None:
    directory: Path = args.directory
    manifest = Manifest.read(directory / MANIFEST)
    _check(directory / DATABASE, manifest)
    sys.stdout.write(
        f"The backup of {manifest.created_at} is complete: {sum(manifest.items.values())} items. "
        f"It opens only with {_root_keys(manifest)}.\n"
    )
    if not args.check:
        _restore(directory / DATABASE, manifest, settings)


def _restore(copy: Path, manifest: Manifest, settings: Settings) -> None:
    database = _database(settings)
    if database.exists():
        raise InvalidSetting(
            "PLUGBOARD_DATA_DIR", f"{database.absolute()} exists; restore into a directory without a database."
        )
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = database.with_suffix(".restoring")
    draft.unlink(missing_ok=True)
    _write_private(draft, b"")
    shutil.copyfile(copy, draft)
    _check(draft, manifest)
    draft.rename(database)
    _sync(settings.data_dir)
    key_file = settings.data_dir / KEY_FILE
    is_local = settings.root_key is None and settings.kms_key_id is None
    missing_key = f" Put the root key into {key_file} before the server starts." if is_local else ""
    sys.stdout.write(f"Restored to {database}.{missing_key * (not key_file.exists())}\n")


def _database(settings: Settings) -> Path:
    if settings.store != "sqlite":
        title = {"postgres": "PostgreSQL", "dynamodb": "DynamoDB"}[settings.store]
        text = f"`backup` and `restore` are for SQLite. Use {title}'s own tools: see docs/keys-and-backups.md."
        raise InvalidSetting("PLUGBOARD_STORE", text)
    return settings.data_dir / DATABASE


def _make_empty_directory(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_empty = not any(directory.iterdir())
    except OSError as error:
        raise InvalidBackup(f"{directory} cannot be used: {error.strerror}.") from error
    if not is_empty:
        raise InvalidBackup(f"{directory} is not empty: name a new directory for each backup.")


def _copy_database(database: Path, copy: Path) -> None:
    _write_private(copy, b"")
    try:
        with (
            closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)  # in one read transaction, which holds up no writer in WAL mode
            target.execute("PRAGMA journal_mode = DELETE")  # one file, complete in itself
    except sqlite3.Error as error:
        raise InvalidBackup(f"{database} cannot be copied: {error}.") from error


def _describe(database: Path) -> Manifest:
    digest, size = _digest(database), database.stat().st_size
    with closing(_open_unchanged(database)) as connection:
        _check_integrity(connection)
        return Manifest(
            FORMAT,
            version("plugboard"),
            rfc3339(SystemClock().now()),
            digest,
            size,
            dict(connection.execute(PARTITION_KINDS)),
            [root for (root,) in connection.execute(ROOTS)],
        )


def _check(database: Path, manifest: Manifest) -> None:
    """The file has the bytes that the manifest describes, and SQLite finds it sound."""
    if not database.is_file():
        raise InvalidBackup(f"{database} is missing.")
    if (database.stat().st_size, _digest(database)) != (manifest.bytes, manifest.sha256):
        raise InvalidBackup(f"{database} differs from what the manifest describes; take another backup.")
    with closing(_open_unchanged(database)) as connection:
        _check_integrity(connection)
        if dict(connection.execute(PARTITION_KINDS)) != manifest.items:
            raise InvalidBackup(f"{database} does not hold the items that the manifest counts.")


def _open_unchanged(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _check_integrity(connection: sqlite3.Connection) -> None:
    try:
        problems = [text for (text,) in connection.execute("PRAGMA integrity_check(3)") if text != "ok"]
        has_keys = connection.execute("SELECT 1 FROM items WHERE pk = ? AND sk = 'DATAKEY'", (SYSTEM,)).fetchone()
    except sqlite3.DatabaseError as error:
        raise InvalidBackup(f"The database is damaged: {error}.") from error
    if problems:
        raise InvalidBackup(f"The database is damaged: {'; '.join(problems)}.")
    if not has_keys:
        raise InvalidBackup("The database is not one of Plugboard's, or was never set up.")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    """Makes the names of new files durable, and the files themselves."""
    for path in (*_files(directory), directory):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _files(directory: Path) -> Iterator[Path]:
    return (path for path in directory.iterdir() if path.is_file())


def _root_keys(manifest: Manifest) -> str:
    ids = ", ".join(manifest.root_keys)
    return f"the root key {ids}" if len(manifest.root_keys) == 1 else f"the root keys {ids}"


def _where_the_key_is(settings: Settings) -> str:
    if settings.kms_key_id:
        return "AWS KMS keeps it."
    if settings.root_key:
        return "PLUGBOARD_ROOT_KEY has it: keep a copy of it in another place than the backup."
    return f"Keep a copy of {settings.data_dir / KEY_FILE} in another place than the backup."
