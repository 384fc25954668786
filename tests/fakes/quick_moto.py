"""Shortcuts for moto's slowest steps, with the same results: importing this module installs them.

moto is made for a few requests of a test. Here thousands go to one of its tables, and each of these steps costs more
than all that a request is about.
"""

from __future__ import annotations

import base64
import copy
from collections import deque
from functools import cache
from typing import Any

import moto.core.responses
from moto.core.parse import JSONParser
from moto.core.serialize import BaseJSONSerializer
from moto.core.utils import method_names_from_class
from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

INDEX_NAME = 6  # its place among the positional arguments after the hash key
PLAIN = frozenset({"S", "N", "BOOL", "NULL"})

_query = Table.query
_cast_value = DynamoType.cast_value.fget
_lex = ConditionExpressionParser._lex_condition_expression
_parse_structure = JSONParser._parse_structure
_serialize_structure = BaseJSONSerializer._serialize_type_structure


def _backup(table: Table, _: dict[int, Any]) -> Table:
    """What moto keeps of a table while it carries out a transaction, copied again for each of its changes.

    Its own is a copy of every attribute of every item. Items are only ever replaced whole, so a copy of the
    dictionaries is enough.
    """
    backup = copy.copy(table)
    backup.items = copy.copy(table.items)
    for hash_key, items in table.items.items():
        backup.items[hash_key] = copy.copy(items)
    return backup


def _query_one_partition(table: Table, hash_key: Any, *page: Any, **conditions: Any) -> Any:
    """moto sorts the whole table and then picks the partition."""
    index_name = page[INDEX_NAME]
    if index_name is None and hash_key in table.items:
        partition = copy.copy(table)
        partition.items = {hash_key: table.items[hash_key]}
        return _query(partition, hash_key, *page, **conditions)
    return _query(table, hash_key, *page, **conditions)


def _cast(value: DynamoType) -> Any:
    return value.value if value.type == "S" else _cast_value(value)


def _tokens(parser: ConditionExpressionParser) -> Any:
    return deque(_tokens_of(parser.condition_expression))


@cache
def _tokens_of(expression: str) -> tuple[Any, ...]:
    return tuple(_lex(ConditionExpressionParser(expression, None, None)))


def _parse(parser: JSONParser, shape: Any, value: Any) -> Any:
    """An attribute has one member of ten that its shape allows."""
    if shape.name == "AttributeValue" and len(value) == 1 and PLAIN.issuperset(value):
        return value
    return _parse_structure(parser, shape, value)


def _serialize(serializer: BaseJSONSerializer, serialized: Any, value: Any, shape: Any, key: str) -> None:
    if shape.name == "AttributeValue":
        serialized[key] = _attribute(value)
    else:
        _serialize_structure(serializer, serialized, value, shape, key)


def _attribute(value: dict[str, Any]) -> dict[str, Any]:
    ((kind, content),) = value.items()
    match kind:
        case "M":
            return {"M": {name: _attribute(member) for name, member in content.items()}}
        case "L":
            return {"L": [_attribute(member) for member in content]}
        case "B":
            return {"B": base64.b64encode(content).decode("ascii")}
        case "BS":
            return {"BS": [base64.b64encode(member).decode("ascii") for member in content]}
        case _:
            return value


Table.__deepcopy__ = _backup
Table.query = _query_one_partition
DynamoType.cast_value = property(_cast)
ConditionExpressionParser._lex_condition_expression = _tokens
JSONParser._parse_structure = _parse
BaseJSONSerializer._serialize_type_structure = _serialize
moto.core.responses.method_names_from_class = cache(method_names_from_class)
