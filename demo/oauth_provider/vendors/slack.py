"""Slack's OAuth."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar

from demo.oauth_provider.endpoints import Endpoint, expires_in
from demo.oauth_provider.http import Json, Request, Response, json_response
from demo.oauth_provider.model import AuthorizationRequest, Client, Family, IssuedTokens, Kind, Refusal
from demo.oauth_provider.vendors.base import VendorAuthorizationServer

ERRORS = {
    "unknown client": "invalid_client_id",
    "bad secret": "bad_client_secret",
    "bad redirect": "bad_redirect_uri",
    "unknown code": "invalid_code",
    "used code": "code_already_used",
    "unknown refresh token": "invalid_refresh_token",
    "used refresh token": "invalid_refresh_token",
    "bad grant type": "invalid_grant_type",
}


class SlackAuthorizationServer(VendorAuthorizationServer):
    name = "slack"
    behaviour: ClassVar = {
        "access_life": None,
        "expires_in": None,
        "gives_refresh": False,
        "repeats_access": True,
        "scopes_supported": ("channels:read", "channels:history", "groups:read", "groups:history", "chat:write"),
    }
    authorize_path, token_path, revoke_path = "/oauth/v2/authorize", "/api/oauth.v2.access", "/api/auth.revoke"
    rate_limited = json_response({"ok": False, "error": "ratelimited"}, 429)

    def more_endpoints(self) -> Mapping[str, Endpoint]:
        return {"/api/auth.test": Endpoint("api", ("GET", "POST"), self.test)}

    def parse_request(self, query: Mapping[str, str]) -> AuthorizationRequest:
        """PKCE is disabled for the app, so a request with PKCE is refused."""
        request = self.authorization_request(query, tuple(filter(None, query.get("scope", "").split(","))))
        if not request.scopes or not set(request.scopes) <= set(self.tenant.behaviour.scopes_supported):
            raise Refusal("bad scope")
        if "code_challenge" in query:
            raise Refusal("bad request")
        return request

    def authenticate(self, request: Request) -> Client:
        if request.media_type == "application/json":
            raise Refusal("bad request")
        return self.authenticate_by_secret(request, "client_secret_basic", "client_secret_post")

    def issue(self, client: Client, fields: Json) -> IssuedTokens:
        """A code needs no grant type."""
        return super().issue(client, {"grant_type": "authorization_code", **fields})

    def token_body(self, tokens: IssuedTokens) -> Json:
        family = tokens.family
        bot = {"bot_user_id": _id("U", f"{family.workspace} bot"), "app_id": _id("A", family.client)}
        place = {"team": {"id": self.account_id(family), "name": family.workspace}, "enterprise": None}
        return {
            "ok": True,
            "access_token": tokens.access.text,
            "token_type": "bot",
            "scope": ",".join(family.scopes),
            **bot,
            **place,
            "is_enterprise_install": False,
            "authed_user": {"id": _id("U", family.person)},
            **({"refresh_token": tokens.refresh.text} if tokens.refresh else {}),
            **expires_in(self.tenant.behaviour.expires_in),
        }

    def error_response(self, refusal: Refusal) -> Response:
        return _error(ERRORS.get(refusal.reason, "invalid_arguments"))

    def revoke(self, request: Request) -> Response:
        text = request.bearer or request.fields.get("token")
        token = self.tenant.grants.token(text or "")
        if token is None or self.tenant.grants.condition(text) != "good":
            return self._token_error(text)
        self.tenant.grants.revoke(token, with_family=True)
        return json_response({"ok": True, "revoked": True})

    def test(self, request: Request) -> Response:
        text = request.bearer or request.fields.get("token")
        token = self.tenant.grants.valid_token(text)
        if token is None:
            return self._token_error(text)
        workspace = token.family.workspace
        bot = {"user": "plugboard", "user_id": _id("U", f"{workspace} bot"), "bot_id": _id("B", workspace)}
        team: dict[str, Any] = {"team": workspace, "team_id": self.account_id(token.family)}
        url = f"https://{workspace.lower().replace(' ', '-')}.slack.com/"
        return json_response({"ok": True, "url": url, **team, **bot, "is_enterprise_install": False})

    def account_id(self, family: Family) -> str:
        return _id("T", family.workspace)

    def mint(self, kind: Kind, family: Family) -> str:  # noqa: ARG002  others look at it
        if kind == "refresh":
            return f"xoxe-1-{secrets.token_urlsafe(48)}"
        return ("xoxe.xoxb-1-" if self.tenant.behaviour.gives_refresh else "xoxb-") + secrets.token_urlsafe(32)

    def _token_error(self, text: str | None) -> Response:
        words = {"unknown": "invalid_auth", "revoked": "token_revoked", "expired": "token_expired"}
        return _error(words.get(self.tenant.grants.condition(text), "invalid_auth") if text else "not_authed")


def _error(error: str) -> Response:
    return json_response({"ok": False, "error": error})


def _id(letter: str, text: str) -> str:
    return letter + hashlib.sha256(text.encode()).hexdigest()[:10].upper()
