"""Services in responses."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.http.models import ResponseModel


class ConfigFieldView(ResponseModel):
    """A field of a server's `config` that the service requires."""

    name: str = Field(description="The name of the field in `config`.")
    title: str = Field(description="What people call it.")
    description: str = Field(description="Where to find the value.")
    secret: bool = Field(description="Whether the value is a secret.")
    placeholder: str | None = Field(description="What such a value looks like.")


class ToolView(ResponseModel):
    """A tool that agents get. Its full name ends with the server's slug."""

    name: str = Field(description="The name, without the slug of the server.")
    description: str = Field(description="What the tool does, as a model reads it.")
    writes: bool = Field(description="Whether the tool can change data of the service.")


class ServiceView(ResponseModel):
    """A service and its requirements."""

    service_type: str = Field(description="The value of a server's `serviceType`.")
    title: str = Field(description="The name of the service.")
    description: str = Field(description="What its tools do.")
    auth_types: list[str] = Field(description="The possible values of a server's `authType`.")
    urls: list[str] = Field(description="The allowed values of a server's `url`. Empty: the service has a fixed URL.")
    config_fields: list[ConfigFieldView] = Field(
        description="The fields of a server's `config` that the service requires."
    )
    scopes: list[str] = Field(description="The scopes that are requested from the vendor.")
    tools: list[ToolView] = Field(description="The tools that agents get.")
    configured: bool = Field(description="Whether the operator has configured what the service requires.")
    needs: list[str] = Field(description="The environment variables that configure the service.")
    redirect_uri: str | None = Field(description="The redirect URI to register in the vendor's OAuth app.")
    docs_url: str = Field(description="The vendor's documentation of the credentials.")
    console_url: str = Field(description="Where the credentials are made.")


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
