"""`…/oauth/…` and what a browser sees of connecting: the page to go on from, the way back, and what came of it."""

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
STATE = "the state that comes along is what lets a browser in, once"
SEE_OTHER, BAD_REQUEST = 303, 400
RETURN_TO = Parameter(
    "returnTo",
    "Where the browser goes when it is over, with `?connected=<serverId>` or `?error=<code>` added: a path of this "
    "service, or a URL at an origin of `PLUGBOARD_RETURN_ORIGINS`.",
    {"type": "string"},
    example="/docs",
)
WENT_WRONG = SuccessResponse(SEE_OTHER, "To a page that says why it does not go on.", headers=["Location"])
OUTAGES = [InternalError, ServiceUnavailable]
BROUGHT = [
    Parameter("state", "What we sent along: it is good once, and for ten minutes.", {"type": "string"}),
    Parameter("code", "What is exchanged for tokens.", {"type": "string"}),
    Parameter("iss", "Who answers (RFC 9207).", {"type": "string"}),
    Parameter("error", "Or that there was no consent.", {"type": "string"}),
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
            "Begin to connect a server",
            "Answers the URL of a page that names the workspace and the service. Whoever opens it in a browser and "
            "presses its button goes to the provider, consents, and comes back; from then on the server's tools work.",
            SuccessResponse(200, "Where to go.", TypeAdapter(AuthUrlView), AUTH_URL),
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
            "See how a server is connected",
            "As whom, with which scopes, and until when. Tokens are never shown.",
            SuccessResponse(200, "As it is now.", TypeAdapter(ConnectionView), CONNECTION),
            problems=[NotConnectable],
        )
    ),
)
async def status(
    server_id: FromPath[str], connections: Injected[ConnectionService], public_urls: Injected[PublicUrls]
) -> Response[bytes]:
    found = await connections.status(server_id)
    return StoredResponse(OK, encode(view(found, public_urls))).response()


@post(
    f"{OAUTH}/disconnect",
    status_code=200,
    guards=[RequiresScope(Scope.MANAGE)],
    opt=documented(
        OperationDoc(
            "disconnectServer",
            TAG,
            "Disconnect a server",
            "The tokens are forgotten at once, and revoked at the provider as soon as it can be reached. Done twice, "
            "it is done once.",
            SuccessResponse(200, "As it is now.", TypeAdapter(ConnectionView), DISCONNECTED),
            problems=[NotConnectable],
        )
    ),
)
async def disconnect(
    server_id: FromPath[str], connections: Injected[ConnectionService], public_urls: Injected[PublicUrls]
) -> Response[bytes]:
    found = await connections.disconnect(server_id)
    return StoredResponse(OK, encode(view(found, public_urls))).response()


@get(
    "/connect/{ticket:str}",
    guards=[Public("the ticket in the path is what lets somebody in, once")],
    opt=documented(
        OperationDoc(
            "showConnect",
            TAG,
            "The page to go on from",
            "For people. It says for which workspace and which service, and has one button.",
            SuccessResponse(200, "A page.", media_type="text/html"),
            problems=OUTAGES,
            browser_error=WENT_WRONG,
        )
    ),
)
async def connect(
    ticket: FromPath[str], request_id: Injected[str], consent_start: Injected[ConsentStart]
) -> Response[bytes]:
    try:
        return BytesResponse(OK, await consent_start.page(ticket, request_id), {}, HTML)
    except ConnectFailed as failed:
        return _see_other(result_url(None, error=failed.code))


@post(
    "/connect/{ticket:str}",
    status_code=SEE_OTHER,
    guards=[Public("the ticket in the path is what lets somebody in, once")],
    opt=documented(
        OperationDoc(
            "goOnConnecting",
            TAG,
            "Go on to the provider",
            f"What the page's button does. The browser gets a cookie, without which the way back is closed, for "
            f"{LIFE_SECONDS // 60} minutes.",
            SuccessResponse(
                SEE_OTHER,
                "To the provider, with a cookie; or without one to a page that says why it does not go on.",
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
        onward = await consent_start.redirect(ticket, _browser(request, public_urls), request_id)
    except ConnectFailed as failed:
        return _see_other(result_url(None, error=failed.code))
    return BytesResponse(SEE_OTHER, b"", {"Location": onward.url, "Set-Cookie": onward.cookie}, HTML)


def _callback_doc(name: str, summary: str) -> OperationDoc:
    return OperationDoc(
        name,
        TAG,
        summary,
        "Sends the browser to where connecting was to end, with `?connected=<serverId>` or `?error=<code>`. Nothing "
        "that a provider says is passed on. HEAD is refused: it would use up the state.",
        SuccessResponse(SEE_OTHER, "The browser is sent on.", headers=["Location"]),
        parameters=BROUGHT,
        problems=OUTAGES,
    )


@only_get(
    CALLBACK,
    status_code=SEE_OTHER,
    guards=[Public(STATE)],
    opt=documented(_callback_doc("finishConnecting", "The way back from a provider")),
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
    opt=documented(_callback_doc("finishConnectingByIssuer", "The way back from one authorization server alone")),
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
    guards=[Public("it shows nothing but sentences of ours")],
    opt=documented(
        OperationDoc(
            "showConnected",
            TAG,
            "What came of connecting",
            "For people, where no other place to return to was given.",
            SuccessResponse(200, "A page.", media_type="text/html"),
            browser_error=SuccessResponse(BAD_REQUEST, "A page that says why.", media_type="text/html"),
            parameters=[
                Parameter("connected", "The server that is connected now.", {"type": "string"}),
                Parameter("error", "Or why it is not.", {"type": "string"}),
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
    """Another site could send somebody's browser on without showing them our page. Browsers say who sends a form."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    own = urlsplit(public_urls.url)
    return origin is None or origin == f"{own.scheme}://{own.netloc}"


ROUTES = [authorize, status, disconnect, connect, go_on, callback, callback_by_issuer, connected]
