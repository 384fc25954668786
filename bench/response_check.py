"""Checks a complete response once before its speed is measured."""

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
    def __call__(self, response: Any, /) -> bool: ...


async def expecting_first_response(port: int, question: Request, is_right: Check) -> Request:
    """The same request, expecting exactly the first response from now on."""
    body = await fetch_body(port, question)
    if not is_right(msgspec.json.decode(body)):
        raise UnexpectedResponse(f"{question.path} answered {body[:2000]!r}")
    return replace(question, expected=body)


def is_result(response: Any) -> bool:
    """A result of the upstream, direct or passed through."""
    return bool(response == {"jsonrpc": "2.0", "id": 1, "result": RESULT})


def is_list(response: Any) -> bool:
    return bool(response == {"jsonrpc": "2.0", "id": 1, "result": TOOL_LIST})


def are_lists(response: Any, servers: int) -> bool:
    return len(response) == servers and all(map(is_list, response))


def is_call(response: Any) -> bool:
    return bool(response == {"text": TEXT, "content": RESULT["content"], "isError": False})


def are_tools(response: Any, servers: int) -> bool:
    """Every tool has a schema, a description and a unique name."""
    named = {tool["name"]: tool for tool in response["tools"]}
    whole = all(
        value["inputSchema"]["properties"].keys() == _PROPERTIES and value["description"] for value in named.values()
    )
    return whole and named.keys() == set(_names(servers)) and response["unavailable"] == []


_PROPERTIES = TOOL_LIST["tools"][0]["inputSchema"]["properties"].keys()


def _names(servers: int) -> Iterator[str]:
    for server in range(servers):
        yield from (tool_name(slug(server), upstream_name(number)) for number in range(TOOLS))
