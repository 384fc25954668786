"""Linear's OAuth."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import ClassVar

from demo.oauth_provider.endpoints import AuthorizationError, error_code, expires_in
from demo.oauth_provider.http import Json, Request, Response, json_response
from demo.oauth_provider.model import AuthorizationRequest, Client, Family, IssuedTokens, Kind, Refusal, Token
from demo.oauth_provider.vendors.base import VendorAuthorizationServer, uuid_of


class LinearAuthorizationServer(VendorAuthorizationServer):
    name = "linear"
    behaviour: ClassVar = {
        "access_life": 86399.0,
        "expires_in": 86399.0,
        "scopes_supported": ("read", "write", "issues:create", "comments:create", "timeSchedule:write", "admin"),
    }
    authorize_path, token_path, revoke_path = "/oauth/authorize", "/oauth/token", "/oauth/revoke"
    busy = json_response({"errors": [{"message": "Rate limited", "extensions": {"code": "RATELIMITED"}}]}, 400)

    def parse_request(self, query: Mapping[str, str]) -> AuthorizationRequest:
        scopes = tuple(dict.fromkeys(["read", *filter(None, query.get("scope", "").split(","))]))
        challenge, method = query.get("code_challenge"), query.get("code_challenge_method", "plain")
        request = self.authorization_request(query, scopes, challenge=challenge, challenge_method=method)
        if query.get("actor") != "app":
            raise Refusal("actor=app is expected")
        if query.get("response_type") != "code" or method not in ("S256", "plain"):
            raise AuthorizationError(request, "invalid_request")
        if not set(scopes) <= set(self.tenant.behaviour.scopes_supported):
            raise AuthorizationError(request, "invalid_scope")
        return request

    def authenticate(self, request: Request) -> Client:
        """A code that was requested with PKCE needs no secret."""
        if request.media_type == "application/json":
            raise Refusal("bad request")
        fields = request.fields
        alone = self.tenant.clients.get(fields.get("client_id", ""))
        is_proven = "code_verifier" in fields and self.tenant.grants.has_challenge(fields.get("code", ""))
        if alone and is_proven and "client_secret" not in fields:
            return alone
        return self.authenticate_by_secret(request, "client_secret_post", "client_secret_basic")

    def token_body(self, tokens: IssuedTokens) -> Json:
        refresh = {"refresh_token": tokens.refresh.text} if tokens.refresh else {}
        scope = {"scope": " ".join(tokens.family.scopes)}
        life = expires_in(self.tenant.behaviour.expires_in)
        return {"access_token": tokens.access.text, "token_type": "Bearer", **life, **scope, **refresh}

    def error_response(self, refusal: Refusal) -> Response:
        word = error_code(refusal.reason)
        status = 401 if word == "invalid_client" else 400
        error = "Error" if self.tenant.behaviour.other_errors else word
        return json_response({"error": error, "error_description": f"{refusal.reason}."}, status)

    def revoke(self, request: Request) -> Response:
        """Revokes one token; the other token of the pair stays valid."""
        fields = request.fields
        text = fields.get("access_token") or fields.get("refresh_token") or request.bearer
        match self.tenant.grants.condition(text), self.tenant.grants.token(text or ""):
            case "revoked", _:
                return json_response({"error": "invalid_request", "error_description": "Already revoked."}, 400)
            case _, Token() as token:
                self.tenant.grants.revoke(token, with_family=False)
                return json_response({"success": True})
            case _:
                return json_response({"error": "invalid_token"}, 401)

    def account_id(self, family: Family) -> str:
        return uuid_of("linear", family.workspace, "app", family.client)

    def mint(self, kind: Kind, family: Family) -> str:  # noqa: ARG002
        return ("lin_oauth_" if kind == "access" else "lin_refresh_") + secrets.token_hex(32)
