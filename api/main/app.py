"""Wires everything together: routes, what they are given, and what becomes of what goes wrong."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from litestar import Litestar, Response
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, ControllerRouterHandler

from api.access.guards import check_every_route_is_guarded
from api.access.idempotency.calls import OnceOutside
from api.access.idempotency.creates import Once
from api.agents.routes import ROUTES as AGENT_ROUTES
from api.agents.service import AgentService, ServerUsers
from api.api_keys.routes import ROUTES as API_KEY_ROUTES
from api.api_keys.service import ApiKeyService
from api.audit.journal import Journal
from api.audit.routes import ROUTES as AUDIT_ROUTES
from api.connections.client_metadata import ROUTES as DOCUMENT_ROUTES
from api.connections.consent.callback import Returning
from api.connections.consent.start import Going
from api.connections.dependencies import Public
from api.connections.routes import ROUTES as CONNECTION_ROUTES
from api.connections.service import ConnectionService
from api.errors import AppError, Clash, Internal, NoSuchMethod, NotFound, TooLarge, Unavailable, Unreadable
from api.http.dependencies import AnyRequest, Providers
from api.http.fast_path import Direct
from api.http.middleware import Edge, Note
from api.http.openapi.cache import Published
from api.http.operations import allowed, options
from api.http.pagination import Paging
from api.http.responses import problem
from api.kit.clock import Clock
from api.kit.crypto.data_keys import NoDataKey
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootUnavailable
from api.kit.deadline import Ticker
from api.kit.egress.resolver import Lookup, system_lookup
from api.kit.metrics import Metrics
from api.kit.storage.store import Conflict, ItemTooLarge, Store, StoreBusy
from api.main.container import Parts, assemble
from api.main.server_process import metrics_beside
from api.main.settings import Settings
from api.servers.routes import ROUTES as SERVER_ROUTES
from api.servers.service import ServerService, Users
from api.services.routes import ROUTES as SERVICE_ROUTES
from api.services.service import ServiceList
from api.system.routes import ROUTES as SYSTEM_ROUTES
from api.toolbox.calling.disconnect import CallerLeft
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
MEANINGS: Mapping[type[Exception], Callable[[], AppError]] = {
    ItemTooLarge: lambda: TooLarge("All of its fields together are more than one object can hold."),
    Conflict: lambda: Clash("Another request changed the same thing at the same time. Try again."),
    NoDataKey: NotFound,  # the workspace went away meanwhile
    StoreBusy: Unavailable,
    RootUnavailable: Unavailable,
    CallerLeft: lambda: Unreadable("The caller left before the answer."),  # which is nobody's mistake
    CannotOpen: lambda: Unavailable("The root key that this was sealed with is not configured."),
}

log = logging.getLogger(__name__)


def create_app(
    settings: Settings,
    clock: Clock | None = None,
    note: Note | None = None,
    lookup: Lookup = system_lookup,
    catalog: Mapping[str, Service] | None = None,
) -> ASGIApp:
    app = inner_app(settings, clock, lookup=lookup, catalog=catalog)
    return Edge(Direct(app, ROUTES, answer_problem), note)


def inner_app(
    settings: Settings,
    clock: Clock | None = None,
    routes: Sequence[ControllerRouterHandler] = ROUTES,
    lookup: Lookup = system_lookup,
    catalog: Mapping[str, Service] | None = None,
) -> Litestar:
    @asynccontextmanager
    async def running(app: Litestar) -> AsyncIterator[None]:
        parts = await assemble(settings, clock, lookup, catalog)
        app.state.parts, app.state.access = parts, parts.access
        try:
            await parts.removal.resume()
            parts.connecting.outbox.begin()
            async with metrics_beside(settings, parts.metrics):
                yield
        finally:
            await parts.close()

    app = Litestar(
        [*options(routes), *routes],
        exception_handlers={Exception: answer_problem},
        lifespan=[running],
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,  # our decoder has its own limit, which reads on to answer well
    )
    app.state.providers, app.state.published = PROVIDED, Published(app)
    check_every_route_is_guarded(app)
    return app


def answer_problem(request: AnyRequest, error: Exception) -> Response[bytes]:
    known = as_problem(error)
    request_id = request.scope["state"].get("request_id")
    if isinstance(known, Internal):
        log.error("failed", exc_info=error, extra={"request_id": request_id})
    elif isinstance(known, Unavailable):  # the caller can only wait; the operator has to know for what
        log.warning("unavailable", extra={"request_id": request_id, "detail": str(error)})
    return problem(known)


def as_problem(error: Exception) -> AppError:
    if isinstance(error, AppError):
        return error
    if isinstance(error, HTTPException):
        return _of_framework(error)
    return next((made() for kind, made in MEANINGS.items() if isinstance(error, kind)), None) or Internal()


def _of_framework(error: HTTPException) -> AppError:
    match error.status_code:
        case 404:
            return NotFound("There is no such path. They are all at /docs.")
        case 405:
            methods = allowed((error.headers or {}).get("allow", "").split(", "))
            return NoSuchMethod(f"It takes {methods}.", headers={"Allow": methods})
        case 400:
            return Unreadable("The request is not in a form that can be read.")
        case _:
            return Internal()


def _parts(request: AnyRequest) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


def _server_service(request: AnyRequest) -> ServerService:
    return ServerService(request.scope["state"]["context"], _parts(request).workshop)


def _server_users(request: AnyRequest) -> Users:
    parts = _parts(request)
    return ServerUsers(request.state.context, parts.store, parts.clock)


def _agent_service(request: AnyRequest) -> AgentService:
    parts = _parts(request)
    return AgentService(request.state.context, parts.store, _server_service(request), parts.journal, parts.clock)


def _toolbox_service(request: AnyRequest) -> ToolboxService:
    return ToolboxService(
        request.scope["state"]["context"],
        _parts(request).works,
        lambda: _agent_service(request),
        lambda: _server_service(request),
    )


def _connection_service(request: AnyRequest) -> ConnectionService:
    joined = _parts(request).connecting
    return ConnectionService(request.scope["state"]["context"], joined.works, joined.endings)


def _api_key_service(request: AnyRequest) -> ApiKeyService:
    parts = _parts(request)
    context = request.state.context
    return ApiKeyService(
        context, parts.keys, parts.key_maker, parts.journal, parts.usage, _agent_service(request), parts.clock
    )


def _workspace_service(request: AnyRequest) -> WorkspaceService:
    parts = _parts(request)
    context = request.state.context
    farewell = parts.connecting.endings
    return WorkspaceService(context, parts.store, parts.journal, parts.keyring, parts.clock, parts.removal, farewell)


def _once_outside(request: AnyRequest) -> OnceOutside:
    parts = _parts(request)
    return OnceOutside(request, parts.store, parts.journal.write, parts.clock)


PROVIDED: Providers = {
    ServerService: _server_service,
    Users: _server_users,
    ConnectionService: _connection_service,
    Going: lambda request: _parts(request).connecting.going,
    Returning: lambda request: _parts(request).connecting.returning,
    Public: lambda request: _parts(request).connecting.works.public,
    AgentService: _agent_service,
    ToolboxService: _toolbox_service,
    ApiKeyService: _api_key_service,
    WorkspaceService: _workspace_service,
    Workspaces: lambda request: _parts(request).workspaces,
    ServiceList: lambda request: _parts(request).services,
    Store: lambda request: _parts(request).store,
    Journal: lambda request: _parts(request).journal,
    Ticker: lambda request: _parts(request).works.ticker,
    Metrics: lambda request: _parts(request).metrics,
    Paging: lambda request: Paging.of(request, _parts(request).cursors),
    Once: lambda request: Once(request, _parts(request).store, _parts(request).clock),
    OnceOutside: _once_outside,
}
