"""The endpoints that all fake authorization servers share."""

from __future__ import annotations

import html
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from demo.oauth_provider.http import Json, Request, Response, html_response, json_response, redirect, with_changes
from demo.oauth_provider.model import AuthorizationRequest, Client, Family, IssuedTokens, Kind, Refusal
from demo.oauth_provider.tenant import Tenant

Handler = Callable[[Request], Response]
NEVER = {"Cache-Control": "no-store", "Pragma": "no-cache"}
ERROR_CODES: Mapping[str, str] = {
    "unknown client": "invalid_client",
    "bad secret": "invalid_client",
    "bad grant type": "unsupported_grant_type",
    "bad request": "invalid_request",
    "bad scope": "invalid_scope",
    "bad resource": "invalid_target",
    "not for this client": "unauthorized_client",
}
"""Error codes of RFC 6749 and 8707; every other reason is `invalid_grant`."""


def error_code(reason: str) -> str:
    return ERROR_CODES.get(reason, "invalid_grant")


@dataclass(frozen=True)
class Endpoint:
    name: str
    methods: tuple[str, ...]
    handle: Handler


class AuthorizationError(Exception):
    """An error that redirects the browser. An unknown client or redirect URI never causes a redirect."""

    def __init__(self, request: AuthorizationRequest, error: str) -> None:
        super().__init__(error)
        self.request, self.error = request, error


class AuthorizationServer:
    rate_limited: ClassVar[Response] = json_response({"error": "slow_down"}, 429)

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        tenant.grants.mint = self.mint

    def endpoints(self) -> Mapping[str, Endpoint]:
        """The endpoints by their paths below the server's own."""
        raise NotImplementedError

    def parse_request(self, query: Mapping[str, str]) -> AuthorizationRequest:
        raise NotImplementedError

    def authenticate(self, request: Request) -> Client:
        raise NotImplementedError

    def token_body(self, tokens: IssuedTokens) -> Json:
        """The body of a token response."""
        raise NotImplementedError

    def error_response(self, refusal: Refusal) -> Response:
        raise NotImplementedError

    def authorize(self, request: Request) -> Response:
        decision = request.fields.get("consent") if request.method == "POST" else self._automatic_decision()
        try:
            asked = self.parse_request(check_no_repeats(request).query)
        except Refusal as refusal:
            return html_response(
                f"<title>Error</title><h1>This app cannot be connected</h1><p>{refusal.reason}</p>", 400
            )
        except AuthorizationError as back:
            return self._redirect_back(back.request, error=back.error)
        match decision:
            case "allow":
                return self._redirect_back(asked, code=self.tenant.grants.code_for(asked))
            case "deny":
                return self._redirect_back(asked, error="access_denied")
            case _:
                return html_response(_consent_page(self.tenant.name, asked))

    def token(self, request: Request) -> Response:
        try:
            client = self.authenticate(check_no_repeats(request))
            return self._token_response(self.issue(client, request.fields), request)
        except Refusal as refusal:
            self.tenant.counts["refusals"] += 1
            return self.error_response(refusal)

    def issue(self, client: Client, fields: Json) -> IssuedTokens:
        grants = self.tenant.grants
        match fields.get("grant_type"):
            case "authorization_code":
                redirect_uri, verifier = fields.get("redirect_uri", ""), fields.get("code_verifier")
                return grants.exchange_code(client, fields.get("code", ""), redirect_uri, verifier)
            case "refresh_token":
                return grants.refresh(client, fields.get("refresh_token", ""))
            case _:
                raise Refusal("bad grant type")

    def mint(self, kind: Kind, family: Family) -> str:
        raise NotImplementedError

    def callback_parameters(self, request: AuthorizationRequest) -> Mapping[str, str | None]:
        return {"state": request.state}

    def client_of(self, client_id: object, redirect_uri: str) -> Client:
        client = self.tenant.clients.get(str(client_id))
        if client is None:
            raise Refusal("unknown client")
        if not client.allows_redirect(redirect_uri):
            raise Refusal("bad redirect")
        return client

    def authenticate_by_secret(self, request: Request, *methods: str) -> Client:
        """Authenticates a client by its secret, in the header or in the body."""
        basic, fields = request.basic, request.fields
        if basic and "client_secret" in fields:
            raise Refusal("bad request")
        method = "client_secret_basic" if basic else "client_secret_post"
        name, secret = basic or (fields.get("client_id", ""), fields.get("client_secret", ""))
        client = self.tenant.clients.get(name)
        if client is None or method not in methods:
            raise Refusal("unknown client")
        if not client.secret or not secrets.compare_digest(client.secret.encode(), str(secret).encode()):
            raise Refusal("bad secret")
        return client

    def _automatic_decision(self) -> str | None:
        return {"at once": "allow", "deny": "deny"}.get(self.tenant.behaviour.consent)

    def _redirect_back(self, request: AuthorizationRequest, **said_back: str) -> Response:
        parameters = {**said_back, **self.callback_parameters(request), **self.tenant.behaviour.callback_changes}
        return redirect(request.redirect_uri, parameters)

    def _token_response(self, tokens: IssuedTokens, _: Request) -> Response:
        text = with_changes(self.token_body(tokens), self.tenant.behaviour.answer_changes)
        return json_response(text, Cache_Control="no-store")


def check_no_repeats(request: Request) -> Request:
    """No parameter may be repeated (RFC 6749)."""
    if request.has_repeated_parameters:
        raise Refusal("bad request")
    return request


def expires_in(life: float | None) -> Json:
    if life is None:
        return {}
    return {"expires_in": int(life) if float(life).is_integer() else life}


def _consent_page(name: str, request: AuthorizationRequest) -> str:
    scopes = "".join(f"<li>{html.escape(scope)}</li>" for scope in request.scopes) or "<li>whatever the app may do</li>"
    who = html.escape(request.client.name or request.client.id)
    return (
        f"<title>{html.escape(name)}</title><h1>Allow {who} to use {html.escape(name)}?</h1><ul>{scopes}</ul>"
        f"<p>You go on to {html.escape(request.redirect_uri)}.</p><form method=post>"
        "<button name=consent value=allow>Allow</button> <button name=consent value=deny>Deny</button></form>"
    )
