"""Everything that the client sends is held to the protocol's own types, for each of its versions."""

from collections.abc import Mapping
from typing import Any

import pytest
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types.methods import CLIENT_NOTIFICATIONS, CLIENT_REQUESTS, validate_client_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from demo.mcp_servers import (
    ECHO,
    FakeMcpServer,
    Json,
    LegacyServer,
    McpRequest,
    McpResponse,
    ModernServer,
    SessionServer,
    as_stream,
    event,
    result,
)
from integrations.mcp import Era, McpClient
from integrations.mcp.session import LEGACY_VERSIONS, MODERN_VERSION
from tests.fakes.plain_http import client_of

ELICIT = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}


class Person:
    capabilities: Mapping[str, Any] = {"elicitation": {"form": {}}}

    async def answer(self, method: str, params: Mapping[str, Any]) -> Json | None:  # noqa: ARG002  only one is asked
        return {"action": "accept", "content": {"age": 3}}


def server_of(version: str) -> FakeMcpServer:
    if version == MODERN_VERSION:
        return ModernServer()
    return LegacyServer() if version == "2024-11-05" else SessionServer(version=version, streams=True)


def hold(request: McpRequest, version: str) -> None:
    """Raises where it is not of its type, or where it says anything that its type does not know."""
    message = request.message
    match message:
        case {"method": "server/discover"}:  # the probe is a message of 2026-07-28, whomever it meets
            _hold_to(CLIENT_REQUESTS["server/discover", MODERN_VERSION], JSONRPCRequest, message)
        case {"method": str(method), "id": _}:
            _hold_to(CLIENT_REQUESTS[method, version], JSONRPCRequest, message)
        case {"method": str(method)}:
            _hold_to(CLIENT_NOTIFICATIONS[method, version], JSONRPCNotification, message)
        case {"error": _}:
            _same(JSONRPCError, message)
        case _:
            _same(JSONRPCResponse, message)


def _hold_to(kind: type[BaseModel], envelope: type[BaseModel], message: Json) -> None:
    _same(envelope, message)
    _same(kind, message)


def _same(kind: type[BaseModel], message: Json) -> None:
    read = kind.model_validate(message, by_name=False)
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == message


async def use(client: McpClient) -> None:
    await client.list_tools()
    await client.call_tool("echo", {"text": "hi", "list": [1, None, {"a": 2.5}]})


async def used(server: FakeMcpServer, era: Era | None = None) -> list[McpRequest]:
    async with client_of(server, era, respondent=Person()) as client:
        await use(client)
    return [request for request in server.requests if request.http_method == "POST"]


def test_the_client_knows_every_protocol_version() -> None:
    assert {*LEGACY_VERSIONS, MODERN_VERSION} == set(KNOWN_PROTOCOL_VERSIONS)
    assert set(LEGACY_VERSIONS) == set(HANDSHAKE_PROTOCOL_VERSIONS)


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_a_handshake_a_list_and_a_call_match_the_protocols_types(version: str) -> None:
    sent = await used(server_of(version))

    methods = dict.fromkeys(request.method for request in sent)  # the oldest are greeted in two places
    assert list(methods) == ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"]
    for request in sent:
        hold(request, version)


async def test_discovery_a_list_and_a_call_match_the_protocols_types() -> None:
    sent = await used(server_of(MODERN_VERSION))

    assert [request.method for request in sent] == ["server/discover", "tools/list", "tools/call"]
    for request in sent:
        hold(request, MODERN_VERSION)


@pytest.mark.parametrize("version", [MODERN_VERSION, "2025-11-25"])
async def test_the_next_page_is_requested_with_the_protocols_cursor(version: str) -> None:
    pages = [{"tools": [ECHO], "nextCursor": "2"}, {"tools": []}]
    server = server_of(version)
    server.handlers["tools/list"] = lambda request: result(request, pages.pop(0))

    first, second = [item for item in await used(server) if item.method == "tools/list"]

    assert (first.message.get("params", {}).get("cursor"), second.message["params"]["cursor"]) == (None, "2")
    hold(second, version)


async def test_responses_to_input_requests_match_the_protocols_types() -> None:
    rounds = [{"resultType": "input_required", "inputRequests": {"c": ELICIT}, "requestState": "s"}, {"content": []}]

    sent = await used(ModernServer(tools_call=lambda request: result(request, rounds.pop(0))))

    again = sent[-1]
    assert again.message["params"]["inputResponses"] == {"c": {"action": "accept", "content": {"age": 3}}}
    hold(again, MODERN_VERSION)


async def test_responses_to_a_servers_requests_match_the_protocols_types() -> None:
    def asking(request: McpRequest) -> McpResponse:
        ping = event({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        return as_stream(result(request, {"content": []}), ping, event({"jsonrpc": "2.0", "id": 1, **ELICIT}))

    sent = await used(SessionServer(tools_call=asking))

    replies = [request for request in sent if "method" not in request.message]
    assert [reply.message["id"] for reply in replies] == ["p", 1]
    for reply in replies:
        hold(reply, "2025-11-25")
    validate_client_result("ping", "2025-11-25", replies[0].message["result"])
    validate_client_result("elicitation/create", "2025-11-25", replies[1].message["result"])


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": {}}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "args": {}}},
        {"jsonrpc": "2.0", "id": True, "method": "tools/list"},
        {"id": 1, "method": "tools/list"},
    ],
)
def test_a_message_of_another_type_is_detected(message: Json) -> None:
    with pytest.raises((ValidationError, AssertionError)):
        hold(McpRequest("POST", "/", {}, message), "2025-11-25")
