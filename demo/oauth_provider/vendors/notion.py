"""Notion's OAuth."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping
from typing import ClassVar

from demo.oauth_provider.endpoints import Endpoint, error_code, expires_in
from demo.oauth_provider.http import Json, Request, Response, json_response
from demo.oauth_provider.model import AuthorizationRequest, Client, Family, IssuedTokens, Kind, Refusal
from demo.oauth_provider.vendors.base import VendorAuthorizationServer, uuid_of


class NotionAuthorizationServer(VendorAuthorizationServer):
    name = "notion"
    behaviour: ClassVar = {"access_life": None, "expires_in": None, "scopes_supported": ()}
    authorize_path, token_path, revoke_path = "/v1/oauth/authorize", "/v1/oauth/token", "/v1/oauth/revoke"
    busy = json_response({"object": "error", "status": 429, "code": "rate_limited", "message": "Slow down."}, 429)
    fields: ClassVar = {
        "authorization_code": {"grant_type", "code", "redirect_uri", "external_account"},
        "refresh_token": {"grant_type", "refresh_token"},
    }

    def more_endpoints(self) -> Mapping[str, Endpoint]:
        return {
            "/v1/oauth/introspect": Endpoint("introspect", ("POST",), self.introspect),
            "/v1/users/me": Endpoint("api", ("GET",), self.bot),
        }

    def parse_request(self, query: Mapping[str, str]) -> AuthorizationRequest:
        request = self.authorization_request(query, ())
        if query.get("response_type") != "code" or query.get("owner") != "user":
            raise Refusal("bad request")
        return request

    def authenticate(self, request: Request) -> Client:
        client = self.authenticate_by_secret(request, "client_secret_basic")
        allowed = self.fields.get(request.fields.get("grant_type", ""))
        if allowed is not None and not request.fields.keys() <= allowed:
            raise Refusal("bad request")
        return client

    def token_body(self, tokens: IssuedTokens) -> Json:
        return {
            "access_token": tokens.access.text,
            "token_type": "bearer",
            "refresh_token": tokens.refresh.text if tokens.refresh else None,
            "bot_id": self.account_id(tokens.family),
            "workspace_icon": None,
            "workspace_name": tokens.family.workspace,
            "workspace_id": uuid_of("notion", tokens.family.workspace),
            "owner": _notion_owner(tokens.family),
            "duplicated_template_id": None,
            "request_id": str(uuid.uuid4()),
            **expires_in(self.tenant.behaviour.expires_in),
        }

    def error_response(self, refusal: Refusal) -> Response:
        is_odd = refusal.reason in ("bad request", "bad grant type")
        word = "validation_error" if is_odd else error_code(refusal.reason)
        status = 401 if word == "invalid_client" else 400
        if self.tenant.behaviour.other_errors:
            return json_response({"error": word, "request_id": str(uuid.uuid4())}, status)
        return _notion_error(status, "unauthorized" if status == 401 else word)

    def revoke(self, request: Request) -> Response:
        return self._token_request(request, is_last=True)

    def introspect(self, request: Request) -> Response:
        return self._token_request(request, is_last=False)

    def bot(self, request: Request) -> Response:
        token = self.tenant.grants.valid_token(request.bearer)
        if "notion-version" not in request.headers:
            return _notion_error(400, "missing_version")
        if token is None:
            return _notion_error(401, "unauthorized")
        bot = {"owner": _notion_owner(token.family), "workspace_name": token.family.workspace}
        return json_response({"object": "user", "id": self.account_id(token.family), "type": "bot", "bot": bot})

    def account_id(self, family: Family) -> str:
        return uuid_of("notion", family.workspace, family.person)

    def mint(self, kind: Kind, family: Family) -> str:  # noqa: ARG002  others look at it
        return ("ntn_" if kind == "access" else "nrt_") + secrets.token_urlsafe(32)

    def _token_request(self, request: Request, is_last: bool) -> Response:
        try:
            client = self.authenticate_by_secret(request, "client_secret_basic")
        except Refusal as refusal:
            return self.error_response(refusal)
        if request.fields.keys() != {"token"}:
            return _notion_error(400, "validation_error")
        token = self.tenant.grants.token(request.fields["token"])
        is_theirs = token is not None and token.family.client == client.id
        active = is_theirs and self.tenant.grants.condition(request.fields["token"]) == "good"
        if is_last and is_theirs and token:
            self.tenant.grants.revoke(token, with_family=True)
        return json_response({"request_id": str(uuid.uuid4()), **({} if is_last else {"active": active})})


def _notion_owner(family: Family) -> Json:
    user = {
        "object": "user",
        "id": uuid_of("notion", family.person),
        "name": family.person,
        "avatar_url": None,
        "type": "person",
        "person": {"email": f"{family.person.lower()}@example.com"},
    }
    return {"type": "user", "user": user}


def _notion_error(status: int, code: str) -> Response:
    body = {"object": "error", "status": status, "code": code, "message": f"It is {code}."}
    return json_response({**body, "request_id": str(uuid.uuid4())}, status)
