import tomllib
from pathlib import Path
from typing import Any

import pytest

from demo.mcp_servers import META, MODERN, McpRequest, ModernServer, as_stream, event, result
from integrations.errors import RpcErrorResponse, UnreadableResponse
from integrations.mcp import Era
from tests.fakes.plain_http import client_of

ERA = Era("modern", MODERN)
SQL = {
    "name": "sql",
    "inputSchema": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
    },
}


async def test_every_request_has_complete_headers_and_metadata() -> None:
    server = ModernServer()

    async with client_of(server) as client:
        await client.call_tool("écho", {"a": 1})

    sent = server.requests[-1]
    version = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["version"]
    assert sent.message["params"]["_meta"] == {
        f"{META}protocolVersion": MODERN,
        f"{META}clientInfo": {"name": "Plugboard", "version": version},
        f"{META}clientCapabilities": {},
    }
    assert sent.headers["mcp-protocol-version"] == MODERN
    assert sent.headers["mcp-method"] == "tools/call"
    assert sent.headers["mcp-name"] == "=?base64?w6ljaG8=?="
    assert sent.headers["accept"] == "application/json, text/event-stream"
    assert len({request.message["id"] for request in server.requests}) == len(server.requests)


async def test_the_callers_meta_is_kept_without_our_reserved_fields() -> None:
    server = ModernServer()
    meta = {"progressToken": 7, f"{META}protocolVersion": "1999-01-01"}

    async with client_of(server, ERA) as client:
        await client.call("tools/list", {"_meta": meta})

    sent = server.requests[-1].message["params"]["_meta"]
    assert (sent["progressToken"], sent[f"{META}protocolVersion"]) == (7, MODERN)


async def test_the_uri_of_a_resource_is_named_in_the_headers() -> None:
    server = ModernServer(resources_read=lambda request: result(request, {"contents": []}))

    async with client_of(server, ERA) as client:
        await client.call("resources/read", {"uri": "file:///a"})

    assert server.requests[-1].headers["mcp-name"] == "file:///a"


