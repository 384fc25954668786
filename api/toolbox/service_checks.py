"""How is a connected service right now? It is asked one thing, with the credential that its tools would use."""

from __future__ import annotations

import asyncio

from api.access.context import WorkspaceContext
from api.servers.server import Server
from api.toolbox.calling.bulkheads import LimitReached
from api.toolbox.credentials.static import UpstreamCredentials
from api.toolbox.failures import CredentialsUnavailable
from api.toolbox.health import ServerHealth, failed
from api.toolbox.listing.server_tools import TOOLLESS_SERVICE, ToolsUnavailable, explain, reason_of
from api.toolbox.output.redaction import NO_SECRETS, Redactor
from api.toolbox.output.sanitize import safe_line
from api.toolbox.runtime import ToolRuntime
from api.toolbox.toolsets.service_directory import ServiceDirectory
from integrations import StatusRefused, Unreachable, UpstreamError, UpstreamTimeout, probe_service


async def check_service(ctx: WorkspaceContext, works: ToolRuntime, server: Server) -> ServerHealth:
    health = works.health(ctx.workspace_id, server)
    service = works.services.services.get(server.service_type)
    if service is None:
        return failed(TOOLLESS_SERVICE, health)
    opened: UpstreamCredentials | None = None
    try:
        with works.bulkheads.enter(ctx.workspace_id, server.id):
            async with asyncio.timeout(server.timeout_seconds):
                opened = await works.credentials.open(ctx, server)
                await _asked(ctx, works.services, server, opened)
    except (UpstreamError, TimeoutError, CredentialsUnavailable) as error:
        return failed(_told(error, opened.redact if opened else NO_SECRETS, server, service.title), health)
    except LimitReached as full:
        return failed(ToolsUnavailable("unreachable", str(full)), health)
    tools = works.services.tools(server.service_type)
    return ServerHealth("ok", "It answers.", health, tool_count=len(tools.tools) if tools else 0)


def _told(
    error: UpstreamError | TimeoutError | CredentialsUnavailable, redact: Redactor, server: Server, title: str
) -> ToolsUnavailable:
    """As of any server, but by the service's name."""
    match error:
        case StatusRefused(text=text):
            return ToolsUnavailable(reason_of(error), safe_line(f"{title} answered {text}.", redact))
        case Unreachable():
            return ToolsUnavailable("unreachable", f"{title} could not be reached.")
        case UpstreamTimeout() | TimeoutError():
            return ToolsUnavailable("timeout", f"{title} did not answer within {server.timeout_seconds} s.")
        case _:
            return explain(error, redact, server)


async def _asked(ctx: WorkspaceContext, vendors: ServiceDirectory, server: Server, opened: UpstreamCredentials) -> None:
    http, base_url = vendors.upstream(ctx, server, opened), vendors.base_url(server)
    probe = vendors.services[server.service_type].probe
    if probe is None:
        return
    sent = opened.sent
    try:
        await probe_service(http, base_url, probe)
    except StatusRefused as refused:
        if not await opened.renew_after_rejection(refused, sent):
            raise
        await probe_service(http, base_url, probe)
