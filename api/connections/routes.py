"""Routes for connecting servers: start, status and disconnect for API keys, and the pages of the browser."""

from __future__ import annotations

from urllib.parse import urlsplit

from litestar import Response
from litestar.params import FromPath
from pydantic import TypeAdapter

from api.access.guards import Public, RequiresScope
from api.access.principal import Scope
from api.connections.consent.callback import AuthorizationCallback, CallbackRequest
from api.connections.consent.errors import ConnectFailed
from api.connections.consent.html import result_page
from api.connections.consent.return_to import result_url
from api.connections.consent.start import BrowserBinding, ConsentStart
from api.connections.consent.state import LIFE_SECONDS
from api.connections.dependencies import PublicUrls
from api.connections.schemas import AUTH_URL, CONNECTION, DISCONNECTED, AccountView, AuthUrlView, ConnectionView
from api.connections.service import ConnectionService, Status
from api.errors import InternalError, NotConnectable, ServiceUnavailable, ValidationFailed
from api.http.dependencies import Injected
from api.http.operations import OperationDoc, Parameter, SuccessResponse, documented, get, only_get, post
from api.http.request import AnyRequest
from api.http.responses import OK, BytesResponse, StoredResponse, encode

OAUTH = "/api/workspaces/{workspace_id:str}/mcp-servers/{server_id:str}/oauth"
CALLBACK = "/api/mcp/oauth/{service_type:str}/callback"
TAG = "Connections"
HTML = "text/html; charset=utf-8"
STATE = "the single-use `state` parameter authorizes the browser"
TICKET = "the single-use ticket in the path authorizes the browser"
SEE_OTHER, BAD_REQUEST = 303, 400
RETURN_TO = Parameter(
    "returnTo",
    "Where the browser is sent at the end, with `?connected=<serverId>` or `?error=<code>` added: a path of this "
    "service, or a URL at an origin of `PLUGBOARD_RETURN_ORIGINS`.",
    {"type": "string"},
    example="/docs",
)
FAILED = SuccessResponse(SEE_OTHER, "A redirect to a page with the reason of the failure.", headers=["Location"])
OUTAGES = [InternalError, ServiceUnavailable]
CALLBACK_PARAMETERS = [
    Parameter(
        "state", "The state of the authorization request: single-use, and valid for ten minutes.", {"type": "string"}
    ),
    Parameter("code", "The authorization code.", {"type": "string"}),
    Parameter("iss", "The issuer of the response (RFC 9207).", {"type": "string"}),
    Parameter("error", "The error code, if access was not granted.", {"type": "string"}),
]


