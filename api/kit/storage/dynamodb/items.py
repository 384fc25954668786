"""Items, conditions and changes in the form of DynamoDB's API.

An item has the attributes `pk`, `sk`, `version`, `data` (JSON text), `expires` (DynamoDB removes it some time after)
and `write_id`, the mark of the write that put it there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
)

LIVE = "(attribute_not_exists(#expires) OR #expires > :now)"

Attributes = Mapping[str, Mapping[str, Any]]

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


def key_attributes(key: Key) -> dict[str, dict[str, str]]:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def key_of(attributes: Attributes) -> Key:
    return Key(attributes["pk"]["S"], attributes["sk"]["S"])


def write_id_of(attributes: Attributes) -> str | None:
    return attributes.get("write_id", {}).get("S")


def live_item(attributes: Attributes, now: int) -> Item | None:
    """The item; None if it has expired, since DynamoDB may remove it days later."""
    expires_at = int(attributes["expires"]["N"]) if "expires" in attributes else None
    if expires_at is not None and expires_at <= now:
        return None
    text, version = attributes["data"]["S"], int(attributes["version"]["N"])
    return Item(key_of(attributes), _decode(text), version, expires_at, len(text))


def query_request(table: str, partition: tuple[str, str], limit: int, *, newest_first: bool) -> dict[str, Any]:
    """Items of a partition with a prefix."""
    pk, prefix = partition
    condition, values = "pk = :pk", {":pk": {"S": pk}}
    if prefix:
        condition += " AND begins_with(sk, :prefix)"
        values[":prefix"] = {"S": prefix}
    return {
        "TableName": table,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values,
        "ConsistentRead": True,
        "ScanIndexForward": not newest_first,
        "Limit": limit,
    }


@dataclass(frozen=True, slots=True)
class Transaction:
    """One write, encoded once, so that each attempt sends exactly the same."""

    write_id: str
    changes: Sequence[Change]
    actions: Sequence[Mapping[str, Any]]

    @property
    def puts(self) -> list[Key]:
        return [change.key for change in self.changes if isinstance(change, Put)]

    @property
    def has_deletes(self) -> bool:
        return any(isinstance(change, Delete) for change in self.changes)


def transaction(changes: Sequence[Change], table: str, write_id: str, now: int) -> Transaction:
    effective = [change for change in changes if not _is_noop(change)]
    encoded = [_encode(change.data) if isinstance(change, Put) else b"" for change in effective]
    check_sizes(encoded)
    actions = [
        _action(change, data.decode(), table, write_id, now) for change, data in zip(effective, encoded, strict=True)
    ]
    return Transaction(write_id, effective, actions)


def _is_noop(change: Change) -> bool:
    """A check that always holds, which DynamoDB cannot express."""
    return isinstance(change, Check) and isinstance(change.condition, Always)


def _action(change: Change, data: str, table: str, write_id: str, now: int) -> dict[str, Any]:
    condition = _condition(change.condition, now)
    match change:
        case Put():
            item = _put_attributes(change, data, write_id)
            # The item that failed the condition is returned: our mark on it shows that an earlier attempt succeeded.
            returned = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"} if condition else {}
            return {"Put": {"TableName": table, "Item": item, **condition, **returned}}
        case Delete():
            return {"Delete": {"TableName": table, "Key": key_attributes(change.key), **condition}}
        case Check():
            return {"ConditionCheck": {"TableName": table, "Key": key_attributes(change.key), **condition}}


def _put_attributes(put: Put, data: str, write_id: str) -> dict[str, dict[str, str]]:
    attributes = {
        **key_attributes(put.key),
        "version": {"N": str(put.version)},
        "data": {"S": data},
        "write_id": {"S": write_id},
    }
    if put.expires_at is not None:
        attributes["expires"] = {"N": str(put.expires_at)}
    return attributes


def _condition(condition: Condition, now: int) -> dict[str, Any]:
    values = {":now": {"N": str(now)}}
    match condition:
        case Always():
            return {}
        case IfAbsent():
            return _expression("attribute_not_exists(#pk) OR #expires <= :now", ("pk", "expires"), values)
        case IfPresent():
            return _expression(f"attribute_exists(#pk) AND {LIVE}", ("pk", "expires"), values)
        case IfVersion(version):
            values[":version"] = {"N": str(version)}
            return _expression(f"#version = :version AND {LIVE}", ("version", "expires"), values)


def _expression(text: str, names: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "ConditionExpression": text,
        "ExpressionAttributeNames": {f"#{name}": name for name in names},
        "ExpressionAttributeValues": values,
    }
