"""Connections as callers see them."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from api.http.models import ResponseModel, Timestamp


class AuthUrlView(ResponseModel):
    """Where to send a person who is to consent."""

    auth_url: str = Field(description="A page of this service, good for ten minutes and one use. Open it in a browser.")


class AccountView(ResponseModel):
    """Whose the connection is, as far as the vendor says."""

    id: str | None = None
    name: str | None = None
    workspace: str | None = None
    url: str | None = None


class ConnectionView(ResponseModel):
    """How a server is connected."""

    connected: bool
    account: AccountView | None = None
    scopes: list[str] = Field(description="What was granted.")
    asked_scopes: list[str] = Field(description="What was asked for.")
    missing_scopes: list[str] = Field(description="What tools have turned out to need: connect again to grant it.")
    unasked_scopes: list[str] = Field(description="What was granted without having been asked for.")
    connected_at: Timestamp | None = None
    expires_at: Timestamp | None = Field(
        default=None, description="When the access token ends. It is renewed before, where the vendor lets us."
    )
    reconnect_required: bool = Field(description="The grant has ended: somebody has to connect again.")
    redirect_uri: str = Field(description="Where consent comes back to, for a client that you register yourself.")


class ClientMetadataView(ResponseModel):
    """Who we are, in the words of RFC 7591."""

    model_config = ConfigDict(alias_generator=None)

    client_id: str = Field(description="The URL of this very document.")
    client_name: str
    client_uri: str
    redirect_uris: list[str]
    grant_types: list[str]
    response_types: list[str]
    token_endpoint_auth_method: str
    application_type: str


AUTH_URL: dict[str, Any] = {
    "authUrl": "https://plugboard.example.com/connect/V2hvIGhvbGRzIHRoaXMgbWF5IGdvIG9uLCBvbmNlLiA"
}
CONNECTION: dict[str, Any] = {
    "connected": True,
    "account": {"id": "T024BE7LD", "name": None, "workspace": "Acme", "url": None},
    "scopes": ["channels:read", "chat:write"],
    "askedScopes": ["channels:read", "chat:write"],
    "missingScopes": [],
    "unaskedScopes": [],
    "connectedAt": "2026-11-18T09:30:00.000Z",
    "expiresAt": "2026-11-18T21:30:00.000Z",
    "reconnectRequired": False,
    "redirectUri": "https://plugboard.example.com/api/mcp/oauth/slack/callback",
}
DISCONNECTED: dict[str, Any] = CONNECTION | {
    "connected": False,
    "account": None,
    "scopes": [],
    "askedScopes": [],
    "connectedAt": None,
    "expiresAt": None,
}
CLIENT_METADATA: dict[str, Any] = {
    "client_id": "https://plugboard.example.com/client-metadata.json",
    "client_name": "Plugboard",
    "client_uri": "https://plugboard.example.com",
    "redirect_uris": ["https://plugboard.example.com/api/mcp/oauth/external/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
    "application_type": "web",
}
