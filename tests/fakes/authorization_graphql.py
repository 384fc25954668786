"""What does Linear answer to a query? Only what exists is answered, and only what was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.authorization_wire import Answer, Json, said

TOKENS = re.compile(r"[{}]|\w+")
BARE = object()
"""Stands for an object of which no field was asked for yet."""
NAMED_QUERY = re.compile(r"\s*(query\b\s*\w*)?\s*(?={)")


class NoSuchField(Exception):
    pass


def linear_answer(query: object, everything: Json) -> Answer:
    text = query if isinstance(query, str) else ""
    start = NAMED_QUERY.match(text)
    tokens = iter(TOKENS.findall(text[start.end() :] if start else ""))
    try:
        return said({"data": _picked(tokens, everything) if next(tokens, None) == "{" else _no_query()})
    except NoSuchField as error:
        problem = {"message": str(error), "extensions": {"code": "GRAPHQL_VALIDATION_FAILED", "type": "graphql error"}}
        return said({"errors": [problem]}, 400)


def _no_query() -> Json:
    raise NoSuchField("A query is expected.")


def _picked(tokens: Iterator[str], value: Json) -> Json:
    """Up to the brace that closes this selection."""
    found: dict[str, Any] = {}
    last = ""
    for token in tokens:
        if token == "}":
            return _whole(found)
        if token == "{":
            if not isinstance(value.get(last), dict):
                raise NoSuchField(f"{last} has no fields")
            found[last] = _picked(tokens, value[last])
        elif token in value:
            found[token], last = BARE if isinstance(value[token], dict) else value[token], token
        else:
            raise NoSuchField(f'Cannot query field "{token}"')
    raise NoSuchField("a brace is missing")


def _whole(found: Json) -> Json:
    bare = [name for name, value in found.items() if value is BARE]
    if bare:
        raise NoSuchField(f"{bare[0]} needs a selection of its fields")
    return found
