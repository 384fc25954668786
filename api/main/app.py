"""The ASGI app: routes, their dependencies, and the problems that errors become."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from litestar import Litestar, Response
from litestar.exceptions import HTTPException
from litestar.plugins.pydantic import PydanticInitPlugin
from litestar.types import ASGIApp, ControllerRouterHandler

from api.access.guards import check_every_route_is_guarded
from api.agents.routes import ROUTES as AGENT_ROUTES
from api.api_keys.caller import ROUTES as CALLER_ROUTES
from api.api_keys.routes import ROUTES as API_KEY_ROUTES
from api.audit.routes import ROUTES as AUDIT_ROUTES
from api.connections.browser_routes import ROUTES as BROWSER_ROUTES
from api.connections.client_metadata import ROUTES as DOCUMENT_ROUTES
from api.connections.routes import ROUTES as CONNECTION_ROUTES
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
from api.http.client_address import ClientAddresses
from api.http.fast_path import FastPath
from api.http.middleware import AccessLog, RequestMiddleware
from api.http.openapi.published import PublishedContract
from api.http.operations import allow_header, options
from api.http.request import AnyRequest, ApiRequest
from api.http.request_metrics import RequestCollector
from api.http.responses import problem
from api.http.validation import RequestModelPlugin
from api.kit.clock import Clock
from api.kit.crypto.data_keys import NoDataKey
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.egress.resolver import Lookup, system_lookup
from api.kit.storage.store import Conflict, ItemTooLarge, StoreFull, StoreLost, StoreUnavailable
from api.main.container import build_container, schedule_jobs
from api.main.dependencies import DEPENDENCIES
from api.main.metrics_wiring import register_process
from api.main.server_process import metrics_listener
from api.main.settings import Settings
from api.servers.routes import ROUTES as SERVER_ROUTES
from api.services.routes import ROUTES as SERVICE_ROUTES
from api.system.routes import ROUTES as SYSTEM_ROUTES
from api.toolbox.calling.disconnect import ClientDisconnected
from api.toolbox.routes import ROUTES as TOOL_ROUTES
from api.workspaces.routes import ROUTES as WORKSPACE_ROUTES
from integrations import Service

ROUTES: Sequence[ControllerRouterHandler] = [
    *WORKSPACE_ROUTES,
    *API_KEY_ROUTES,
    *CALLER_ROUTES,
    *SERVER_ROUTES,
    *CONNECTION_ROUTES,
    *BROWSER_ROUTES,
    *DOCUMENT_ROUTES,
    *AGENT_ROUTES,
    *TOOL_ROUTES,
    *AUDIT_ROUTES,
    *SERVICE_ROUTES,
    *SYSTEM_ROUTES,
]

# The problem that callers receive for an error of a lower level: the first kind that fits.
EXCEPTION_TO_PROBLEM: Mapping[type[Exception], Callable[[], AppError]] = {
    ItemTooLarge: lambda: ContentTooLarge("All fields together exceed the maximum size of an object."),
    Conflict: lambda: ConflictProblem("Another request changed the same object at the same time. Try again."),
    NoDataKey: NotFound,  # the workspace was deleted meanwhile
    StoreFull: lambda: ServiceUnavailable(
        "The database has no room left. Nothing was written. Delete what is not needed, or ask the operator for room."
    ),
    StoreLost: lambda: ServiceUnavailable(
        "The database file was removed or replaced while Plugboard ran, so nothing is written any more. The operator "
        "must restore it and restart Plugboard."
    ),
    StoreUnavailable: ServiceUnavailable,
    RootKeyUnavailable: ServiceUnavailable,
    ClientDisconnected: lambda: BadRequest("The client closed the connection before the response."),  # not an error
    CannotOpen: lambda: ServiceUnavailable("The root key that encrypts this data is not configured."),
}

log = logging.getLogger(__name__)


def create_app(
    settings: Settings,
    clock: Clock | None = None,
    access_log: AccessLog | None = None,
    lookup: Lookup = system_lookup,
    catalog: Mapping[str, Service] | None = None,
    trust: ssl.SSLContext | None = None,
    workers: Path | None = None,
) -> ASGIApp:
    counts = RequestCollector()
    app = build_router_app(settings, clock, lookup=lookup, catalog=catalog, trust=trust, counts=counts, workers=workers)
    return RequestMiddleware(
        FastPath(app, problem_response), access_log, counts, ClientAddresses(settings.trusted_proxies)
    )


def build_router_app(
    settings: Settings,
    clock: Clock | None = None,
    routes: Sequence[ControllerRouterHandler] = ROUTES,
    lookup: Lookup = system_lookup,
    catalog: Mapping[str, Service] | None = None,
    trust: ssl.SSLContext | None = None,
    counts: RequestCollector | None = None,
    workers: Path | None = None,
) -> Litestar:
    @asynccontextmanager
    async def running(app: Litestar) -> AsyncIterator[None]:
        parts = await build_container(settings, clock, lookup, catalog, trust)
        app.state.container, app.state.authenticator = parts, parts.authenticator
        app.state.ticker = parts.runtime.ticker
        register_process(parts.runtime.metrics, counts or RequestCollector(), parts.store.times, parts.key_ring)
        try:
            schedule_jobs(parts)
            parts.jobs.start()
            async with metrics_listener(settings, parts.runtime.metrics, workers):
                yield
        finally:
            await parts.close()

    app = Litestar(
        [*options(routes), *routes],
        exception_handlers={Exception: problem_response},
        lifespan=[running],
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,  # `ApiRequest` has its own limit, which reads on to answer well
        request_class=ApiRequest,
        dependencies=DEPENDENCIES,
        plugins=[PydanticInitPlugin(), RequestModelPlugin()],  # the later decodes first
    )
    app.state.openapi = PublishedContract(app)
    check_every_route_is_guarded(app)
    return app


def problem_response(request: AnyRequest, error: Exception) -> Response[bytes]:
    known = to_problem(error)
    request_id = request.scope["state"].get("request_id")
    if isinstance(known, InternalError):
        log.error("failed", exc_info=error, extra={"request_id": request_id})
    elif isinstance(known, ServiceUnavailable):  # callers can only wait; operators need the reason
        log.warning("unavailable", extra={"request_id": request_id, "detail": str(error)})
    return problem(known)


def to_problem(error: Exception) -> AppError:
    if isinstance(error, AppError):
        return error
    if isinstance(error, HTTPException):
        return _framework_problem(error)
    return (
        next((make_problem() for kind, make_problem in EXCEPTION_TO_PROBLEM.items() if isinstance(error, kind)), None)
        or InternalError()
    )


def _framework_problem(error: HTTPException) -> AppError:
    match error.status_code:
        case 404:
            return NotFound("This path does not exist. All paths are listed at /docs.")
        case 405:
            methods = allow_header((error.headers or {}).get("allow", "").split(", "))
            return MethodNotAllowed(f"Allowed methods: {methods}.", headers={"Allow": methods})
        case 400:
            return BadRequest("The request is malformed.")
        case _:
            return InternalError()