def view(status: Status, public: PublicUrls) -> ConnectionView:
    connection = status.connection
    redirect_uri = public.callback(status.server.service_type)
    if connection is None:
        return ConnectionView(
            connected=False,
            scopes=[],
            asked_scopes=[],
            missing_scopes=[],
            unasked_scopes=[],
            reconnect_required=False,
            redirect_uri=redirect_uri,
        )
    return ConnectionView(
        connected=connection.ended is None,
        account=AccountView(**connection.account) if connection.account else None,
        scopes=list(connection.granted),
        asked_scopes=list(connection.asked),
        missing_scopes=sorted({*connection.asked, *connection.wanted} - {*connection.granted}),
        unasked_scopes=sorted({*connection.granted} - {*connection.asked}) if connection.asked else [],
        connected_at=connection.connected_at,
        expires_at=status.expires_at,
        reconnect_required=connection.ended is not None,
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
    f"{OAUTH}/disconnect",
    status_code=200,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "disconnectServer",
            TAG,
            "Disconnect a server",
            "The tokens are deleted at once, and revoked at the provider as soon as it can be reached. Idempotent.",
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


@get(
    "/connect/{ticket:str}",
    guards=[Public(TICKET)],
    opt=documented(
        OperationDoc(
            "showConnect",
            TAG,
            "Show the page that starts the consent",
            "An HTML page for people. It names the workspace and the service, and has one button.",
            SuccessResponse(200, "The page.", media_type="text/html"),
            problems=OUTAGES,
            browser_error=FAILED,
        )
    ),
)
async def connect(
    ticket: FromPath[str], request_id: Injected[str], consent_start: Injected[ConsentStart]
) -> Response[bytes]:
    try:
        return BytesResponse(OK, await consent_start.page(ticket, request_id), {}, HTML)
    except ConnectFailed as failure:
        return _see_other(result_url(None, error=failure.code))


@post(
    "/connect/{ticket:str}",
    status_code=SEE_OTHER,
    guards=[Public(TICKET)],
    opt=documented(
        OperationDoc(
            "goOnConnecting",
            TAG,
            "Redirect to the provider",
            f"The page's button sends this request. The response sets a cookie that the callback requires, for "
            f"{LIFE_SECONDS // 60} minutes.",
            SuccessResponse(
                SEE_OTHER,
                "A redirect to the provider, with a cookie; or without one to a page with the reason of the failure.",
                headers=["Location", "Set-Cookie"],
            ),
            problems=OUTAGES,
        )
    ),
)
async def go_on(
    request: AnyRequest,
    ticket: FromPath[str],
    request_id: Injected[str],
    consent_start: Injected[ConsentStart],
    public_urls: Injected[PublicUrls],
) -> Response[bytes]:
    if not _is_our_form(request, public_urls):
        return _see_other(result_url(None, error="foreign_form"))
    try:
        redirect = await consent_start.redirect(ticket, _browser(request, public_urls), request_id)
    except ConnectFailed as failure:
        return _see_other(result_url(None, error=failure.code))
    return BytesResponse(SEE_OTHER, b"", {"Location": redirect.url, "Set-Cookie": redirect.cookie}, HTML)


def _callback_doc(name: str, summary: str) -> OperationDoc:
    return OperationDoc(
        name,
        TAG,
        summary,
        "Redirects the browser to `returnTo`, with `?connected=<serverId>` or `?error=<code>`. Texts of the provider "
        "are not passed on. HEAD is refused, because it would use up the state.",
        SuccessResponse(SEE_OTHER, "A redirect to the result.", headers=["Location"]),
        parameters=CALLBACK_PARAMETERS,
        problems=OUTAGES,
    )


@only_get(
    CALLBACK,
    status_code=SEE_OTHER,
    guards=[Public(STATE)],
    opt=documented(_callback_doc("finishConnecting", "Finish connecting: the OAuth callback")),
)
async def callback(
    request: AnyRequest,
    service_type: FromPath[str],
    authorization_callback: Injected[AuthorizationCallback],
    public_urls: Injected[PublicUrls],
) -> Response[bytes]:
    callback_request = _callback_request(request, public_urls, public_urls.callback(service_type))
    return _see_other(await authorization_callback.handle(callback_request))


@only_get(
    f"{CALLBACK}/{{issuer:str}}",
    status_code=SEE_OTHER,
    guards=[Public(STATE)],
    opt=documented(
        _callback_doc("finishConnectingByIssuer", "Finish connecting: the OAuth callback of one authorization server")
    ),
)
async def callback_by_issuer(
    request: AnyRequest,
    service_type: FromPath[str],
    issuer: FromPath[str],
    authorization_callback: Injected[AuthorizationCallback],
    public_urls: Injected[PublicUrls],
) -> Response[bytes]:
    callback_request = _callback_request(request, public_urls, public_urls.callback(service_type, issuer))
    return _see_other(await authorization_callback.handle(callback_request))


def _callback_request(request: AnyRequest, public_urls: PublicUrls, redirect_uri: str) -> CallbackRequest:
    known = _browser(request, public_urls).known
    return CallbackRequest(redirect_uri, request.query_params.dict(), known, request.scope["state"]["request_id"])


@get(
    "/connected",
    guards=[Public("the page shows only fixed texts")],
    opt=documented(
        OperationDoc(
            "showConnected",
            TAG,
            "Show the result of connecting",
            "An HTML page for people, used if no `returnTo` was given.",
            SuccessResponse(200, "The page.", media_type="text/html"),
            browser_error=SuccessResponse(
                BAD_REQUEST, "A page with the reason of the failure.", media_type="text/html"
            ),
            parameters=[
                Parameter("connected", "The id of the connected server.", {"type": "string"}),
                Parameter("error", "The error code, if nothing was connected.", {"type": "string"}),
            ],
        )
    ),
)
async def connected(request: AnyRequest) -> Response[bytes]:
    is_connected = "connected" in request.query_params and "error" not in request.query_params
    page = result_page(connected=is_connected, error=request.query_params.get("error"))
    return BytesResponse(OK if is_connected else BAD_REQUEST, page, {}, HTML)


def _see_other(location: str) -> Response[bytes]:
    return BytesResponse(SEE_OTHER, b"", {"Location": location}, HTML)


def _browser(request: AnyRequest, public_urls: PublicUrls) -> BrowserBinding:
    cookies = [value.decode("latin-1") for name, value in request.scope["headers"] if name == b"cookie"]
    return BrowserBinding(public_urls.is_secure, ";".join(cookies))


def _is_our_form(request: AnyRequest, public_urls: PublicUrls) -> bool:
    """Against forged requests: another site must not start the consent without showing our page."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    own = urlsplit(public_urls.url)
    return origin is None or origin == f"{own.scheme}://{own.netloc}"


ROUTES = [authorize, status, disconnect, connect, go_on, callback, callback_by_issuer, connected]
