"""A stored database as text: SQL that people can read, with the root key and the facts that a test needs beside it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.recorded.recording import pretty

FOLDER = Path(__file__).parent
DATABASE, ROOT_KEY, SQL, FACTS = "plugboard.db", "root.key", "database.sql", "facts.json"
INSERT = "INSERT INTO items ({columns}) VALUES ({values});"
Json = dict[str, Any]


def versions() -> list[str]:
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{SQL}"))


def facts_of(version: str) -> Json:
    facts: Json = json.loads((FOLDER / version / FACTS).read_text(encoding="utf-8"))
    return facts


def restore(version: str, data_dir: Path) -> None:
    """A copy, with the rights that a data directory needs."""
    key = data_dir / ROOT_KEY
    shutil.copyfile(FOLDER / version / ROOT_KEY, key)
    key.chmod(0o600)
    connection = sqlite3.connect(data_dir / DATABASE)
    connection.executescript((FOLDER / version / SQL).read_text(encoding="utf-8"))
    connection.close()


def store(version: str, data_dir: Path, facts: Json) -> None:
    folder = FOLDER / version
    folder.mkdir(exist_ok=True)
    connection = sqlite3.connect(data_dir / DATABASE)
    (folder / SQL).write_text("".join(f"{line}\n" for line in _dump(connection)), encoding="utf-8")
    connection.close()
    shutil.copyfile(data_dir / ROOT_KEY, folder / ROOT_KEY)
    (folder / FACTS).write_text(f"{pretty(facts)}\n", encoding="utf-8")


def _dump(connection: sqlite3.Connection) -> Iterator[str]:
    """As `.dump` does, but JSON stays readable."""
    for (statement,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC"):
        yield f"{statement};"
    rows = connection.execute("SELECT * FROM items ORDER BY pk, sk")
    columns = ", ".join(column for column, *_ in rows.description)
    for row in rows:
        yield INSERT.format(columns=columns, values=", ".join(map(_literal, row)))


def _literal(value: bytes | str | int | None) -> str:
    match value:
        case bytes():
            return f"CAST({_literal(value.decode())} AS BLOB)"
        case str():
            doubled = value.replace("'", "''")
            return f"'{doubled}'"
        case _:
            return "NULL" if value is None else str(value)
