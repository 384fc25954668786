"""The SQL of the store: reads, and a write as one statement that applies all changes or none."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from api.kit.storage.store import (
    Always,
    Change,
    Check,
    Condition,
    Delete,
    IfAbsent,
    IfPresent,
    IfVersion,
    Item,
    Key,
    Put,
    check_sizes,
    prefix_end,
)

COLUMNS = "pk, sk, version, expires, data"
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


class Statements:
    """The statements for one table."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._name = quoted(table)
        live = "(expires IS NULL OR expires > {})"
        self.get = f"SELECT {COLUMNS} FROM {self._name} WHERE pk = $1 AND sk = $2 AND {live.format('$3')}"
        self.get_many = (
            f"SELECT {COLUMNS} FROM {self._name} WHERE {live.format('$3')} AND (pk, sk) IN "
            '(SELECT pk COLLATE "C", sk COLLATE "C" FROM unnest($1::text[], $2::text[]) AS wanted (pk, sk))'
        )
        self.scan = (
            f"SELECT {COLUMNS} FROM {self._name} WHERE (pk, sk) > ($1, $2) AND {live.format('$3')} "
            "AND pk <> '' ORDER BY pk, sk LIMIT $4"  # the item about the table itself is in no partition
        )
        self.mark = f"SELECT version FROM {self._name} WHERE pk = $1 AND sk = $2"
        self.write = _WRITE.format(table=self._name)
        self.sweep = _SWEEP.format(table=self._name)

    def query(
        self, partition: tuple[str, str], limit: int, after: str | None, now: int, *, newest_first: bool
    ) -> tuple[str, list[Any]]:
        """Items of a partition with a prefix: the statement, one of few, and its values."""
        (pk, prefix), values = partition, []

        def bind(value: object) -> str:
            values.append(value)
            return f"${len(values)}"

        where = [f"pk = {bind(pk)}", f"(expires IS NULL OR expires > {bind(now)})"]
        if prefix:
            where += [f"sk >= {bind(prefix)}", f"sk < {bind(prefix_end(prefix))}"]
        if after is not None:
            where.append(f"sk {'<' if newest_first else '>'} {bind(after)}")
        order = "DESC" if newest_first else "ASC"
        condition = " AND ".join(where)
        return f"SELECT {COLUMNS} FROM {self._name} WHERE {condition} ORDER BY sk {order} LIMIT {bind(limit)}", values

    def within(
        self, statement: str, values: Sequence[Any], max_bytes: int, *, newest_first: bool
    ) -> tuple[str, list[Any]]:
        """The first items of a query, until their sizes are together more than `max_bytes`."""
        order = "DESC" if newest_first else "ASC"
        size = "octet_length(data)"
        before = f"sum({size}) OVER (ORDER BY sk {order}) - {size} AS bytes_before"
        measured = f"SELECT {COLUMNS}, {before} FROM ({statement}) AS found"
        limit = f"${len(values) + 1}"
        return (
            f"SELECT {COLUMNS} FROM ({measured}) AS measured WHERE bytes_before <= {limit} ORDER BY sk {order}",
            [*values, max_bytes],
        )

    def begin(self, *keys: Key) -> str:
        """Begins a transaction that has these keys to itself until it ends, also those where nothing is stored.

        Each writer takes its locks in the same order, so none waits for another in a circle.
        """
        locks = sorted({self._lock(key) for key in keys})
        return f"{BEGIN}; SELECT {', '.join(f'pg_advisory_xact_lock({lock})' for lock in locks)}"

    def _lock(self, key: Key) -> int:
        return lock_number(self._table, *key)


def lock_number(*names: str) -> int:
    """The number of the advisory lock for these names."""
    return int.from_bytes(hashlib.blake2b("\0".join(names).encode(), digest_size=8).digest(), signed=True)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def item_of(row: Sequence[Any]) -> Item:
    pk, sk, version, expires, data = row
    return Item(Key(pk, sk), _decode(data), version, expires, len(data))


def write_values(changes: Sequence[Change], now: int) -> list[Any]:
    """The values of `Statements.write`: the time, and one array for each column of the changes."""
    encoded = [_encode(change.data) if isinstance(change, Put) else b"" for change in changes]
    check_sizes(encoded)
    rows = [_row(change, data) for change, data in zip(changes, encoded, strict=True)]
    return [now, *map(list, zip(*rows, strict=True))]


def _row(change: Change, data: bytes) -> tuple[Any, ...]:
    condition, expected = _condition(change.condition)
    match change:
        case Put():
            return (*change.key, "put", condition, expected, change.version, change.expires_at, data)
        case Delete():
            return (*change.key, "delete", condition, expected, None, None, None)
        case Check():
            return (*change.key, "check", condition, expected, None, None, None)


def _condition(condition: Condition) -> tuple[str, int | None]:
    match condition:
        case IfAbsent():
            return "absent", None
        case IfPresent():
            return "present", None
        case Always():
            return "always", None
        case IfVersion(version):
            return "version", version


_WRITE = """
WITH change AS (
    SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::bytea[]) AS change (pk, sk, kind, condition, expected, version, expires, data)
), failed AS (
    SELECT change.pk, change.sk FROM change LEFT JOIN {table} AS item
        ON item.pk = change.pk COLLATE "C" AND item.sk = change.sk COLLATE "C"
        AND (item.expires IS NULL OR item.expires > $1)
    WHERE NOT CASE change.condition
        WHEN 'absent' THEN item.pk IS NULL
        WHEN 'present' THEN item.pk IS NOT NULL
        WHEN 'version' THEN item.version IS NOT DISTINCT FROM change.expected
        ELSE true END
), stored AS (
    INSERT INTO {table} AS item (pk, sk, version, expires, data)
    SELECT pk, sk, version, expires, data FROM change WHERE kind = 'put' AND NOT EXISTS (SELECT FROM failed)
    ON CONFLICT (pk, sk) DO UPDATE
    SET version = excluded.version, expires = excluded.expires, data = excluded.data
), deleted AS (
    DELETE FROM {table} AS item USING change
    WHERE item.pk = change.pk COLLATE "C" AND item.sk = change.sk COLLATE "C"
        AND change.kind = 'delete' AND NOT EXISTS (SELECT FROM failed)
), marked AS (
    INSERT INTO {table} (pk, sk, version, expires, data)
    SELECT $10, $11, $12, $13, '{{}}' WHERE NOT EXISTS (SELECT FROM failed)
    ON CONFLICT (pk, sk) DO UPDATE SET version = excluded.version
)
SELECT ARRAY(SELECT pk FROM failed ORDER BY pk, sk), ARRAY(SELECT sk FROM failed ORDER BY pk, sk)
"""

_SWEEP = """
DELETE FROM {table} WHERE (pk, sk) IN (
    SELECT pk, sk FROM {table} WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED
)
RETURNING 1
"""
