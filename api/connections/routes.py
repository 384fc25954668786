"""Routes for connecting servers: start, status and disconnect."""

from __future__ import annotations

from litestar import Response
from litestar.params import FromPath
from pydantic import TypeAdapter

from api.access.guards import RequiresScope
from api.access.principal import Scope
from api.connections.dependencies import PublicUrls
from api.connections.schemas import (
    AUTH_URL,
    CLIENT_CONNECTION,
    CONNECTION,
    DISCONNECTED,
    AccountView,
    AuthUrlView,
    ConnectionView,
)
from api.connections.service import ConnectionService, Status
from api.errors import NotConnectable, ServiceUnavailable, ValidationFailed
from api.http.dependencies import Injected
from api.http.operations import OperationDoc, Parameter, SuccessResponse, documented, get, post
from api.http.request import AnyRequest
from api.http.responses import OK, StoredResponse, encode

OAUTH = "/api/workspaces/{workspace_id:str}/mcp-servers/{server_id:str}/oauth"
TAG = "Connections"
RETURN_TO = Parameter(
    "returnTo",
    "Where the browser is sent at the end, with `?connected=<serverId>` or `?error=<code>&serverId=<serverId>` added "
    "before its fragment: a path of Plugboard, or a URL at an origin of `PLUGBOARD_RETURN_ORIGINS`.",
    {"type": "string"},
    example="/docs",
)


def view(status: Status, public: PublicUrls) -> ConnectionView:
    connection = status.connection
    redirect_uri = public.callback(status.server.service_type)
    if connection is None:
        return ConnectionView(
            connected=status.server.is_connected,
            scopes=[],
            asked_scopes=[],
            missing_scopes=[],
            unasked_scopes=[],
            reconnect_required=False,
            problem=status.problem,
            redirect_uri=redirect_uri,
        )
    return ConnectionView(
        connected=status.server.is_connected,
        account=AccountView(**connection.account) if connection.account else None,
        scopes=list(connection.granted),
        asked_scopes=list(connection.asked),
        missing_scopes=sorted({*connection.asked, *connection.wanted} - {*connection.granted}),
        unasked_scopes=sorted({*connection.granted} - {*connection.asked}) if connection.asked else [],
        connected_at=connection.connected_at,
        expires_at=status.expires_at,
        reconnect_required=connection.ended is not None,
        problem=status.problem,
        redirect_uri=redirect_uri,
    )


@get(
    f"{OAUTH}/authorize",
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "connectServer",
            TAG,
            "Start connecting a server",
            "Returns the URL of a page that names the workspace and the service. A person opens it in a browser, "
            "presses its button, consents at the provider, and is sent back; from then on the server's tools work.",
            SuccessResponse(200, "The URL of the page.", TypeAdapter(AuthUrlView), AUTH_URL),
            parameters=[RETURN_TO],
            problems=[ValidationFailed, NotConnectable, ServiceUnavailable],
        )
    ),
)
async def authorize(
    request: AnyRequest, server_id: FromPath[str], connections: Injected[ConnectionService]
) -> Response[bytes]:
    url = await connections.start(server_id, request.query_params.get("returnTo"))
    return StoredResponse(OK, encode(AuthUrlView(auth_url=url))).response()


@get(
    f"{OAUTH}/status",
    guards=[RequiresScope(Scope.READ)],
    opt=documented(
        OperationDoc(
            "getConnection",
            TAG,
            "Get the connection of a server",
            "The account, the scopes and the expiry. Tokens are never returned.",
            SuccessResponse(200, "The current connection.", TypeAdapter(ConnectionView), CONNECTION),
            problems=[NotConnectable],
        )
    ),
)
async def status(
    server_id: FromPath[str], connections: Injected[ConnectionService], public_urls: Injected[PublicUrls]
) -> Response[bytes]:
    current = await connections.status(server_id)
    return StoredResponse(OK, encode(view(current, public_urls))).response()


@post(
    f"{OAUTH}/connect",
    status_code=200,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "connectClient",
            TAG,
            "Connect a server without consent",
            "For a server with the `client_credentials` grant that was disconnected: its client requests tokens again "
            "when they are needed. Nothing is requested now; `check` does. Idempotent.",
            SuccessResponse(200, "The current connection.", TypeAdapter(ConnectionView), CLIENT_CONNECTION),
            problems=[NotConnectable],
        )
    ),
)
async def connect_client(
    server_id: FromPath[str], connections: Injected[ConnectionService], public_urls: Injected[PublicUrls]
) -> Response[bytes]:
    current = await connections.connect(server_id)
    return StoredResponse(OK, encode(view(current, public_urls))).response()


@post(
    f"{OAUTH}/disconnect",
    status_code=200,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "disconnectServer",
            TAG,
            "Disconnect a server",
            "The tokens are deleted at once, and revoked at the provider as soon as it can be reached. No tokens are "
            "requested until the server is connected again, by `authorize` or, for the `client_credentials` grant, by "
            "`connect`. Idempotent.",
            SuccessResponse(200, "The current connection.", TypeAdapter(ConnectionView), DISCONNECTED),
            problems=[NotConnectable],
        )
    ),
)
async def disconnect(
    server_id: FromPath[str], connections: Injected[ConnectionService], public_urls: Injected[PublicUrls]
) -> Response[bytes]:
    current = await connections.disconnect(server_id)
    return StoredResponse(OK, encode(view(current, public_urls))).response()


ROUTES = [authorize, status, connect_client, disconnect]
