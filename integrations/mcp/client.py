"""A client of an upstream MCP server, independent of the version that the server speaks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping
from functools import partial
from http import HTTPStatus
from itertools import count
from typing import Any

from integrations.errors import RpcErrorResponse, StatusRefused, UnreadableResponse, UpstreamError
from integrations.http_port import Http
from integrations.json_object import Json
from integrations.mcp import detection
from integrations.mcp.exchange import RpcOutcome
from integrations.mcp.header_mirroring import BadAnnotation, Paths, annotated_paths, argument_headers
from integrations.mcp.server_requests import NOBODY, Respondent
from integrations.mcp.session import HEADER_MISMATCH, Era, McpSession, Wait, no_longer_fits, was_refused_unread
from integrations.mcp.tools import ListedTools, NextTurn, listed

PATH_BYTES = 400
STEP_BYTES = 100


class McpClient:
    """One server with one set of credentials, for concurrent use. Connects for the first request.

    Failures are `UpstreamError`s. A request that may have been executed is never sent again.
    `respondent` answers the requests of servers, which they may make since 2025-03-26. `next_turn` is awaited between
    the pieces of long work.
    """

    def __init__(
        self,
        http: Http,
        url: str,
        era: Era | None = None,
        *,
        wait: Wait = asyncio.sleep,
        respondent: Respondent = NOBODY,
        next_turn: NextTurn = lambda: asyncio.sleep(0),
    ) -> None:
        self._site = detection.Endpoint(http, url, count(1), wait, respondent)
        self._era = era
        self._next_turn = next_turn
        self._connection: McpSession | None = None
        self._connecting = asyncio.Lock()
        self._was_confirmed = False
        self._paths: Mapping[str, Paths] = {}
        self._paths_size = 0

    @property
    def era(self) -> Era | None:
        """To be remembered with the server; None until it is known."""
        return self._era

    @property
    def _is_modern(self) -> bool:
        return self._era is not None and self._era.kind == "modern"

    @property
    def size(self) -> int:
        """The memory of what it keeps of the list of tools, in bytes: an estimate."""
        return self._paths_size

    async def call(self, method: str, params: Mapping[str, Any] | None = None) -> Json:
        if method == "tools/call":
            return await self._call_tool(params or {}, None)
        return (await self._send(method, params)).value()

    async def list_tools(self) -> ListedTools:
        await self._connect()
        list_page = partial(self.call, "tools/list")
        tools = await listed(list_page, self._next_turn, with_headers=self._is_modern)
        if self._is_modern:
            self._paths = tools.paths
            self._paths_size = sum(map(_size, self._paths.values()))
        return tools

    def call_tool(
        self, name: str, arguments: Mapping[str, Any], tool: Mapping[str, Any] | None = None
    ) -> Coroutine[Any, Any, Json]:
        """`tool` as it was listed: its schema may want arguments in headers. Without it, as it was listed last."""
        return self._call_tool({"name": name, "arguments": dict(arguments)}, tool)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            await connection.close()

    async def _call_tool(self, params: Mapping[str, Any], tool: Mapping[str, Any] | None) -> Json:
        paths = self._paths.get(str(params.get("name"))) if tool is None else _paths_of(tool)
        outcome = await self._send("tools/call", params, paths)
        if self._is_modern and _wants_other_headers(outcome):  # nothing has been executed
            await self.list_tools()
            outcome = await self._send("tools/call", params, self._paths.get(str(params.get("name"))))
        return outcome.value()

    async def _send(self, method: str, params: Mapping[str, Any] | None, paths: Paths | None = None) -> RpcOutcome:
        connection = self._connection
        if connection is None or not connection.is_open:
            connection = await self._connect_first()
        outcome = await _send_in(connection, method, params, paths)
        if no_longer_fits(outcome, connection.era.kind):
            other = await self._reconnect(connection)
            if other and was_refused_unread(outcome, other.era.kind):
                return await _send_in(other, method, params, paths)
        self._was_confirmed = self._was_confirmed and outcome.error is not None
        return outcome

    async def _connect_first(self) -> McpSession:
        """What fails before the request is sent says nothing about the request."""
        try:
            return await self._connect()
        except UpstreamError as error:
            error.sent = False
            raise

    async def _connect(self) -> McpSession:
        if self._connection is not None and self._connection.is_open:
            return self._connection
        async with self._connecting:
            if self._connection is None or not self._connection.is_open:
                self._connection = await self._open()
                self._era = self._connection.era
            return self._connection

    async def _open(self) -> McpSession:
        if self._era is None:
            return await detection.detect(self._site)
        try:
            return await detection.reopen(self._site, self._era)
        except (RpcErrorResponse, StatusRefused, UnreadableResponse) as error:
            if detection.tells_nothing(error):
                raise
            return await detection.detect(self._site)

    async def _reconnect(self, doubted: McpSession) -> McpSession | None:
        """Another session, if the server speaks another version now. Tried once until a request succeeds again."""
        async with self._connecting:
            if self._connection is not doubted:
                return self._connection
            if self._was_confirmed:
                return None
            other = await detection.detect_again(self._site, doubted.era.kind)
            self._was_confirmed = other is None
            if other:
                self._connection, self._era = other, other.era
                await doubted.close()
            return other


def _send_in(
    connection: McpSession, method: str, params: Mapping[str, Any] | None, paths: Paths | None
) -> Awaitable[RpcOutcome]:
    is_mirrored = paths and connection.era.kind == "modern"
    headers = argument_headers(paths, (params or {}).get("arguments")) if paths and is_mirrored else {}
    return connection.send(method, params, headers)


def _paths_of(tool: Mapping[str, Any]) -> Paths:
    try:
        return annotated_paths(tool.get("inputSchema"))
    except BadAnnotation:
        return {}


def _size(paths: Paths) -> int:
    return sum(PATH_BYTES + sum(STEP_BYTES + len(step) for step in path) for path in paths.values())


def _wants_other_headers(outcome: RpcOutcome) -> bool:
    """In 2026-07-28. In every other version the code has no meaning, or one of the server's own."""
    return (
        outcome.error is not None
        and outcome.status == HTTPStatus.BAD_REQUEST
        and isinstance(outcome.error, RpcErrorResponse)
        and outcome.error.code == HEADER_MISMATCH
    )
