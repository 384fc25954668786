"""Checks a whole answer once, before its speed is measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import msgspec

from api.toolbox.tool_names import tool_name
from bench.load import Request, UnexpectedResponse, fetch_body
from bench.seeding import slug
from bench.upstream import RESULT, TEXT, TOOL_LIST, TOOLS
from bench.upstream import tool_name as upstream_name


class Check(Protocol):
    def __call__(self, answer: Any, /) -> bool: ...


async def expecting_first_response(port: int, question: Request, is_right: Check) -> Request:
    """With the whole of the answer, so that from now on each has to be the same."""
    body = await fetch_body(port, question)
    if not is_right(msgspec.json.decode(body)):
        raise UnexpectedResponse(f"{question.path} answered {body[:2000]!r}")
    return replace(question, expected=body)


def is_result(answer: Any) -> bool:
    """Of the upstream itself, or passed through."""
    return bool(answer == {"jsonrpc": "2.0", "id": 1, "result": RESULT})


def is_list(answer: Any) -> bool:
    return bool(answer == {"jsonrpc": "2.0", "id": 1, "result": TOOL_LIST})


def are_lists(answer: Any, servers: int) -> bool:
    return len(answer) == servers and all(map(is_list, answer))


def is_call(answer: Any) -> bool:
    return bool(answer == {"text": TEXT, "content": RESULT["content"], "isError": False})


def are_tools(answer: Any, servers: int) -> bool:
    """Each with its schema and what it is for, under a name of its own."""
    named = {each["name"]: each for each in answer["tools"]}
    whole = all(
        each["inputSchema"]["properties"].keys() == _PROPERTIES and each["description"] for each in named.values()
    )
    return whole and named.keys() == set(_names(servers)) and answer["unavailable"] == []


_PROPERTIES = TOOL_LIST["tools"][0]["inputSchema"]["properties"].keys()


def _names(servers: int) -> Iterator[str]:
    for server in range(servers):
        yield from (tool_name(slug(server), upstream_name(number)) for number in range(TOOLS))
