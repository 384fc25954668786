"""The dependencies of handlers: each provider makes, for one request, the parameter that has its name."""

from __future__ import annotations

from collections.abc import Mapping

from litestar.di import Provide

from api.access.context import OperatorContext, WorkspaceContext
from api.access.idempotency.calls import IdempotentCall
from api.access.idempotency.creates import IdempotentCreate
from api.agents.service import AgentService, AgentsOfServers
from api.api_keys.service import ApiKeyService
from api.audit.journal import Journal
from api.connections.consent.callback import AuthorizationCallback
from api.connections.consent.start import ConsentStart
from api.connections.dependencies import Brand, PublicUrls
from api.connections.service import ConnectionService
from api.http.openapi.published import PublishedContract
from api.http.pagination import Paging
from api.http.request import AnyRequest
from api.kit.crypto.data_keys import KeyRing
from api.kit.deadline import Ticker
from api.kit.metrics import Metrics
from api.kit.storage.store import Store
from api.main.container import Container
from api.servers.service import EnablingAgents, ServerService
from api.services.service import ServiceList
from api.toolbox.listing.known_tools import StoredKnownTools
from api.toolbox.service import ToolboxService
from api.workspaces.service import Workspaces, WorkspaceService


def _container(request: AnyRequest) -> Container:
    # By item, not by attribute, which Litestar's state looks up five times as slowly.
    container: Container = request.app.state["container"]
    return container


def context(request: AnyRequest) -> WorkspaceContext:
    """What the route's guard has established."""
    established: WorkspaceContext = request.scope["state"]["context"]
    return established


def operator(request: AnyRequest) -> OperatorContext:
    established: OperatorContext = request.scope["state"]["context"]
    return established


def caller(request: AnyRequest) -> WorkspaceContext | OperatorContext:
    established: WorkspaceContext | OperatorContext = request.scope["state"]["context"]
    return established


def request_id(request: AnyRequest) -> str:
    return str(request.scope["state"]["request_id"])


def workspaces(request: AnyRequest) -> Workspaces:
    return _container(request).workspaces


def workspace(request: AnyRequest) -> WorkspaceService:
    parts = _container(request)
    return WorkspaceService(
        context(request),
        parts.store,
        parts.journal,
        parts.limits,
        parts.key_ring,
        parts.clock,
        parts.workspace_purge,
        parts.connections.grant_end,
    )


def api_keys(request: AnyRequest) -> ApiKeyService:
    parts = _container(request)
    return ApiKeyService(
        context(request),
        parts.api_keys,
        parts.key_maker,
        parts.journal,
        parts.limits,
        parts.last_used,
        agents(request),
        parts.clock,
    )


def servers(request: AnyRequest) -> ServerService:
    return ServerService(context(request), _container(request).server_deps)


def enabling_agents(request: AnyRequest) -> EnablingAgents:
    parts = _container(request)
    return AgentsOfServers(context(request), parts.store, parts.clock)


def agents(request: AnyRequest) -> AgentService:
    parts = _container(request)
    ctx, of_request = context(request), servers(request)
    known_tools = StoredKnownTools(ctx, parts.store, of_request, parts.runtime.toolsets)
    return AgentService(ctx, parts.store, of_request, parts.journal, parts.limits, parts.clock, known_tools)


def toolbox(request: AnyRequest) -> ToolboxService:
    return ToolboxService(
        context(request), _container(request).runtime, lambda: agents(request), lambda: servers(request)
    )


def connections(request: AnyRequest) -> ConnectionService:
    parts = _container(request)
    return ConnectionService(
        context(request),
        store=parts.store,
        journal=parts.journal,
        tickets=parts.connections.consent_tickets,
        grant_end=parts.connections.grant_end,
    )


def consent_start(request: AnyRequest) -> ConsentStart:
    return _container(request).connections.consent_start


def authorization_callback(request: AnyRequest) -> AuthorizationCallback:
    return _container(request).connections.callback


def brand(request: AnyRequest) -> Brand:
    return _container(request).connections.brand


def public_urls(request: AnyRequest) -> PublicUrls:
    return _container(request).connections.public


def services(request: AnyRequest) -> ServiceList:
    return _container(request).services


def store(request: AnyRequest) -> Store:
    return _container(request).store


def key_ring(request: AnyRequest) -> KeyRing:
    return _container(request).key_ring


def journal(request: AnyRequest) -> Journal:
    return _container(request).journal


def ticker(request: AnyRequest) -> Ticker:
    return _container(request).runtime.ticker


def metrics(request: AnyRequest) -> Metrics:
    return _container(request).runtime.metrics


def paging(request: AnyRequest) -> Paging:
    return Paging.of(request, _container(request).cursors)


def idempotent_create(request: AnyRequest) -> IdempotentCreate:
    parts = _container(request)
    return IdempotentCreate(request, parts.store, parts.clock)


def idempotent_call(request: AnyRequest) -> IdempotentCall:
    parts = _container(request)
    return IdempotentCall(request, parts.store, parts.journal.write, parts.clock)


def openapi(request: AnyRequest) -> PublishedContract:
    cache: PublishedContract = request.app.state["openapi"]
    return cache


PROVIDERS = (
    context,
    operator,
    caller,
    request_id,
    workspaces,
    workspace,
    api_keys,
    servers,
    enabling_agents,
    agents,
    toolbox,
    connections,
    consent_start,
    authorization_callback,
    brand,
    public_urls,
    services,
    store,
    key_ring,
    journal,
    ticker,
    metrics,
    paging,
    idempotent_create,
    idempotent_call,
    openapi,
)
DEPENDENCIES: Mapping[str, Provide] = {
    provider.__name__: Provide(provider, sync_to_thread=False) for provider in PROVIDERS
}
