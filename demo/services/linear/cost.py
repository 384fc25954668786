"""What does Linear count for a query? A tenth for a value, one for an object, and a list as often as it may be long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphql import (
    FieldNode,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionSetNode,
    get_named_type,
    is_leaf_type,
    is_list_type,
    value_from_ast_untyped,
)

VALUE, OBJECT, USUAL = 0.1, 1.0, 50


def cost(schema: GraphQLSchema, operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> float:
    assert schema.query_type
    return _list_cost(operation.selection_set, schema.query_type, variables, 1)


def _list_cost(
    found: SelectionSetNode | None, kind: GraphQLObjectType, variables: Mapping[str, Any], most: int
) -> float:
    return sum(_field_cost(field, kind, variables, most) for field in _fields(found))


def _field_cost(field: FieldNode, kind: GraphQLObjectType, variables: Mapping[str, Any], most: int) -> float:
    """`most`: how long a list is that stands here, as its connection was asked for."""
    known = kind.fields[field.name.value].type
    named = get_named_type(known)
    if is_leaf_type(named):
        return VALUE
    assert isinstance(named, GraphQLObjectType)
    if "edges" in named.fields:
        return OBJECT + _list_cost(field.selection_set, named, variables, _first(field, variables))
    times = most if _is_list(known) else 1
    return times * (OBJECT + _list_cost(field.selection_set, named, variables, 1))


def _fields(found: SelectionSetNode | None) -> Iterator[FieldNode]:
    for each in found.selections if found else ():
        assert isinstance(each, FieldNode), "no fragments are expected here"
        yield each


def _is_list(kind: GraphQLOutputType) -> bool:
    return is_list_type(getattr(kind, "of_type", kind))


def _first(field: FieldNode, variables: Mapping[str, Any]) -> int:
    given = next((each.value for each in field.arguments or () if each.name.value == "first"), None)
    found = value_from_ast_untyped(given, dict(variables)) if given else None
    return USUAL if found is None else int(found)
