"""`/api/workspaces/{ws}/mcp-servers`: the requests about servers."""

from __future__ import annotations

from litestar import Response
from pydantic import TypeAdapter

from api.access.guards import RequiresScope
from api.access.idempotency.creates import IdempotencyChanges, IdempotentCreate
from api.access.principal import Scope
from api.errors import ConflictProblem, InUse, ValidationFailed
from api.http.dependencies import AnyRequest, resolve
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
from api.http.pagination import PAGING, Paging
from api.http.request_body import query_bool, read_body
from api.http.responses import StoredResponse, created, item
from api.servers.repository import Server
from api.servers.schemas import AuthType, Exposure, OAuthGrant, ServerChange, ServerDraft, ServerView
from api.servers.service import EnablingAgents, ServerService

SERVERS = "/api/workspaces/{workspace_id:str}/mcp-servers"
SERVER = f"{SERVERS}/{{server_id:str}}"
TAG = "Servers"
MANY = TypeAdapter(list[ServerView])
DETACH = Parameter(
    "detach", "`true`: takes the server off the agents that enable it, then deletes it.", {"type": "boolean"}
)


def view(server: Server) -> ServerView:
    is_oauth = server.auth_type == AuthType.OAUTH
    return ServerView(
        id=server.id,
        name=server.name,
        slug=server.slug,
        description=server.description,
        url=server.url,
        auth_type=AuthType(server.auth_type),
        service_type=server.service_type,
        enabled=server.enabled,
        timeout_seconds=server.timeout_seconds,
        exposure=Exposure(server.exposure),
        configured=sorted(server.sealed),
        oauth_grant=OAuthGrant(server.oauth_grant) if is_oauth else None,
        oauth_connected=server.is_connected if is_oauth else None,
        created_at=server.created_at,
        updated_at=server.updated_at,
        version=server.version,
    )


def answer(server: Server) -> Response[bytes]:
    return item(view(server), server.version).response()


@get(
    SERVERS,
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "listServers",
            TAG,
            "List the servers",
            "In the order of their making. The answer is a bare array; where more follows, a `Link` header with "
            '`rel="next"` says how to ask for it.',
            SuccessResponse.many(MANY, examples.SERVER),
            parameters=PAGING,
        )
    ),
)
async def list_servers(request: AnyRequest) -> Response[bytes]:
    servers = resolve(request, ServerService)
    paging = resolve(request, Paging)
    found = await servers.page(paging.one_more, paging.after)
    return paging.answer(found, view, MANY, lambda server: server.id).response()


@post(
    SERVERS,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "createServer",
            TAG,
            "Store a server",
            "Credentials in `config` are sealed at once and never shown again. The URL is judged as it is written; "
            "whether it can be reached is told by `check`.",
            SuccessResponse.created(ServerView, examples.SERVER),
            ServerDraft,
            examples.SERVER_DRAFT,
            [IDEMPOTENCY_KEY],
            [ConflictProblem, ValidationFailed],
        )
    ),
)
async def create_server(request: AnyRequest) -> Response[bytes]:
    draft = await read_body(request, ServerDraft)
    servers = resolve(request, ServerService)
    once = resolve(request, IdempotentCreate)

    def made(server: Server) -> StoredResponse:
        return created(view(server), server.version, f"{once.path}/{server.id}")

    async def work(receipt: IdempotencyChanges) -> StoredResponse:
        return made(await servers.create(draft, lambda server: receipt(made(server))))

    return (await once.run(work)).response()


@get(
    SERVER,
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "getServer",
            TAG,
            "Read a server",
            "Without its credentials.",
            SuccessResponse.item(ServerView, examples.SERVER),
        )
    ),
)
async def get_server(request: AnyRequest) -> Response[bytes]:
    server_id = request.path_params["server_id"]
    servers = resolve(request, ServerService)
    return await servers.render_cached(server_id, answer)


@put(
    SERVER,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "updateServer",
            TAG,
            "Change a server",
            "Takes any subset of the fields. `config` left out keeps the stored credentials; values replace them all; "
            'a null, as in `{"headerValue": null}`, clears that one. A change of `url` to another origin, of '
            "`authType` or of `serviceType` drops the stored credentials unless new ones come along: a secret is "
            "never sent to a host that it was not entered for.",
            SuccessResponse.item(ServerView, examples.SERVER),
            ServerChange,
            {"name": "Weather", "enabled": False},
            [IF_MATCH],
            [ConflictProblem, ValidationFailed],
        )
    ),
)
async def update_server(request: AnyRequest) -> Response[bytes]:
    change = await read_body(request, ServerChange)
    server_id = request.path_params["server_id"]
    servers = resolve(request, ServerService)
    server = await servers.update(server_id, change, request.headers.get("if-match"))
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
            "Refused while an agent enables it, unless `detach=true`.",
            SuccessResponse.no_content(),
            parameters=[DETACH, IF_MATCH],
            problems=[InUse, ValidationFailed],
        )
    ),
)
async def delete_server(request: AnyRequest) -> None:
    server_id = request.path_params["server_id"]
    servers = resolve(request, ServerService)
    users = resolve(request, EnablingAgents)
    detach = query_bool(request, DETACH.name)
    await servers.delete(server_id, users, detach=detach, if_match=request.headers.get("if-match"))


ROUTES = [list_servers, create_server, get_server, update_server, delete_server]
