"""Imports the seeded rows into the DynamoDB-compatible server."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from api.kit.storage.dynamodb.table import table_definition
from api.main.container import DATABASE, KEY_FILE
from tests.fakes.dynamodb import ACCESS, DYNOXIDE

TABLE = "plugboard"
AUDITED = "AUDIT#%"  # written and never read here, but a third of all rows


def import_table(data: Path, to: Path) -> Path:
    """dynoxide's database, filled in bulk, because writing each item through its API would take minutes."""
    source, schema, database = to / TABLE, to / "schema.json", to / "dynamodb.db"
    source.mkdir()
    with (source / "items.json").open("wb") as lines:
        lines.writelines(_lines(data / DATABASE))
    schema.write_bytes(msgspec.json.encode({"Table": table_definition(TABLE)}))
    command: list[str | Path] = [DYNOXIDE, "import", "--source", source, "--schema", schema, "--output", database]
    subprocess.run(command, check=True, capture_output=True)
    return database


def settings(port: int, data: Path) -> dict[str, str]:
    """The settings of a product that reads that table; its credentials were sealed with the key of `data`."""
    return ACCESS | {
        "PLUGBOARD_STORE": "dynamodb",
        "PLUGBOARD_TABLE": TABLE,
        "PLUGBOARD_DYNAMODB_ENDPOINT": f"http://127.0.0.1:{port}",
        "PLUGBOARD_ROOT_KEY": (data / KEY_FILE).read_text().strip(),
    }


def _lines(path: Path) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    connection = sqlite3.connect(path)
    for row in connection.execute("SELECT pk, sk, version, expires, data FROM items WHERE pk NOT LIKE ?", [AUDITED]):
        yield encode({"Item": _attributes(*row)}) + b"\n"
    connection.close()


def _attributes(pk: str, sk: str, version: int, expires: int | None, data: bytes) -> dict[str, Any]:
    lasting = {} if expires is None else {"expires": {"N": str(expires)}}
    return {
        "pk": {"S": pk},
        "sk": {"S": sk},
        "version": {"N": str(version)},
        "data": {"S": data.decode()},
        "write_id": {"S": "bench"},
        **lasting,
    }
