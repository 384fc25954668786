"""How is a connected service right now? It is asked one thing, with the credential that its tools would use."""

from __future__ import annotations

import asyncio

from api.access.context import WorkspaceContext
from api.servers.service import Server
from api.toolbox.calling.bulkheads import Full
from api.toolbox.credentials.static import Opened
from api.toolbox.failures import NotConnected
from api.toolbox.health import Check, failed
from api.toolbox.listing.server_tools import TOOLLESS_SERVICE, Missing, reason_of, told
from api.toolbox.output.redaction import NO_SECRETS, Scrubber
from api.toolbox.runtime import Works
from api.toolbox.texts import safe_line
from api.toolbox.toolsets.service_directory import Vendors
from integrations import StatusRefused, TimedOut, Unreachable, UpstreamError, probe_service


async def check_service(ctx: WorkspaceContext, works: Works, server: Server) -> Check:
    health = works.health(ctx.workspace_id, server)
    service = works.vendors.services.get(server.service_type)
    if service is None:
        return failed(TOOLLESS_SERVICE, health)
    opened: Opened | None = None
    try:
        with works.bulkheads.enter(ctx.workspace_id, server.id):
            async with asyncio.timeout(server.timeout_seconds):
                opened = await works.credentials.open(ctx, server)
                await _asked(ctx, works.vendors, server, opened)
    except (UpstreamError, TimeoutError, NotConnected) as error:
        return failed(_told(error, opened.scrubbed if opened else NO_SECRETS, server, service.title), health)
    except Full as full:
        return failed(Missing("unreachable", str(full)), health)
    tools = works.vendors.tools(server.service_type)
    return Check("ok", "It answers.", health, tool_count=len(tools.tools) if tools else 0)


def _told(
    error: UpstreamError | TimeoutError | NotConnected, scrubbed: Scrubber, server: Server, title: str
) -> Missing:
    """As of any server, but by the service's name."""
    match error:
        case StatusRefused(text=text):
            return Missing(reason_of(error), safe_line(f"{title} answered {text}.", scrubbed))
        case Unreachable():
            return Missing("unreachable", f"{title} could not be reached.")
        case TimedOut() | TimeoutError():
            return Missing("timeout", f"{title} did not answer within {server.timeout_seconds} s.")
        case _:
            return told(error, scrubbed, server)


async def _asked(ctx: WorkspaceContext, vendors: Vendors, server: Server, opened: Opened) -> None:
    http, base_url = vendors.upstream(ctx, server, opened), vendors.base_url(server)
    probe = vendors.services[server.service_type].probe
    if probe is None:
        return
    sent = opened.sent
    try:
        await probe_service(http, base_url, probe)
    except StatusRefused as refused:
        if not await opened.otherwise(refused, sent):
            raise
        await probe_service(http, base_url, probe)
