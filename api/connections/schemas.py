"""Request and response models of connections."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema

from api.http.models import ResponseModel, Timestamp


class AuthUrlView(ResponseModel):
    """The page on which a person starts the consent."""

    auth_url: str = Field(description="A page of Plugboard, valid for ten minutes and one use. Open it in a browser.")


class AccountView(ResponseModel):
    """The account that consented, as far as the provider names it."""

    id: str | None = Field(default=None, description="The provider's id of the account.")
    name: str | None = Field(default=None, description="The name of the account.")
    workspace: str | None = Field(default=None, description="The provider's workspace of the account.")
    url: str | None = Field(default=None, description="Where the workspace is.")


class ConnectionView(ResponseModel):
    """The connection of a server."""

    connected: bool = Field(
        description="As the server's `oauthConnected`. Whether the provider accepts the connection now, `check` says."
    )
    account: AccountView | None = Field(default=None, description="Who consented, if the provider says so.")
    scopes: list[str] = Field(description="The granted scopes.")
    asked_scopes: list[str] = Field(description="The requested scopes.")
    missing_scopes: list[str] = Field(
        description="Scopes that were requested or that tools need, but that were not granted: connect again."
    )
    unasked_scopes: list[str] = Field(description="Scopes that were granted without having been requested.")
    connected_at: Timestamp | None = Field(default=None, description="When it was connected.")
    expires_at: Timestamp | None = Field(
        default=None, description="When the access token expires. It is refreshed before, if the provider allows it."
    )
    reconnect_required: bool = Field(description="The grant has ended: connect the server again.")
    problem: Annotated[str | None, WithJsonSchema({"type": "string"})] = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Why the last request for tokens failed, if the server's `config` can be corrected.",
    )
    redirect_uri: str = Field(description="The redirect URI to enter for a client that you register yourself.")


class ClientMetadataView(ResponseModel):
    """Client metadata (RFC 7591)."""

    model_config = ConfigDict(alias_generator=None)

    client_id: str = Field(description="The URL of this document.")
    client_name: str = Field(description="The name that the consent page shows.")
    client_uri: str = Field(description="The home page of the client.")
    redirect_uris: list[str] = Field(description="Where the browser returns to.")
    grant_types: list[str] = Field(description="The grants that the client uses.")
    response_types: list[str] = Field(description="The responses that the client understands.")
    token_endpoint_auth_method: str = Field(description="How the client authenticates.")
    application_type: str = Field(description="`web`.")


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
CLIENT_CONNECTION: dict[str, Any] = DISCONNECTED | {
    "connected": True,
    "redirectUri": "https://plugboard.example.com/api/mcp/oauth/external/callback",
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
