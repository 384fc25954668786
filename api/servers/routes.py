"""`/api/workspaces/{ws}/mcp-servers`: the routes of servers."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from litestar import Response
from litestar.params import FromPath, JSONBody
from pydantic import TypeAdapter

from api.access.guards import RequiresScope
from api.access.idempotency.creates import IdempotencyChanges, IdempotentCreate
from api.access.principal import Scope
from api.errors import ConflictProblem, InUse, TooManyRecords, ValidationFailed
from api.http.dependencies import IfMatch, Injected
from api.http.openapi import examples
from api.http.operations import (
    IDEMPOTENCY_KEY,
    IF_MATCH,
    OperationDoc,
    Parameter,
    SuccessResponse,
    delete,
    documented,
    get,
    post,
    put,
)
from api.http.pagination import PAGES, PAGING, Paging
from api.http.query import ORDER, is_newest_first
from api.http.request import AnyRequest, query_bool
from api.http.responses import StoredResponse, created, item
from api.http.selection import select
from api.servers.filters import FILTERS, server_filter
from api.servers.schemas import ServerChange, ServerDraft, ServerView
from api.servers.server import Server
from api.servers.service import EnablingAgents, ServerService

SERVERS = "/api/workspaces/{workspace_id:str}/mcp-servers"
SERVER = f"{SERVERS}/{{server_id:str}}"
TAG = "Servers"
MANY = TypeAdapter(list[ServerView])
DETACH = Parameter("detach", "`true`: first disables the server in the agents that enable it.", {"type": "boolean"})


def answer(server: Server) -> Response[bytes]:
    return item(ServerView.of(server), server.version).response()


@get(
    SERVERS,
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "listServers",
            TAG,
            "List servers",
            f"In order of creation, or the newest first. {PAGES}",
            SuccessResponse.many(MANY, examples.SERVER),
            parameters=[*PAGING, *FILTERS, ORDER],
        )
    ),
)
async def list_servers(
    request: AnyRequest, servers: Injected[ServerService], paging: Injected[Paging]
) -> Response[bytes]:
    read = partial(servers.page, newest_first=is_newest_first(request))
    page = await select(paging, read, lambda server: server.id, server_filter(request), attrgetter("size"))
    return paging.answer([ServerView.of(server) for server in page.items], MANY, page.last).response()


@post(
    SERVERS,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "createServer",
            TAG,
            "Store a server",
            "Credentials in `config` are encrypted at once and never shown again. The URL is validated but not "
            "requested; `check` finds out whether the server can be reached.",
            SuccessResponse.created(ServerView, examples.SERVER),
            examples.SERVER_DRAFT,
            [IDEMPOTENCY_KEY],
            [ConflictProblem, TooManyRecords, ValidationFailed],
        )
    ),
)
async def create_server(
    data: JSONBody[ServerDraft], servers: Injected[ServerService], idempotent_create: Injected[IdempotentCreate]
) -> Response[bytes]:

    def response_to(server: Server) -> StoredResponse:
        return created(ServerView.of(server), server.version, f"{idempotent_create.path}/{server.id}")

    async def work(receipt: IdempotencyChanges) -> StoredResponse:
        return response_to(await servers.create(data, lambda server: receipt(response_to(server))))

    return (await idempotent_create.run(work)).response()


@get(
    SERVER,
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "getServer",
            TAG,
            "Get a server",
            "Without its credentials.",
            SuccessResponse.item(ServerView, examples.SERVER),
        )
    ),
)
async def get_server(server_id: FromPath[str], servers: Injected[ServerService]) -> Response[bytes]:
    return await servers.render_cached(server_id, answer)


@put(
    SERVER,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "updateServer",
            TAG,
            "Update a server",
            "Accepts any subset of the fields. `config` merges by field, and its `headers` by name: a value replaces "
            'the stored one, a null, as in `{"headerValue": null}`, deletes it, and what is not named stays. A change '
            "of `url` to another origin, of `authType` or of `serviceType` deletes all stored credentials, and only "
            "those of the request are stored: a secret is never sent to a host that it was not entered for. Read-only "
            "fields may be sent back as they were read.",
            SuccessResponse.item(ServerView, examples.SERVER),
            {"name": "Weather", "enabled": False},
            [IF_MATCH],
            [ConflictProblem, ValidationFailed],
        )
    ),
)
async def update_server(
    server_id: FromPath[str], data: JSONBody[ServerChange], servers: Injected[ServerService], if_match: IfMatch = None
) -> Response[bytes]:
    server = await servers.update(server_id, data, if_match)
    return answer(server)


@delete(
    SERVER,
    status_code=204,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "deleteServer",
            TAG,
            "Delete a server",
            "Refused while an agent enables the server, unless `detach=true`.",
            SuccessResponse.no_content(),
            parameters=[DETACH, IF_MATCH],
            problems=[InUse, ValidationFailed],
        )
    ),
)
async def delete_server(
    request: AnyRequest,
    server_id: FromPath[str],
    servers: Injected[ServerService],
    enabling_agents: Injected[EnablingAgents],
    if_match: IfMatch = None,
) -> None:
    detach = query_bool(request, DETACH.name)
    await servers.delete(server_id, enabling_agents, detach=detach, if_match=if_match)


ROUTES = [list_servers, create_server, get_server, update_server, delete_server]
