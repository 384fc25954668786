"""Our client of upstreams, with nothing of Plugboard around it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import pytest

from api.kit.egress.policy import EgressPolicy, check_url
from api.kit.http_client.client import HttpClient
from api.upstream_http import UpstreamHttp
from integrations import Era, McpClient
from integrations.mcp.session import Kind
from tests.real.catalogue import (
    EVERYTHING,
    EVERYTHING_SSE,
    RESTARTED,
    SDK,
    SDK_JSON,
    SDK_LEGACY,
    SDK_LEGACY_JSON,
    RealServer,
    Running,
    named,
    running,
)

EGRESS = EgressPolicy.parse("127.0.0.1/32")
PATIENCE_SECONDS = 30.0
WITH_SUMS = (EVERYTHING, EVERYTHING_SSE, SDK, SDK_JSON, SDK_LEGACY, SDK_LEGACY_JSON)


@asynccontextmanager
async def client_of(run: Running, era: Era | None = None) -> AsyncIterator[McpClient]:
    outbound = HttpClient(EGRESS)
    http = UpstreamHttp(outbound, EGRESS, check_url(run.url, EGRESS).origin, {}, pool="one", seconds=20.0)
    client = McpClient(http, run.url, era)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            yield client
    finally:
        await client.close()
        await outbound.close()


def text_of(result: dict[str, Any]) -> str:
    assert not result.get("isError"), result
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


async def test_the_protocol_is_detected_and_tools_are_listed(run: Running) -> None:
    async with client_of(run) as client:
        tools = await client.list_tools()

        assert client.era
        assert (client.era.kind, client.era.version) == (run.server.kind, run.server.version)
        assert client.era.server.get("name") == run.server.calls_itself
        assert {tool["name"] for tool in tools.tools} == run.server.tools
        assert tools.left_out == 0


async def test_a_call_is_answered(run: Running) -> None:
    async with client_of(run) as client:
        result = await client.call_tool(run.server.tool, run.args)

    assert run.server.says in text_of(result)
    assert run.server.structured in (None, result.get("structuredContent"))


async def test_a_detected_protocol_serves_the_next_client(run: Running) -> None:
    async with client_of(run) as first:
        await first.list_tools()
        assert first.era
        kept = Era.from_dict(first.era.to_dict())

    async with client_of(run, kept) as second:
        assert run.server.says in text_of(await second.call_tool(run.server.tool, run.args))
        assert second.era == kept


@pytest.mark.parametrize("kind", get_args(Kind))
async def test_a_call_succeeds_with_any_remembered_protocol(run: Running, kind: Kind) -> None:
    async with client_of(run, Era(kind)) as client:
        assert run.server.says in text_of(await client.call_tool(run.server.tool, run.args))


@pytest.mark.parametrize("server", WITH_SUMS, ids=named)
async def test_concurrent_calls_get_their_own_responses(server: RealServer, tmp_path: Path) -> None:
    with running(server, tmp_path) as run:
        async with client_of(run) as client:
            adding = "add" if "add" in server.tools else "get-sum"
            responses = await asyncio.gather(*(client.call_tool(adding, {"a": n, "b": 1000}) for n in range(50)))

    assert [str(1000 + n) in text_of(answer) for n, answer in enumerate(responses)] == [True] * 50


@pytest.mark.parametrize("server", RESTARTED, ids=named)
async def test_a_restarted_server_is_called_without_errors(server: RealServer, tmp_path: Path) -> None:
    with running(server, tmp_path) as run:
        async with client_of(run) as client:
            assert server.says in text_of(await client.call_tool(server.tool, run.args))
            await asyncio.to_thread(run.restart)
            assert server.says in text_of(await client.call_tool(server.tool, run.args))
