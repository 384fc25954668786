"""Linear's complexity of a query: 0.1 for a value, 1 for an object, multiplied by the length of a list."""

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
    selection: SelectionSetNode | None, kind: GraphQLObjectType, variables: Mapping[str, Any], most: int
) -> float:
    return sum(_field_cost(field, kind, variables, most) for field in _fields(selection))


def _field_cost(field: FieldNode, kind: GraphQLObjectType, variables: Mapping[str, Any], most: int) -> float:
    """`most` is the requested length of the enclosing connection."""
    known = kind.fields[field.name.value].type
    named = get_named_type(known)
    if is_leaf_type(named):
        return VALUE
    assert isinstance(named, GraphQLObjectType)
    if "edges" in named.fields:
        return OBJECT + _list_cost(field.selection_set, named, variables, _first(field, variables))
    times = most if _is_list(known) else 1
    return times * (OBJECT + _list_cost(field.selection_set, named, variables, 1))


def _fields(selection: SelectionSetNode | None) -> Iterator[FieldNode]:
    for item in selection.selections if selection else ():
        assert isinstance(item, FieldNode), "no fragments are expected here"
        yield item


def _is_list(kind: GraphQLOutputType) -> bool:
    return is_list_type(getattr(kind, "of_type", kind))


def _first(field: FieldNode, variables: Mapping[str, Any]) -> int:
    values = next((item.value for item in field.arguments or () if item.name.value == "first"), None)
    result = value_from_ast_untyped(values, dict(variables)) if values else None
    return USUAL if result is None else int(result)
