"""Wires everything together: routes, what they are given, and what becomes of what goes wrong."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from litestar import Litestar, Response
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, ControllerRouterHandler

from api.access.guards import check_every_route_is_guarded
from api.access.idempotency.calls import IdempotentCall
from api.access.idempotency.creates import IdempotentCreate
from api.agents.routes import ROUTES as AGENT_ROUTES
from api.agents.service import AgentService, EnabledServers
from api.api_keys.routes import ROUTES as API_KEY_ROUTES
from api.api_keys.service import ApiKeyService
from api.audit.journal import Journal
from api.audit.routes import ROUTES as AUDIT_ROUTES
from api.connections.client_metadata import ROUTES as DOCUMENT_ROUTES
from api.connections.consent.callback import AuthorizationCallback
from api.connections.consent.start import ConsentStart
from api.connections.dependencies import PublicUrls
from api.connections.routes import ROUTES as CONNECTION_ROUTES
from api.connections.service import ConnectionService
from api.errors import (
    AppError,
    BadRequest,
    ConflictProblem,
    ContentTooLarge,
    InternalError,
    MethodNotAllowed,
    NotFound,
    ServiceUnavailable,
)
from api.http.dependencies import AnyRequest, Providers
from api.http.fast_path import FastPath
from api.http.middleware import AccessLog, RequestMiddleware
from api.http.openapi.cache import OpenApiCache
from api.http.operations import allowed, options
from api.http.pagination import Paging
from api.http.responses import problem
from api.kit.clock import Clock
from api.kit.crypto.data_keys import NoDataKey
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.deadline import Ticker
from api.kit.egress.resolver import Lookup, system_lookup
from api.kit.metrics import Metrics
from api.kit.storage.store import Conflict, ItemTooLarge, Store, StoreUnavailable
from api.main.container import Container, build_container
from api.main.server_process import metrics_listener
from api.main.settings import Settings
from api.servers.routes import ROUTES as SERVER_ROUTES
from api.servers.service import EnablingAgents, ServerService
from api.services.routes import ROUTES as SERVICE_ROUTES
from api.services.service import ServiceList
from api.system.routes import ROUTES as SYSTEM_ROUTES
from api.toolbox.calling.disconnect import ClientDisconnected
from api.toolbox.routes import ROUTES as TOOL_ROUTES
from api.toolbox.service import ToolboxService
from api.workspaces.routes import ROUTES as WORKSPACE_ROUTES
from api.workspaces.service import Workspaces, WorkspaceService
from integrations import Service

ROUTES: Sequence[ControllerRouterHandler] = [
    *WORKSPACE_ROUTES,
    *API_KEY_ROUTES,
    *SERVER_ROUTES,
    *CONNECTION_ROUTES,
    *DOCUMENT_ROUTES,
    *AGENT_ROUTES,
    *TOOL_ROUTES,
    *AUDIT_ROUTES,
    *SERVICE_ROUTES,
    *SYSTEM_ROUTES,
]

# What an error from further in means to a caller.
EXCEPTION_TO_PROBLEM: Mapping[type[Exception], Callable[[], AppError]] = {
    ItemTooLarge: lambda: ContentTooLarge("All of its fields together are more than one object can hold."),
    Conflict: lambda: ConflictProblem("Another request changed the same thing at the same time. Try again."),
    NoDataKey: NotFound,  # the workspace went away meanwhile
    StoreUnavailable: ServiceUnavailable,
    RootKeyUnavailable: ServiceUnavailable,
    ClientDisconnected: lambda: BadRequest("The caller left before the answer."),  # which is nobody's mistake
    CannotOpen: lambda: ServiceUnavailable("The root key that this was sealed with is not configured."),
}

log = logging.getLogger(__name__)


def create_app(
    settings: Settings,
    clock: Clock | None = None,
    note: AccessLog | None = None,
    lookup: Lookup = system_lookup,
    catalog: Mapping[str, Service] | None = None,
) -> ASGIApp:
    app = build_router_app(settings, clock, lookup=lookup, catalog=catalog)
    return RequestMiddleware(FastPath(app, ROUTES, problem_response), note)


def build_router_app(
    settings: Settings,
    clock: Clock | None = None,
    routes: Sequence[ControllerRouterHandler] = ROUTES,
    lookup: Lookup = system_lookup,
    catalog: Mapping[str, Service] | None = None,
) -> Litestar:
    @asynccontextmanager
    async def running(app: Litestar) -> AsyncIterator[None]:
        parts = await build_container(settings, clock, lookup, catalog)
        app.state.parts, app.state.access = parts, parts.authenticator
        try:
            await parts.workspace_purge.resume()
            parts.connections.revocation_queue.begin()
            parts.jobs.start()
            async with metrics_listener(settings, parts.runtime.metrics):
                yield
        finally:
            await parts.close()

    app = Litestar(
        [*options(routes), *routes],
        exception_handlers={Exception: problem_response},
        lifespan=[running],
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,  # our decoder has its own limit, which reads on to answer well
    )
    app.state.providers, app.state.published = PROVIDED, OpenApiCache(app)
    check_every_route_is_guarded(app)
    return app


def problem_response(request: AnyRequest, error: Exception) -> Response[bytes]:
    known = to_problem(error)
    request_id = request.scope["state"].get("request_id")
    if isinstance(known, InternalError):
        log.error("failed", exc_info=error, extra={"request_id": request_id})
    elif isinstance(known, ServiceUnavailable):  # the caller can only wait; the operator has to know for what
        log.warning("unavailable", extra={"request_id": request_id, "detail": str(error)})
    return problem(known)


def to_problem(error: Exception) -> AppError:
    if isinstance(error, AppError):
        return error
    if isinstance(error, HTTPException):
        return _framework_problem(error)
    return (
        next((made() for kind, made in EXCEPTION_TO_PROBLEM.items() if isinstance(error, kind)), None)
        or InternalError()
    )


def _framework_problem(error: HTTPException) -> AppError:
    match error.status_code:
        case 404:
            return NotFound("There is no such path. They are all at /docs.")
        case 405:
            methods = allowed((error.headers or {}).get("allow", "").split(", "))
            return MethodNotAllowed(f"It takes {methods}.", headers={"Allow": methods})
        case 400:
            return BadRequest("The request is not in a form that can be read.")
        case _:
            return InternalError()


def _container(request: AnyRequest) -> Container:
    parts: Container = request.app.state.parts
    return parts


def _server_service(request: AnyRequest) -> ServerService:
    return ServerService(request.scope["state"]["context"], _container(request).server_deps)


def _enabled_servers(request: AnyRequest) -> EnablingAgents:
    parts = _container(request)
    return EnabledServers(request.state.context, parts.store, parts.clock)


def _agent_service(request: AnyRequest) -> AgentService:
    parts = _container(request)
    return AgentService(request.state.context, parts.store, _server_service(request), parts.journal, parts.clock)


def _toolbox_service(request: AnyRequest) -> ToolboxService:
    return ToolboxService(
        request.scope["state"]["context"],
        _container(request).runtime,
        lambda: _agent_service(request),
        lambda: _server_service(request),
    )


def _connection_service(request: AnyRequest) -> ConnectionService:
    joined = _container(request).connections
    return ConnectionService(request.scope["state"]["context"], joined.deps, joined.grant_end)


def _api_key_service(request: AnyRequest) -> ApiKeyService:
    parts = _container(request)
    context = request.state.context
    return ApiKeyService(
        context, parts.api_keys, parts.key_maker, parts.journal, parts.last_used, _agent_service(request), parts.clock
    )


def _workspace_service(request: AnyRequest) -> WorkspaceService:
    parts = _container(request)
    context = request.state.context
    farewell = parts.connections.grant_end
    return WorkspaceService(
        context, parts.store, parts.journal, parts.key_ring, parts.clock, parts.workspace_purge, farewell
    )


def _idempotent_call(request: AnyRequest) -> IdempotentCall:
    parts = _container(request)
    return IdempotentCall(request, parts.store, parts.journal.write, parts.clock)


PROVIDED: Providers = {
    ServerService: _server_service,
    EnablingAgents: _enabled_servers,
    ConnectionService: _connection_service,
    ConsentStart: lambda request: _container(request).connections.consent_start,
    AuthorizationCallback: lambda request: _container(request).connections.callback,
    PublicUrls: lambda request: _container(request).connections.deps.public,
    AgentService: _agent_service,
    ToolboxService: _toolbox_service,
    ApiKeyService: _api_key_service,
    WorkspaceService: _workspace_service,
    Workspaces: lambda request: _container(request).workspaces,
    ServiceList: lambda request: _container(request).services,
    Store: lambda request: _container(request).store,
    Journal: lambda request: _container(request).journal,
    Ticker: lambda request: _container(request).runtime.ticker,
    Metrics: lambda request: _container(request).runtime.metrics,
    Paging: lambda request: Paging.of(request, _container(request).cursors),
    IdempotentCreate: lambda request: IdempotentCreate(request, _container(request).store, _container(request).clock),
    IdempotentCall: _idempotent_call,
}
