"""The tools of one MCP server, with one set of credentials."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar
from weakref import WeakMethod

from api.kit.clock import Clock
from api.kit.deadline import Deadline, Ticker
from api.kit.redaction import Redactor
from api.servers.server import Server
from api.toolbox.credentials.static import UpstreamCredentials
from api.toolbox.failure_causes import cause_of
from api.toolbox.failure_log import UncheckedTools, log_left_out
from api.toolbox.output import results
from api.toolbox.output.conversion import Conversion, LargeResults
from api.toolbox.output.tool_result import ToolResult
from api.toolbox.toolsets.generic_tool import GENERIC_TOOL
from api.toolbox.toolsets.tool_catalog import ListVersion, ToolCatalog
from api.toolbox.toolsets.toolset import ToolCall, Toolset, open_size
from integrations import Era, McpClient, StatusRefused, UnreadableResponse, UpstreamError

UNKNOWN_TOOL_CODES = (-32601, -32602)
TOO_DEEP = "The answer is nested too deeply."

T = TypeVar("T")
OnEra = Callable[[Era], Awaitable[None]]
OnList = Callable[[ToolCatalog], Awaitable[None]]

log = logging.getLogger(__name__)


class McpToolset(Toolset):
    """Valid as long as the server's record stays the same."""

    def __init__(
        self,
        server: Server,
        credentials: UpstreamCredentials,
        client: McpClient,
        clock: Clock,
        ticker: Ticker,
        on_era: OnEra,
        version: ListVersion,
        large_results: LargeResults,
        *,
        workspace_id: str,
        on_list: OnList,
        recount: Callable[[str, McpToolset], None],
    ) -> None:
        self.server = server
        self._credentials = credentials
        self._client = client
        self._clock = clock
        self._ticker = ticker
        self._on_era = on_era
        self._on_list = on_list
        self._version = version
        self._large_results = large_results
        self._workspace_id = workspace_id
        self._recount = recount
        self._era = client.era
        self._tools: ToolCatalog | None = None
        self._listing: asyncio.Task[ToolCatalog] | None = None
        self._busy = 0
        self._left = asyncio.Event()

    @property
    def era(self) -> Era | None:
        return self._client.era

    @property
    def size(self) -> int:
        return open_size(self.server) + self._client.size + (self._tools.size if self._tools else 0)

    @property
    def redact(self) -> Redactor:
        return self._credentials.redact

    @property
    def known_tools(self) -> ToolCatalog | None:
        """What was listed last, fresh or not."""
        return self._tools

    async def list_tools(self, deadline: Deadline, *, refresh: bool = False) -> ToolCatalog:  # noqa: ARG002
        """A list that is no longer fresh is usable for a while longer, during which a new one is fetched.

        The request for it has a deadline of its own, since several callers share it.
        """
        known, now = self._tools, self._clock.monotonic()
        if known is None or refresh or not (known.is_fresh(now) or known.is_usable(now)):
            return await self._wait_for(self._refresh())
        if not known.is_fresh(now):
            self._refresh()
        return known

    async def call(self, call: ToolCall) -> ToolResult:
        if call.tool is GENERIC_TOOL:
            return await self._call_method(call.arguments["method"], call.arguments.get("params"))
        name, arguments = call.tool.name, call.arguments
        self._busy += 1
        try:
            response = await self._with_valid_credentials(lambda: self._client.call_tool(name, arguments))
        except UpstreamError as error:
            self._doubt(error)
            raise
        finally:
            self._leave()
        if self._client.era is not self._era:
            await self._keep_era()
        plain = results.plain_of_tool(response, self._credentials.redact)
        return await self._convert(results.of_tool, response) if plain is None else plain

    async def _call_method(self, method: str, params: Mapping[str, Any] | None) -> ToolResult:
        self._busy += 1
        try:
            response = await self._with_valid_credentials(lambda: self._client.call(method, params))
        finally:
            self._leave()
        await self._keep_era()
        convert = results.of_tool if method == "tools/call" else results.of_method
        return await self._convert(convert, response)

    async def _convert(self, conversion: Conversion, response: dict[str, Any]) -> ToolResult:
        try:
            return await self._large_results.convert(conversion, response, self._credentials.redact)
        except RecursionError as error:
            raise UnreadableResponse(TOO_DEEP) from error

    async def close(self) -> None:
        """Calls under way finish first; they have deadlines."""
        while self._busy:
            self._left.clear()
            await self._left.wait()
        if self._listing:
            self._listing.cancel()
        await self._client.close()

    async def _with_valid_credentials(self, request: Callable[[], Awaitable[T]]) -> T:
        """With valid credentials. If they are rejected, nothing was done, so renewed ones are tried once."""
        credentials = self._credentials
        if not credentials.is_ready():
            await credentials.ready()
        sent = credentials.sent
        try:
            return await request()
        except StatusRefused as refused:
            if not await credentials.renew_after_rejection(refused, sent):
                raise
        return await request()

    async def _wait_for(self, listing: asyncio.Task[ToolCatalog]) -> ToolCatalog:
        """A cancelled caller does not cancel the list for others. Closing waits, as for a call."""
        self._busy += 1
        try:
            return await asyncio.shield(listing)
        finally:
            self._leave()

    def _leave(self) -> None:
        self._busy -= 1
        self._left.set()

    def _refresh(self) -> asyncio.Task[ToolCatalog]:
        """One request at a time, shared by all callers."""
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._list())
            self._listing.add_done_callback(partial(_log_failure, self.server.id))
        return self._listing

    async def _list(self) -> ToolCatalog:
        with Deadline(self._ticker, self.server.timeout_seconds).enforce():
            listed = await self._with_valid_credentials(self._client.list_tools)
        log_left_out(self._workspace_id, self.server.id, listed.reasons)
        now, redact = self._clock.monotonic(), self._credentials.redact
        unchecked = UncheckedTools(self._workspace_id, self.server.id)
        tools = await ToolCatalog.of(listed, now, redact, _weakly(self._changed_size), unchecked)
        self._replace(tools)
        await self._keep_era()
        await self._on_list(tools)
        return tools

    def _replace(self, tools: ToolCatalog) -> None:
        self._tools = tools
        self._version.number += 1
        self._changed_size()

    def _changed_size(self) -> None:
        self._recount(self._workspace_id, self)

    async def _keep_era(self) -> None:
        if self._client.era is not self._era and self._client.era is not None:
            self._era = self._client.era
            await self._on_era(self._client.era)

    def _doubt(self, error: UpstreamError) -> None:
        """The server may have other tools now, so the next caller fetches the list again."""
        if getattr(error, "code", None) in UNKNOWN_TOOL_CODES and self._tools is not None:
            self._replace(self._tools.as_stale())


def _weakly(method: Callable[[], None]) -> Callable[[], None]:
    """A tool must not refer to its toolset: a circle would keep megabytes until the next full garbage collection."""
    reference = WeakMethod(method)

    def call() -> None:
        if (alive := reference()) is not None:
            alive()

    return call


def _log_failure(server_id: str, task: asyncio.Task[ToolCatalog]) -> None:
    """A failure in the background is logged only; the next list reports it."""
    if not task.cancelled() and (error := task.exception()):
        cause = cause_of(error, type(error).__name__)
        log.info("tools not fetched", extra={"server": server_id, "cause": cause.word})
