"""Checks requests against the GraphQL schema that Linear publishes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

from graphql import (
    GraphQLError,
    GraphQLSchema,
    NoDeprecatedCustomRule,
    OperationDefinitionNode,
    OperationType,
    build_schema,
    parse,
    validate,
)
from graphql.execution.values import get_variable_values

from demo.oauth_provider.tenant import RecordedRequest
from tests.toolkits.contract import Contract

CONTRACT = Contract("Linear")


@cache
def schema() -> GraphQLSchema:
    return build_schema(CONTRACT.text("schema.graphql"), assume_valid=True)


@CONTRACT.validator
def objections(path: str, request: RecordedRequest) -> Iterator[str]:
    if path != "/graphql":
        yield "there is nothing but GraphQL"
    if request.method != "POST" or not request.headers.get("content-type", "").startswith("application/json"):
        yield f"it is asked with POST and JSON, not {request.method} {request.headers.get('content-type')}"
        return
    sent = json.loads(request.body)
    yield from _of_query(sent["query"], sent.get("variables") or {})
    if unknown := sent.keys() - {"query", "variables", "operationName"}:
        yield f"GraphQL over HTTP knows no {', '.join(sorted(unknown))}"


def _of_query(query: str, variables: dict[str, object]) -> Iterator[str]:
    try:
        document = parse(query)
    except GraphQLError as error:
        yield error.message
        return
    result = validate(schema(), document) + validate(schema(), document, [NoDeprecatedCustomRule])
    yield from (item.message for item in result)
    for operation in document.definitions:
        if isinstance(operation, OperationDefinitionNode):
            yield from _of_operation(operation, variables)


def _of_operation(operation: OperationDefinitionNode, variables: dict[str, object]) -> Iterator[str]:
    if operation.operation != OperationType.QUERY:
        yield f"it is no query: {operation.operation.value}"
    declared = {item.variable.name.value for item in operation.variable_definitions or ()}
    yield from (f"the query declares no ${name}" for name in variables.keys() - declared)
    values = get_variable_values(schema(), operation.variable_definitions or (), variables)
    if isinstance(values, list):
        yield from (value.message for value in values)
