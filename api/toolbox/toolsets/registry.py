"""Which toolsets are open: one for each server that is in use, with one set of credentials, and not for ever."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass

from api.access.context import WorkspaceContext
from api.kit.clock import Clock
from api.kit.egress.policy import EgressPolicy, UrlRefused, check_url
from api.kit.http_client.client import HttpClient
from api.kit.http_client.errors import ConnectionFailed as NotReached
from api.kit.storage.store import Store
from api.servers.server import EXTERNAL, Server
from api.toolbox.credentials.static import CredentialStore
from api.toolbox.protocol_repository import ProtocolRepository
from api.toolbox.toolsets.catalog import ListVersion
from api.toolbox.toolsets.mcp import McpToolset
from api.toolbox.toolsets.service import ServiceToolset
from api.toolbox.toolsets.service_directory import ServiceDirectory
from api.upstream_http import UpstreamHttp
from integrations import McpClient, Unreachable, UnreadableResponse, UpstreamError

IDLE_SECONDS = 300.0
SWEEP_SECONDS = 30.0
MOST_OPEN = 2000
LAST_SECONDS = 3.0
"""At the end of the process no call is under way any more: no more is left than to say goodbye."""
CLOSE_SECONDS = 40.0
"""More than a call may take, which is let finish."""

NO_TOOLS = "This version of Plugboard has no tools for this service."

Toolset = McpToolset | ServiceToolset
Owned = tuple[str, str]
"""A workspace and a server of it."""


@dataclass(frozen=True, slots=True)
class ToolsetDeps:
    """What toolsets are made with, the same for every request."""

    store: Store
    outbound: HttpClient
    egress: EgressPolicy
    credentials: CredentialStore
    services: ServiceDirectory
    clock: Clock


class ToolsetRegistry:
    def __init__(self, means: ToolsetDeps) -> None:
        self.changes = ListVersion()
        self._means = means
        self._open: OrderedDict[Owned, Toolset] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None

    def get_ready(self, ctx: WorkspaceContext, server: Server) -> Toolset | None:
        """Without waiting for anything; one for an older state of the server is none, one for a newer will do."""
        owned = (ctx.workspace_id, server.id)
        found = self._open.get(owned)
        if found is None:
            return None
        if found.server is not server and found.server != server and found.server.version <= server.version:
            self._let_go(owned)
            return None
        found.used_at = self._means.clock.monotonic()
        self._open.move_to_end(owned)
        return found

    async def get(self, ctx: WorkspaceContext, server: Server) -> Toolset:
        return self.get_ready(ctx, server) or await self._opened(ctx, server)

    async def fresh(self, ctx: WorkspaceContext, server: Server) -> McpToolset:
        """For one who asks how an MCP server is: nothing is remembered, and whoever asked has to close it."""
        return await self._of_any(ctx, server, remember=False)

    async def close(self) -> None:
        if self._sweeper:
            self._sweeper.cancel()
        for owned in list(self._open):
            self._let_go(owned)
        if self._closing:
            _, late = await asyncio.wait(self._closing, timeout=LAST_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def __len__(self) -> int:
        return len(self._open)

    async def _opened(self, ctx: WorkspaceContext, server: Server) -> Toolset:
        made = await self._make(ctx, server)
        other = self.get_ready(ctx, server)  # somebody else may have been quicker
        if other is not None:
            self.close_later(made)
            return other
        self._open[ctx.workspace_id, server.id] = made
        self._sweep()
        return made

    async def _make(self, ctx: WorkspaceContext, server: Server) -> Toolset:
        if server.service_type != EXTERNAL:
            return await self._of_service(ctx, server)
        return await self._of_any(ctx, server, remember=True)

    async def _of_service(self, ctx: WorkspaceContext, server: Server) -> ServiceToolset:
        means, vendors = self._means, self._means.services
        toolkit, tools = vendors.toolkit(server.service_type), vendors.tools(server.service_type)
        if toolkit is None or tools is None:
            raise UnreadableResponse(NO_TOOLS, sent=False)
        opened = await means.credentials.open(ctx, server)
        upstream, base_url = vendors.upstream(ctx, server, opened), vendors.base_url(server)
        title = vendors.services[server.service_type].title
        return ServiceToolset(server, opened, upstream, toolkit, tools, base_url, title, means.clock)

    async def _of_any(self, ctx: WorkspaceContext, server: Server, *, remember: bool) -> McpToolset:
        means, eras = self._means, ProtocolRepository(self._means.store, ctx)
        try:
            origin = check_url(server.url or "", means.egress).origin
        except UrlRefused as refused:  # it was acceptable once
            raise Unreachable(NotReached.text, sent=False) from refused
        opened = await means.credentials.open(ctx, server)
        era = await eras.get(server) if remember else None
        upstream = UpstreamHttp(
            means.outbound,
            means.egress,
            origin,
            opened.headers,
            pool=f"{ctx.workspace_id} {server.id} {server.version}",
            seconds=server.timeout_seconds,
        )
        client = McpClient(upstream, server.url or "", era)
        return McpToolset(server, opened, client, means.clock, lambda era: eras.keep(server, era), self.changes)

    def _let_go(self, owned: Owned) -> None:
        self.close_later(self._open.pop(owned))

    def close_later(self, toolset: Toolset) -> None:
        task = asyncio.create_task(_close(toolset))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _sweep(self) -> None:
        """Closes what is too much; what is idle, from time to time, for as long as anything is open."""
        while len(self._open) > MOST_OPEN:
            self._let_go(next(iter(self._open)))
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = asyncio.create_task(self._sweep_on())

    async def _sweep_on(self) -> None:
        while self._open:
            await asyncio.sleep(SWEEP_SECONDS)
            self.close_idle()

    def close_idle(self) -> None:
        before = self._means.clock.monotonic() - IDLE_SECONDS
        idle = [owned for owned, toolset in self._open.items() if toolset.used_at < before]
        for owned in idle:
            self._let_go(owned)


async def _close(toolset: Toolset) -> None:
    """Nobody waits for it, and there is nothing to do about what goes wrong."""
    with suppress(UpstreamError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await toolset.close()
