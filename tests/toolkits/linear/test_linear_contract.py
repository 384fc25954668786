from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLObjectType,
)

from demo.oauth_provider.tenant import RecordedRequest
from demo.services.linear.fake import SCHEMA
from integrations.linear import queries
from integrations.linear.lookup import KINDS
from tests.toolkits.linear.linear_contract import CONTRACT, schema

pytestmark = CONTRACT.needed
OURS = [name for name in SCHEMA.type_map if not name.startswith("__")]


def sent(query: str, kind: str = "application/json", method: str = "POST", **variables: object) -> RecordedRequest:
    return CONTRACT.sent(method, "/graphql", {"query": query, "variables": variables}, **{"content-type": kind})


def differences(ours: GraphQLNamedType, theirs: GraphQLNamedType) -> Iterator[str]:
    """Nothing, where all that the one has the other has too."""
    if type(ours) is not type(theirs):
        yield f"{ours.name} is something else"
    elif isinstance(ours, GraphQLEnumType) and isinstance(theirs, GraphQLEnumType):
        yield from (f"{ours.name}.{value}" for value in ours.values.keys() - theirs.values.keys())
    elif isinstance(ours, GraphQLInputObjectType) and isinstance(theirs, GraphQLInputObjectType):
        for name, item in ours.fields.items():
            if name not in theirs.fields or str(theirs.fields[name].type) != str(item.type):
                yield f"{ours.name}.{name}"
    elif isinstance(ours, GraphQLObjectType) and isinstance(theirs, GraphQLObjectType):
        yield from _of_object(ours, theirs)


def _of_object(ours: GraphQLObjectType, theirs: GraphQLObjectType) -> Iterator[str]:
    for name, item in ours.fields.items():
        other = theirs.fields.get(name)
        if other is None or str(other.type) != str(item.type):
            yield f"{ours.name}.{name}"
            continue
        for value, of in item.args.items():
            if value not in other.args or str(other.args[value].type) != str(of.type):
                yield f"{ours.name}.{name}({value})"


@pytest.mark.parametrize("name", OURS)
def test_the_schema_of_the_fake_is_part_of_linears(name: str) -> None:
    theirs = schema().type_map.get(name)
    assert theirs is not None, f"Linear has no {name}"
    assert list(differences(SCHEMA.type_map[name], theirs)) == []


def test_every_query_of_the_toolkit_is_accepted() -> None:
    requests = [(f"{word}0", word, *kind) for word, kind in KINDS.items()]
    makers = (queries.teams, queries.projects, queries.issues, queries.search, queries.issue)
    needed: dict[str, Any] = {"first": 1, "term": "x", "id": "x", "comments": 1}
    documents = [make(full=full) for make in makers for full in (True, False)]
    for query in (*documents, queries.names(requests), queries.STATUSES):
        values = {name: value for name, value in needed.items() if f"${name}:" in query}
        CONTRACT.assert_accepts(sent(query, **values))


@pytest.mark.parametrize(
    ("recorded", "complaint"),
    [
        (sent("{ teams { nodes { nickname } } }"), "nickname"),
        (sent("{ teams(limit: 5) { nodes { id } } }"), "limit"),
        (sent("{ teams { nodes { id } }"), "Syntax Error"),
        (sent("{ projects { nodes { state } } }"), "deprecated"),
        (sent("{ teams { nodes { id } } }", first=5), "no $first"),
        (sent("query A($first: Int!) { teams(first: $first) { nodes { id } } }"), "$first"),
        (sent("query A($first: Int!) { teams(first: $first) { nodes { id } } }", first="5"), "'$first'"),
        (
            sent("query A($f: TeamFilter) { teams(filter: $f) { nodes { id } } }", f={"nickname": {"eq": "a"}}),
            "nickname",
        ),
        (sent("mutation { issueDelete(id: 5) { success } }"), "no query"),
        (sent("{ teams { nodes { id } } }", kind="application/graphql"), "POST and JSON"),
        (sent("{ teams { nodes { id } } }", method="GET"), "POST and JSON"),
    ],
)
def test_queries_that_linear_would_refuse_are_detected(recorded: RecordedRequest, complaint: str) -> None:
    CONTRACT.assert_refuses(recorded, complaint)
