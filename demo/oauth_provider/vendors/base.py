"""The base class of the vendors' authorization servers."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

from demo.oauth_provider.endpoints import AuthorizationServer, Endpoint
from demo.oauth_provider.http import Request, Response, json_response
from demo.oauth_provider.model import AuthorizationRequest, Family


def uuid_of(*parts: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(parts)))


def number_of(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:7], 16)


class VendorAuthorizationServer(AuthorizationServer):
    name: ClassVar[str]
    behaviour: ClassVar[Mapping[str, Any]]
    authorize_path: ClassVar[str]
    token_path: ClassVar[str]
    revoke_path: ClassVar[str]

    def endpoints(self) -> Mapping[str, Endpoint]:
        return {
            self.authorize_path: Endpoint("authorize", ("GET", "POST"), self.authorize),
            self.token_path: Endpoint("token", ("POST",), self.token),
            self.revoke_path: Endpoint("revoke", ("POST",), self.revoke),
            "/api/me": Endpoint("api", ("GET",), self.me),
            **self.more_endpoints(),
        }

    def more_endpoints(self) -> Mapping[str, Endpoint]:
        return {}

    def revoke(self, request: Request) -> Response:
        raise NotImplementedError

    def me(self, request: Request) -> Response:
        token = self.tenant.grants.valid_token(request.bearer)
        if token is None:
            return json_response({"error": "unauthorized"}, 401)
        family = token.family
        who = {"service": self.name, "account": self.account_id(family), "person": family.person}
        grant = {"family": family.id, "generation": token.generation, "scopes": list(family.scopes)}
        return json_response({**who, "workspace": family.workspace, **grant})

    def account_id(self, family: Family) -> str:
        raise NotImplementedError

    def authorization_request(
        self, query: Mapping[str, str], scopes: tuple[str, ...], **more: Any
    ) -> AuthorizationRequest:
        client = self.client_of(query.get("client_id"), query.get("redirect_uri", ""))
        return AuthorizationRequest(client, query["redirect_uri"], query.get("state"), scopes, **more)
