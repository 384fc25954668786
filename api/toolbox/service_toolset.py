"""The tools of one connected service: calling one, with the server's credential and within the call's time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from api.kit.clock import Clock
from api.kit.wire import Exchange
from api.servers.service import Server
from api.toolbox import results
from api.toolbox.credentials import Opened
from api.toolbox.failures import Failure, FailureKind
from api.toolbox.results import ToolResult
from api.toolbox.scrubbing import Scrubber
from api.toolbox.texts import safe_line
from api.toolbox.upstream import Upstream
from api.toolbox.upstream_tools import UpstreamTools
from integrations import Refused, ToolFailed, Toolkit

LONGEST_TEXT = 2000
NOT_ACCEPTED = "Error: {} does not accept this server's credential any more. Somebody has to enter or connect it again."


class ServiceUpstream:
    """What the APIs of services know as `ServiceHttp`."""

    def __init__(self, upstream: Upstream, opened: Opened, until: float, clock: Clock) -> None:
        self._upstream = upstream
        self._opened = opened
        self._until = until
        self._clock = clock

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> Exchange:
        return self._upstream.request(method, url, headers, body, lasting=lasting)

    async def renewed(self) -> bool:
        return await self._opened.otherwise(Refused(HTTPStatus.UNAUTHORIZED, "Unauthorized"))

    def seconds_left(self) -> float:
        return self._until - self._clock.monotonic()


class ServiceToolset:
    """Good for as long as the server's record stays as it is, like an `McpToolset`."""

    def __init__(
        self,
        server: Server,
        opened: Opened,
        upstream: Upstream,
        toolkit: Toolkit,
        tools: UpstreamTools,
        base_url: str,
        title: str,
        clock: Clock,
    ) -> None:
        self.server = server
        self.used_at = clock.monotonic()
        self._opened = opened
        self._upstream = upstream
        self._toolkit = toolkit
        self._tools = tools
        self._base_url = base_url
        self._title = title
        self._clock = clock
        self._busy = 0
        self._left = asyncio.Event()

    @property
    def scrubbed(self) -> Scrubber:
        return self._opened.scrubbed

    @property
    def known_tools(self) -> UpstreamTools:
        return self._tools

    async def tools(self, *, anew: bool = False) -> UpstreamTools:  # noqa: ARG002  # they are what they are
        return self._tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Of a failure that says something of the vendor's state, the kind is raised as an `UpstreamError` would be."""
        tool = self._toolkit.tools[name]
        parsed = tool.parsed(arguments)
        if isinstance(parsed, list):
            return results.failed(Failure(FailureKind.INVALID_ARGUMENTS, " ".join(parsed)))
        until = self._clock.monotonic() + self.server.timeout_seconds
        self._busy += 1
        try:
            if not self._opened.is_ready():
                await self._opened.ready()
            http = ServiceUpstream(self._upstream, self._opened, until, self._clock)
            found = await tool.run(self._toolkit.api(http, self._base_url), parsed)
        except ToolFailed as failed:
            return results.failed(self._failure(failed))
        except Refused as refused:
            if refused.status != HTTPStatus.UNAUTHORIZED:
                raise
            return results.failed(Failure(FailureKind.RECONNECT_REQUIRED, NOT_ACCEPTED.format(self._title)))
        finally:
            self._busy -= 1
            self._left.set()
        text = {"type": "text", "text": found.text()}
        return results.of_tool({"content": [text], "structuredContent": found.structured()}, self.scrubbed)

    def _failure(self, failed: ToolFailed) -> Failure:
        text = safe_line(f"Error: {failed.text}", self.scrubbed, LONGEST_TEXT)
        return Failure(FailureKind(failed.kind), text, failed.retry_after)

    async def close(self) -> None:
        """Calls that are under way are let finish first; they have a deadline."""
        while self._busy:
            self._left.clear()
            await self._left.wait()
