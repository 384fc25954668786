"""An OAuth client that follows each provider's documentation."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from demo.oauth_provider.server import OAuthProvider, Tenant
from tests.harness import caller

VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
HUBSPOT_SCOPES = (
    "oauth crm.objects.contacts.read crm.objects.companies.read crm.objects.deals.read crm.objects.owners.read"
)
AUTHORIZATION_PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "notion": {"response_type": "code", "owner": "user"},
    "linear": {"response_type": "code", "actor": "app", "scope": "read", "code_challenge": CHALLENGE}
    | {"code_challenge_method": "S256"},
    "hubspot": {"scope": HUBSPOT_SCOPES},
    "slack": {"scope": "channels:read,chat:write"},
}
PATHS = {
    "notion": ("/notion/v1/oauth/authorize", "/notion/v1/oauth/token", "/notion/v1/oauth/revoke"),
    "linear": ("/linear/oauth/authorize", "/linear/oauth/token", "/linear/oauth/revoke"),
    "hubspot": ("/hubspot/oauth/authorize", "/hubspot/oauth/2026-09/token", "/hubspot/oauth/2026-09/token/revoke"),
    "slack": ("/slack/oauth/v2/authorize", "/slack/api/oauth.v2.access", "/slack/api/auth.revoke"),
}
SERVICES = tuple(PATHS)


@dataclass
class OAuthApp:
    """An OAuth app of a service or of an MCP server's authorization server."""

    server: OAuthProvider
    name: str
    id: str
    secret: str | None
    redirect_uri: str
    paths: tuple[str, str, str]
    params: Mapping[str, str]
    more: Mapping[str, str] = field(default_factory=dict)
    """Additional fields of token requests."""

    @property
    def tenant(self) -> Tenant:
        return self.server.tenant(self.name)

    def call(self, method: str, path: str, **given: Any) -> httpx2.Response:
        with caller(self.server.origin) as client:
            return client.request(method, path, **given)

    def authorize(self, **changed: str | None) -> httpx2.Response:
        params = {"client_id": self.id, "redirect_uri": self.redirect_uri, "state": "st", **self.params, **changed}
        return self.call("GET", self.paths[0], params={name: text for name, text in params.items() if text is not None})

    def redirect_parameters(self, **changed: str | None) -> dict[str, str]:
        response = self.authorize(**changed)
        assert response.status_code == 302, response.text
        return dict(httpx2.URL(response.headers["Location"]).params)

    def code(self, **changed: str | None) -> str:
        return self.redirect_parameters(**changed)["code"]

    def token(self, **fields: str | None) -> httpx2.Response:
        secret = fields.pop("secret", self.secret)
        sent = {name: text for name, text in {**self.more, **fields}.items() if text is not None}
        auth = (self.id, secret) if self.name in ("notion", "slack") and secret else None
        if auth is None:
            sent |= {"client_id": self.id} | ({"client_secret": secret} if secret else {})
        body = {"json": sent} if self.name == "notion" else {"data": sent}
        return self.call("POST", self.paths[1], auth=auth, **body)

    def exchange(self, code: str, **changed: str | None) -> httpx2.Response:
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri}
        verifier = {"code_verifier": VERIFIER} if "code_challenge" in self.params else {}
        return self.token(**{**fields, **verifier, **changed})

    def connect(self) -> dict[str, Any]:
        body: dict[str, Any] = self.exchange(self.code()).json()
        assert "access_token" in body, body
        return body

    def refresh(self, token: str, **changed: str | None) -> httpx2.Response:
        return self.token(**{"grant_type": "refresh_token", "refresh_token": token, **changed})

    def me(self, access: str) -> httpx2.Response:
        path = f"/{self.name}/api/me" if self.name in PATHS else f"/mcp/{self.name}"
        return self.call("GET", path, headers={"Authorization": f"Bearer {access}"})


def app_of(server: OAuthProvider, name: str) -> OAuthApp:
    redirect_uri = f"http://127.0.0.1:8400/api/mcp/oauth/{name}/callback"
    return OAuthApp(
        server,
        name,
        f"{name}-client",
        f"canary-{name}-secret",
        redirect_uri,
        PATHS[name],
        AUTHORIZATION_PARAMETERS[name],
    )


def mcp_app(server: OAuthProvider, name: str = "acme", **params: str) -> OAuthApp:
    tenant, redirect_uri = server.tenant(name), "http://127.0.0.1:8400/callback"
    tenant.add_client("ours", redirect_uris=(redirect_uri,))
    paths = (f"/mcp-as/{name}/authorize", f"/mcp-as/{name}/token", f"/mcp-as/{name}/revoke")
    pkce = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    resource = {"resource": tenant.mcp_url}
    requested = {"response_type": "code", "scope": "read", **pkce, **resource, **params}
    return OAuthApp(server, name, "ours", None, redirect_uri, paths, requested, resource)
