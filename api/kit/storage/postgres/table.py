"""The store's table: its definition, and how an earlier version of it becomes the current one.

The table's version is stored in the table, at a key that no item has. Migrations run one at a time, each once, under a
lock: several processes may start at once. A process accepts a later version as long as that version says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from api.kit.storage.postgres.connections import PostgresSession
from api.kit.storage.postgres.statements import BEGIN, COMMIT, lock_number, quoted
from api.kit.storage.store import StoreUnavailable

MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE {table} (
        pk text COLLATE "C" NOT NULL, sk text COLLATE "C" NOT NULL, version bigint NOT NULL, expires bigint,
        data bytea NOT NULL, PRIMARY KEY (pk, sk)
    );
    CREATE INDEX {index} ON {table} (expires) WHERE expires IS NOT NULL
    """,
)
SERVED_SINCE = 1
"""The oldest version of the table whose processes can serve the current one beside this version."""

LOCATION = ("", "TABLE")
WAIT = "SET LOCAL statement_timeout = '60s'"
ENCODING = "UTF8"
EXISTS = "SELECT getdatabaseencoding(), EXISTS (SELECT FROM pg_class WHERE oid = to_regclass($1))"
"""Reads `pg_class`, because `to_regclass` alone may answer from before the transaction waited for its lock."""

LONGEST_NAME = 54  # PostgreSQL cuts names after 63 characters, and that of the index is longer


async def prepare_table(session: PostgresSession, name: str) -> bool:
    """Creates or migrates the table, if needed. Returns whether it is new."""
    if len(name) > LONGEST_NAME:
        raise StoreUnavailable(f"PLUGBOARD_TABLE may have at most {LONGEST_NAME} characters on PostgreSQL")
    if await _version(session, name) == len(MIGRATIONS):
        return False
    await session.execute(f"{BEGIN}; {WAIT}; SELECT pg_advisory_xact_lock({lock_number(name)})")
    version = await _version(session, name)  # read again: another process may have been first
    for migration in MIGRATIONS[version:]:
        await session.execute(migration.format(table=quoted(name), index=quoted(f"{name}_expiring")))
    if version < len(MIGRATIONS):
        await _store_version(session, name)
    await session.execute(COMMIT)
    return version == 0


async def _version(session: PostgresSession, name: str) -> int:
    encoding, exists = await session.fetch_row(EXISTS, quoted(name))
    if encoding != ENCODING:
        raise StoreUnavailable(f"the encoding of the PostgreSQL database must be {ENCODING}, not {encoding}")
    if not exists:
        return 0
    row = await session.fetch_row(f"SELECT version, data FROM {quoted(name)} WHERE (pk, sk) = ($1, $2)", *LOCATION)
    if row is None:
        raise StoreUnavailable(f"the PostgreSQL table {name} was not created by Plugboard")
    return _known_version(row)


def _known_version(row: Any) -> int:
    """The table's version; the current one, if the table is of a later version that this one can serve."""
    served_since = msgspec.json.decode(row["data"], type=dict[str, int])["served_since"]
    if served_since > len(MIGRATIONS):
        raise StoreUnavailable("the PostgreSQL table belongs to a later version of Plugboard")
    version: int = row["version"]
    return min(version, len(MIGRATIONS))


async def _store_version(session: PostgresSession, name: str) -> None:
    data = msgspec.json.encode({"served_since": SERVED_SINCE})
    await session.fetch(
        f"INSERT INTO {quoted(name)} (pk, sk, version, data) VALUES ($1, $2, $3, $4) "
        "ON CONFLICT (pk, sk) DO UPDATE SET version = excluded.version, data = excluded.data",
        *(*LOCATION, len(MIGRATIONS), data),
    )
