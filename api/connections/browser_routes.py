"""Routes of the browser: the page that starts a consent, the OAuth callback, and the result."""

from __future__ import annotations

from urllib.parse import urlsplit

from litestar import Response
from litestar.params import FromPath

from api.access.guards import Public
from api.connections.consent.callback import AuthorizationCallback, CallbackRequest
from api.connections.consent.errors import ConnectFailed
from api.connections.consent.html import result_page
from api.connections.consent.return_to import result_url
from api.connections.consent.start import BrowserBinding, ConsentStart
from api.connections.consent.state import LIFE_SECONDS
from api.connections.dependencies import Brand, PublicUrls
from api.errors import InternalError, ServiceUnavailable
from api.http.dependencies import Injected
from api.http.operations import OperationDoc, Parameter, SuccessResponse, documented, get, only_get, post
from api.http.request import AnyRequest
from api.http.responses import OK, BytesResponse

TAG = "Connections"
CALLBACK = "/api/mcp/oauth/{service_type:str}/callback"
HTML = "text/html; charset=utf-8"
STATE = "the single-use `state` parameter authorizes the browser"
TICKET = "the single-use ticket in the path authorizes the browser"
SEE_OTHER, BAD_REQUEST = 303, 400
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


@get(
    "/connect/{ticket:str}",
    guards=[Public(TICKET)],
    opt=documented(
        OperationDoc(
            "showConnect",
            TAG,
            "Show the page that starts the consent",
            "An HTML page for people. It names the workspace and the service, and has two buttons: Connect and Cancel.",
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
        return _see_other(_failure_location(failure))


@post(
    "/connect/{ticket:str}",
    status_code=SEE_OTHER,
    guards=[Public(TICKET)],
    opt=documented(
        OperationDoc(
            "goOnConnecting",
            TAG,
            "Redirect to the provider",
            f"The page's buttons send this request. The response sets a cookie that the callback requires, for "
            f"{LIFE_SECONDS // 60} minutes.",
            SuccessResponse(
                SEE_OTHER,
                "A redirect to the provider, with a cookie; or without one to a page with the reason of the failure.",
                headers=["Location", "Set-Cookie"],
            ),
            parameters=[Parameter("cancel", "With `true`, nothing is connected: `?error=denied`.", {"type": "string"})],
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
    is_cancelled = request.query_params.get("cancel") == "true"
    if not _is_our_form(request, public_urls):
        return _see_other(result_url(None, error="foreign_form"))
    try:
        if is_cancelled:
            return _see_other(await consent_start.cancel(ticket))
        redirect = await consent_start.redirect(ticket, _browser(request, public_urls), request_id)
    except ConnectFailed as failure:
        return _see_other(_failure_location(failure))
    return BytesResponse(SEE_OTHER, b"", {"Location": redirect.url, "Set-Cookie": redirect.cookie}, HTML)


def _callback_doc(name: str, summary: str) -> OperationDoc:
    return OperationDoc(
        name,
        TAG,
        summary,
        "Redirects the browser to `returnTo`, with `?connected=<serverId>` or `?error=<code>&serverId=<serverId>`. "
        "Texts of the provider are not passed on. HEAD is refused, because it would use up the state.",
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
    cookies = _browser(request, public_urls).cookie_values
    state = request.scope["state"]
    return CallbackRequest(
        redirect_uri, request.query_params.dict(), cookies, state["request_id"], state["client_address"]
    )


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
                Parameter(
                    "serverId", "The id of the server that was not connected, if it is known.", {"type": "string"}
                ),
            ],
        )
    ),
)
async def connected(request: AnyRequest, brand: Injected[Brand]) -> Response[bytes]:
    is_connected = "connected" in request.query_params and "error" not in request.query_params
    page = result_page(brand, connected=is_connected, error=request.query_params.get("error"))
    return BytesResponse(OK if is_connected else BAD_REQUEST, page, {}, HTML)


def _failure_location(failure: ConnectFailed) -> str:
    return failure.location or result_url(None, error=failure.code)


def _see_other(location: str) -> Response[bytes]:
    return BytesResponse(SEE_OTHER, b"", {"Location": location}, HTML)


def _browser(request: AnyRequest, public_urls: PublicUrls) -> BrowserBinding:
    cookies = [value.decode("latin-1") for name, value in request.scope["headers"] if name == b"cookie"]
    return BrowserBinding(public_urls.is_secure, ";".join(cookies))


def _is_our_form(request: AnyRequest, public_urls: PublicUrls) -> bool:
    """Protects against forged requests: another site must not start the consent without our page."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    own = urlsplit(public_urls.url)
    return origin is None or origin == f"{own.scheme}://{own.netloc}"


ROUTES = [connect, go_on, callback, callback_by_issuer, connected]
