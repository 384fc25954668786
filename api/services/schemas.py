"""Services in responses."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.http.models import ResponseModel


class ConfigFieldView(ResponseModel):
    """A field of a server's `config` that the service requires."""

    name: str
    title: str
    description: str
    secret: bool
    placeholder: str | None


class ToolView(ResponseModel):
    """A tool that agents get. Its full name ends with the server's slug."""

    name: str
    description: str
    writes: bool


class ServiceView(ResponseModel):
    """A service and its requirements."""

    service_type: str
    title: str
    description: str
    auth_types: list[str]
    urls: list[str] = Field(description="The allowed values of a server's `url`. Empty: the service has a fixed URL.")
    config_fields: list[ConfigFieldView]
    scopes: list[str] = Field(description="The scopes that are requested from the vendor.")
    tools: list[ToolView]
    configured: bool = Field(description="Whether the operator has configured what the service requires.")
    needs: list[str] = Field(description="The environment variables that configure the service.")
    redirect_uri: str | None = Field(description="The redirect URI to register in the vendor's OAuth app.")
    docs_url: str
    console_url: str


EXAMPLE: dict[str, Any] = {
    "serviceType": "linear",
    "title": "Linear",
    "description": "Read teams, projects and issues.",
    "authTypes": ["oauth"],
    "urls": [],
    "configFields": [],
    "scopes": ["read"],
    "tools": [{"name": "linear_list_teams", "description": "List the teams.", "writes": False}],
    "configured": False,
    "needs": ["LINEAR_OAUTH_CLIENT_ID", "LINEAR_OAUTH_CLIENT_SECRET"],
    "redirectUri": "https://plugboard.example.com/api/mcp/oauth/linear/callback",
    "docsUrl": "https://linear.app/developers/oauth-2-0-authentication",
    "consoleUrl": "https://linear.app/settings/api",
}
