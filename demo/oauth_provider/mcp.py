"""The authorization server of an MCP server: metadata, registration and tokens."""

from __future__ import annotations

import json
import secrets
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from demo.oauth_provider.assertions import authenticate_by_assertion
from demo.oauth_provider.endpoints import AuthorizationError, AuthorizationServer, Endpoint, error_code, expires_in
from demo.oauth_provider.http import Json, Request, Response, json_response, with_changes
from demo.oauth_provider.model import AuthorizationRequest, Client, Family, IssuedTokens, Kind, Refusal
from demo.oauth_provider.tenant import Tenant

GRANTS = ("authorization_code", "refresh_token", "client_credentials")
ALGORITHMS = ["RS256", "ES256", "EdDSA"]
MAX_DOCUMENT_BYTES = 5_000  # the limit that the draft recommends


class McpAuthorizationServer(AuthorizationServer):
    def __init__(self, tenant: Tenant, is_for: Callable[[Tenant, str], bool]) -> None:
        """`is_for` says whether a resource trusts the tokens of the tenant."""
        super().__init__(tenant)
        self._trusts_tokens = is_for
        self._assertions: set[str] = set()

    def endpoints(self) -> Mapping[str, Endpoint]:
        return {
            "/authorize": Endpoint("authorize", ("GET", "POST"), self.authorize),
            "/token": Endpoint("token", ("POST",), self.token),
            "/register": Endpoint("register", ("POST",), self.register),
            "/revoke": Endpoint("revoke", ("POST",), self.revoke),
        }

    def metadata(self, *, oidc: bool) -> Response:
        mine, issuer = self.tenant.behaviour, self.tenant.issuer
        fields: Json = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "revocation_endpoint": f"{issuer}/revoke",
            "scopes_supported": list(mine.scopes_supported),
            "response_types_supported": ["code"],
            "grant_types_supported": list(GRANTS),
            "token_endpoint_auth_methods_supported": list(mine.auth_methods),
            "token_endpoint_auth_signing_alg_values_supported": ALGORITHMS,
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": mine.takes_documents,
            "authorization_response_iss_parameter_supported": mine.promises_iss,
        }
        if mine.registers:
            fields["registration_endpoint"] = f"{issuer}/register"
        if oidc:
            fields |= {"jwks_uri": f"{issuer}/jwks", "subject_types_supported": ["public"]}
            fields["id_token_signing_alg_values_supported"] = ["RS256"]
        return json_response(with_changes(fields, mine.metadata_changes))

    def parse_request(self, query: Mapping[str, str]) -> AuthorizationRequest:
        client = self.client_of(query.get("client_id"), query.get("redirect_uri", ""))
        mine, scopes = self.tenant.behaviour, tuple(query.get("scope", "").split())
        resource, challenge = query.get("resource"), query.get("code_challenge")
        request = AuthorizationRequest(client, query["redirect_uri"], query.get("state"), scopes, resource, challenge)
        if query.get("response_type") != "code" or "authorization_code" not in client.grants:
            raise AuthorizationError(
                request, "unauthorized_client" if query.get("response_type") == "code" else "invalid_request"
            )
        if mine.demands_pkce and (not challenge or query.get("code_challenge_method") != "S256"):
            raise AuthorizationError(request, "invalid_request")
        if not self._allows_resource(resource):
            raise AuthorizationError(request, "invalid_target")
        if not set(scopes) <= {*mine.scopes_supported, "offline_access"}:
            raise AuthorizationError(request, "invalid_scope")
        return request

    def callback_parameters(self, request: AuthorizationRequest) -> Mapping[str, str | None]:
        iss = self.tenant.issuer if self.tenant.behaviour.promises_iss else None
        return {"state": request.state, "iss": iss}

    def authenticate(self, request: Request) -> Client:
        if request.media_type == "application/json":
            raise Refusal("bad request")
        fields = request.fields
        if "client_assertion" in fields:
            return self._authenticate_by_assertion(fields)
        client = self.tenant.clients.get((request.basic or (fields.get("client_id", ""), ""))[0])
        if client is None:
            raise Refusal("unknown client")
        if client.secret_expires_at is not None and client.secret_expires_at <= time.time():
            raise Refusal("bad secret")
        if client.auth == ("none",) and request.basic is None and "client_secret" not in fields:
            return client
        return self.authenticate_by_secret(request, *client.auth)

    def issue(self, client: Client, fields: Json) -> IssuedTokens:
        kind, resource = str(fields.get("grant_type")), fields.get("resource")
        if kind in GRANTS and kind not in client.grants:
            raise Refusal("not for this client")
        if not self._allows_resource(resource):
            raise Refusal("bad resource")
        if kind == "client_credentials":
            return self._issue_to_client(client, fields, resource)
        text = fields.get("code", "") if kind == "authorization_code" else fields.get("refresh_token", "")
        if self.tenant.behaviour.demands_resource and self.tenant.grants.resource_of(text) not in (None, resource):
            raise Refusal("bad resource")
        if kind == "authorization_code" and "code_verifier" in fields and not self.tenant.grants.has_challenge(text):
            raise Refusal("bad verifier")
        return super().issue(client, fields)

    def token_body(self, tokens: IssuedTokens) -> Json:
        refresh = {"refresh_token": tokens.refresh.text} if tokens.refresh else {}
        leaked = [*refresh.values(), tokens.access.text] if self.tenant.behaviour.leaks_in_scopes else []
        scopes = [*tokens.family.scopes, *leaked]
        scope = {"scope": " ".join(scopes)} if scopes else {}
        life = expires_in(self.tenant.behaviour.expires_in)
        return {"access_token": tokens.access.text, "token_type": "Bearer", **life, **scope, **refresh}

    def error_response(self, refusal: Refusal) -> Response:
        word = error_code(refusal.reason)
        body = {"error": word, "error_description": f"{refusal.reason}."}
        if word == "invalid_client":
            return json_response(body, 401, WWW_Authenticate="Basic")
        return json_response(body, 400, Cache_Control="no-store")

    def register(self, request: Request) -> Response:
        if not self.tenant.behaviour.registers:
            return json_response({"error": "access_denied"}, 403)
        requested, method = request.fields, request.fields.get("token_endpoint_auth_method", "client_secret_basic")
        uris, grants = requested.get("redirect_uris"), requested.get("grant_types", ["authorization_code"])
        if not isinstance(uris, list) or not uris or not all(_is_a_url(item) for item in uris):
            return json_response({"error": "invalid_redirect_uri"}, 400)
        if method not in self.tenant.behaviour.auth_methods or not set(grants) <= set(GRANTS):
            return json_response({"error": "invalid_client_metadata"}, 400)
        if requested.get("application_type") not in ("web", "native"):
            return json_response({"error": "invalid_client_metadata", "error_description": "application_type"}, 400)
        return self._add_registered_client(requested, method, tuple(uris), tuple(grants))

    def revoke(self, request: Request) -> Response:
        """RFC 7009: a refresh token ends its grant, an access token only itself. Unknown tokens are ignored."""
        try:
            client = self.authenticate(request)
        except Refusal as refusal:
            return self.error_response(refusal)
        token = self.tenant.grants.token(request.fields.get("token", ""))
        if token and token.family.client == client.id:
            self.tenant.grants.revoke(token, with_family=token.kind == "refresh")
        return Response(200)

    def mint(self, kind: Kind, family: Family) -> str:  # noqa: ARG002  others look at it
        return f"{self.tenant.name}-{kind}-{secrets.token_urlsafe(32)}"

    def document_to_fetch(self, request: Request) -> str | None:
        """The URL of a client metadata document that this request needs."""
        client_id = request.query.get("client_id", "") if request.path.endswith("/authorize") else ""
        is_known = client_id in self.tenant.clients or not self.tenant.behaviour.takes_documents
        if is_known or not _is_a_url(client_id) or urlsplit(client_id).path in ("", "/"):
            return None
        return client_id

    def fetch_document(self, client_id: str) -> Client | None:
        """Blocks. The document may be fetched from another origin than its URL names, as behind a proxy."""
        elsewhere, parts = self.tenant.behaviour.documents_from, urlsplit(client_id)
        url = f"{elsewhere}{parts.path}" if elsewhere else client_id
        if parts.scheme != "https" and not elsewhere and parts.hostname not in ("127.0.0.1", "localhost"):
            return None
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  judged above
                document = json.loads(answer.read(MAX_DOCUMENT_BYTES + 1))
        except (OSError, ValueError):
            return None
        return _client_from_document(client_id, document)

    def _authenticate_by_assertion(self, fields: Json) -> Client:
        audiences = {self.tenant.issuer, f"{self.tenant.issuer}/", f"{self.tenant.issuer}/token"}
        return authenticate_by_assertion(fields, self.tenant.clients, audiences, self._assertions)

    def _allows_resource(self, resource: str | None) -> bool:
        if resource is None:
            return not self.tenant.behaviour.demands_resource
        return resource in self.tenant.behaviour.also_for or self._trusts_tokens(self.tenant, resource)

    def _issue_to_client(self, client: Client, fields: Json, resource: str | None) -> IssuedTokens:
        scopes = tuple(str(fields.get("scope", "")).split())
        if client.auth == ("none",):
            raise Refusal("not for this client")
        if not set(scopes) <= set(self.tenant.behaviour.scopes_supported):
            raise Refusal("bad scope")
        grants = self.tenant.behaviour.grants
        return self.tenant.grants.issue_to_client(client, scopes if grants is None else grants, resource)

    def _add_registered_client(
        self, body: Json, method: str, uris: tuple[str, ...], grants: tuple[str, ...]
    ) -> Response:
        secret = secrets.token_urlsafe(24) if method.startswith("client_secret") else None
        life = self.tenant.behaviour.secret_life
        ends = None if life is None or not secret else time.time() + life
        name = str(body.get("client_name", ""))
        client = Client(f"registered-{secrets.token_hex(8)}", secret, (method,), uris, grants, None, name, ends)
        self.tenant.clients[client.id] = client
        self.tenant.counts["registrations"] += 1
        fields = {**body, "client_id": client.id, "client_id_issued_at": int(time.time())}
        fields |= {"redirect_uris": list(uris), "grant_types": list(grants), "token_endpoint_auth_method": method}
        secret_told = {"client_secret": secret, "client_secret_expires_at": int(ends or 0)} if secret else {}
        return json_response({**fields, **secret_told}, 201, Cache_Control="no-store")


def _client_from_document(client_id: str, document: Any) -> Client | None:
    """None if the document does not describe this client."""
    match document:
        case {"client_id": str(named), "redirect_uris": [*uris]} if named == client_id and uris:
            method = document.get("token_endpoint_auth_method", "none")
            client = Client(client_id, None, (str(method),), tuple(map(str, uris)))
            return replace(client, name=str(document.get("client_name", "")))
        case _:
            return None


def _is_a_url(text: object) -> bool:
    parts = urlsplit(str(text))
    return parts.scheme in ("http", "https") and bool(parts.netloc) and not parts.fragment