async def test_a_stream_is_read_to_the_response_and_its_requests_are_ignored() -> None:
    requested = event({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage"})
    text = event({"jsonrpc": "2.0", "method": "notifications/progress"})
    server = ModernServer(
        tools_call=lambda request: as_stream(result(request, {"content": []}), text, requested, b": ping\n\n")
    )

    async with client_of(server, ERA) as client:
        assert await client.call_tool("echo", {}) == {"content": []}

    assert server.methods == ["tools/call"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("input_required", "requested input in an invalid way"), ("task", "unknown type"), (3, "type")],
)
async def test_a_result_that_is_not_complete_is_unreadable(kind: object, value: str) -> None:
    async with client_of(ModernServer(tools_call=lambda request: result(request, {"resultType": kind})), ERA) as client:
        with pytest.raises(UnreadableResponse, match=value):
            await client.call_tool("echo", {})


@pytest.mark.parametrize("value", [{"content": []}, {"content": [], "resultType": "complete"}])
async def test_a_result_without_a_type_is_complete(value: dict[str, object]) -> None:
    async with client_of(ModernServer(tools_call=lambda request: result(request, value)), ERA) as client:
        assert await client.call_tool("echo", {}) == value


async def test_a_result_that_is_no_object_is_unreadable() -> None:
    async with client_of(ModernServer(tools_call=lambda request: result(request, [1])), ERA) as client:
        with pytest.raises(UnreadableResponse, match="not an object"):
            await client.call_tool("echo", {})


async def test_annotated_arguments_are_repeated_in_headers() -> None:
    server = ModernServer([SQL])

    async with client_of(server, ERA) as client:
        await client.call_tool("sql", {"region": "Zürich", "query": "q"}, SQL)

    assert server.requests[-1].headers["mcp-param-region"] == "=?base64?WsO8cmljaA==?="


async def test_a_listed_tool_is_remembered_for_its_call() -> None:
    server = ModernServer([SQL])

    async with client_of(server, ERA) as client:
        await client.list_tools()
        await client.call("tools/call", {"name": "sql", "arguments": {"region": "eu"}})

    assert server.methods == ["tools/list", "tools/call"]


async def test_a_header_mismatch_refreshes_the_list_once_and_repeats_the_call() -> None:
    server = ModernServer([SQL])

    async with client_of(server, ERA) as client:
        await client.call_tool("sql", {"region": "eu"})
        await client.call_tool("sql", {"region": "us"})

    assert server.methods == ["tools/call", "tools/list", "tools/call", "tools/call"]


async def test_a_persistent_header_mismatch_is_reported() -> None:
    hidden: dict[str, Any] = {"name": "sql", "inputSchema": {"properties": {}}}
    server = ModernServer([SQL], tools_list=lambda request: result(request, {"tools": [hidden]}))

    async with client_of(server, ERA) as client:
        with pytest.raises(RpcErrorResponse, match="Header mismatch: mcp-param-region"):
            await client.call_tool("sql", {"region": "eu"})

    assert server.methods == ["tools/call", "tools/list", "tools/call"]


async def test_only_the_tool_with_an_invalid_annotation_is_left_out() -> None:
    wrong = {"name": "bad", "inputSchema": {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}}

    async with client_of(ModernServer([wrong, SQL]), ERA) as client:
        tools = await client.list_tools()

    assert (tools.tools, tools.left_out) == ((SQL,), 1)


async def test_invalid_tools_are_left_out_and_unknown_fields_are_kept() -> None:
    new = {"name": "new", "inputSchema": {}, "future": [1]}
    server = ModernServer(tools_list=lambda request: result(request, {"tools": [None, {"name": 3}, {"name": ""}, new]}))

    async with client_of(server, ERA) as client:
        assert (await client.list_tools()).tools == (new,)


async def test_all_pages_are_read_and_the_shortest_hint_counts() -> None:
    def page(request: McpRequest) -> Any:
        if request.message["params"].get("cursor") == "2":
            return result(request, {"tools": [{"name": "b"}], "ttlMs": 10, "cacheScope": "private"})
        return result(request, {"tools": [{"name": "a"}], "ttlMs": 99, "cacheScope": "public", "nextCursor": "2"})

    async with client_of(ModernServer(tools_list=page), ERA) as client:
        tools = await client.list_tools()

    assert [tool["name"] for tool in tools.tools] == ["a", "b"]
    assert (tools.ttl_ms, tools.scope) == (10, "private")


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({"ttlMs": 5000, "cacheScope": "public"}, (5000, "public")),
        ({}, (None, "private")),
        ({"ttlMs": -1, "cacheScope": "all"}, (0, "private")),
        ({"ttlMs": True}, (None, "private")),
        ({"ttlMs": "9"}, (None, "private")),
        ({"ttlMs": 10**300}, (86_400_000, "private")),
    ],
)
async def test_caching_hints_are_returned_with_the_list(
    hints: dict[str, object], expected: tuple[int | None, str]
) -> None:
    async with client_of(
        ModernServer(tools_list=lambda request: result(request, {"tools": [], **hints})), ERA
    ) as client:
        tools = await client.list_tools()

    assert (tools.ttl_ms, tools.scope) == expected


@pytest.mark.parametrize("always_new", [True, False])
async def test_an_endless_list_is_unreadable(always_new: bool) -> None:
    server = ModernServer()
    server.handlers["tools/list"] = lambda request: result(
        request, {"tools": [], "nextCursor": str(len(server.requests)) if always_new else "x"}
    )

    async with client_of(server, ERA) as client:
        with pytest.raises(UnreadableResponse, match="does not end"):
            await client.list_tools()

    assert len(server.requests) == (100 if always_new else 2)


async def test_a_result_without_a_list_is_unreadable() -> None:
    async with client_of(ModernServer(tools_list=lambda request: result(request, {"tools": {}})), ERA) as client:
        with pytest.raises(UnreadableResponse, match="not a list"):
            await client.list_tools()
