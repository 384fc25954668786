"""HubSpot's OAuth."""

from __future__ import annotations

import random
import secrets
import uuid
from collections.abc import Mapping
from typing import ClassVar

from demo.oauth_provider.endpoints import Endpoint, error_code, expires_in
from demo.oauth_provider.http import Json, Request, Response, json_response
from demo.oauth_provider.model import AuthorizationRequest, Client, Family, IssuedTokens, Kind, Refusal
from demo.oauth_provider.vendors.base import VendorAuthorizationServer, number_of

VERSIONS = ("2026-09", "2026-03", "v3")
STATUSES = {
    "unknown client": "BAD_CLIENT_ID",
    "bad secret": "BAD_CLIENT_SECRET",
    "bad redirect": "MISMATCH_REDIRECT_URI_AUTH_CODE",
    "unknown code": "BAD_AUTH_CODE",
    "used code": "BAD_AUTH_CODE",
    "unknown refresh token": "BAD_REFRESH_TOKEN",
    "used refresh token": "BAD_REFRESH_TOKEN",
    "bad grant type": "BAD_GRANT_TYPE",
}


class HubSpotAuthorizationServer(VendorAuthorizationServer):
    name = "hubspot"
    behaviour: ClassVar = {
        "access_life": 1800.0,
        "expires_in": 1800.0,
        "rotates": False,
        "scopes_supported": (
            "crm.objects.contacts.read",
            "crm.objects.companies.read",
            "crm.objects.deals.read",
            "crm.objects.owners.read",
            "oauth",
        ),
    }
    authorize_path, token_path = "/oauth/authorize", f"/oauth/{VERSIONS[0]}/token"
    revoke_path = f"{token_path}/revoke"
    busy = json_response(
        {
            "status": "error",
            "message": "You have reached your secondly limit.",
            "errorType": "RATE_LIMIT",
            "policyName": "TEN_SECONDLY_ROLLING",
            "correlationId": "fake",
        },
        429,
    )

    def more_endpoints(self) -> Mapping[str, Endpoint]:
        expected: dict[str, Endpoint] = {}
        for version in VERSIONS:
            token = f"/oauth/{version}/token"
            expected |= {
                token: Endpoint("token", ("POST",), self.token),
                f"{token}/revoke": Endpoint("revoke", ("POST",), self.revoke),
                f"{token}/introspect": Endpoint("introspect", ("POST",), self.introspect),
                f"/account-info/{version}/details": Endpoint("api", ("GET",), self.details),
            }
        return expected

    def parse_request(self, query: Mapping[str, str]) -> AuthorizationRequest:
        """The requested scopes must equal the scopes of the app."""
        request = self.authorization_request(query, tuple(query.get("scope", "").split(" ")))
        if set(request.scopes) != set(self.tenant.behaviour.scopes_supported):
            raise Refusal("bad scope")
        return request

    def authenticate(self, request: Request) -> Client:
        if request.media_type == "application/json":
            raise Refusal("bad request")
        return self.authenticate_by_secret(request, "client_secret_post")

    def token_body(self, tokens: IssuedTokens) -> Json:
        family = tokens.family
        return {
            "token_type": "bearer",
            **({"refresh_token": tokens.refresh.text} if tokens.refresh else {}),
            "access_token": tokens.access.text,
            **expires_in(self.tenant.behaviour.expires_in),
            "token_use": "access_token",
            "hub_id": number_of(family.workspace),
            "user_id": number_of(family.person),
            "scopes": list(family.scopes),
        }

    def error_response(self, refusal: Refusal) -> Response:
        status, text = STATUSES.get(refusal.reason, "BAD_REQUEST"), f"{refusal.reason}."
        if self.tenant.behaviour.other_errors:
            return json_response({"status": status, "message": text, "correlationId": str(uuid.uuid4())}, 400)
        word = error_code(refusal.reason)
        return json_response({"error": word, "error_description": text, "status": status, "message": text}, 400)

    def revoke(self, request: Request) -> Response:
        """Revokes only the given token; an unknown token is ignored."""
        try:
            client = self.authenticate(request)
        except Refusal as refusal:
            return self.error_response(refusal)
        token = self.tenant.grants.token(request.fields.get("token", ""))
        if token and token.family.client == client.id:
            self.tenant.grants.revoke(token, with_family=False)
        return Response(200)

    def introspect(self, request: Request) -> Response:
        try:
            client = self.authenticate(request)
        except Refusal as refusal:
            return self.error_response(refusal)
        token = self.tenant.grants.token(request.fields.get("token", ""))
        if not token or token.family.client != client.id or self.tenant.grants.condition(token.text) != "good":
            return json_response({"active": False})
        use = "refresh_token" if token.kind == "refresh" else "access_token"
        return json_response({"active": True, "token_use": use, "client_id": client.id, **self._account(token.family)})

    def details(self, request: Request) -> Response:
        token = self.tenant.grants.valid_token(request.bearer)
        if token is None:
            is_expired = self.tenant.grants.condition(request.bearer) == "expired"
            category = "EXPIRED_AUTHENTICATION" if is_expired else "INVALID_AUTHENTICATION"
            return json_response(
                {"status": "error", "message": "No.", "category": category, "correlationId": "fake"}, 401
            )
        portal = number_of(token.family.workspace)
        place = {"uiDomain": "app.hubspot.com", "timeZone": "Europe/Berlin", "dataHostingLocation": "eu1"}
        return json_response({"portalId": portal, "accountType": "STANDARD", "companyCurrency": "EUR", **place})

    def account_id(self, family: Family) -> str:
        return str(number_of(family.workspace))

    def mint(self, kind: Kind, family: Family) -> str:  # noqa: ARG002  others look at it
        """Access tokens are long, and of any length."""
        return f"na1-{uuid.uuid4()}" if kind == "refresh" else f"CJ{secrets.token_urlsafe(random.randint(120, 400))}"

    def _account(self, family: Family) -> Json:
        portal = {"hub_id": number_of(family.workspace), "hub_domain": f"{family.workspace.lower()}.example.com"}
        user = {"user_id": number_of(family.person), "user": f"{family.person.lower()}@example.com"}
        return {**portal, **user, "scopes": list(family.scopes)}
