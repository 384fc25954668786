"""Servers in requests and responses."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr, StringConstraints, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from api.http.models import (
    AtMost,
    Name,
    PatchModel,
    Prose,
    RequestModel,
    ResponseModel,
    Timestamp,
    pattern_with_message,
)
from api.kit.egress.custom_headers import MAX_HEADERS, MAX_NAME_LENGTH, MAX_VALUE_LENGTH
from api.kit.egress.policy import MAX_URL_LENGTH
from api.kit.ids import id_pattern
from api.servers.server import EXTERNAL, AuthType, Exposure, OAuthGrant, Server
from api.servers.slips import UNKNOWN_FIELDS, auth_type_slip, url_warnings
from api.servers.slugs import MAX_SLUG, SLUG_PATTERN

ServerId = Annotated[str, StringConstraints(pattern=id_pattern("server"))]
ServiceType = Annotated[
    str, pattern_with_message(r"^[a-z][a-z0-9-]{0,31}$", "Must be `external` or one of GET /api/services.")
]
Slug = Annotated[
    str, pattern_with_message(SLUG_PATTERN, f"Must be 1 to {MAX_SLUG} of a-z, 0-9 and -.", max_length=MAX_SLUG)
]
Url = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL_LENGTH)]
Description = Annotated[
    Prose, StringConstraints(max_length=500), Field(description="For people: what the server is for.")
]
SecretText = Annotated[SecretStr, Field(min_length=1, max_length=MAX_VALUE_LENGTH)]
HeaderName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_LENGTH)]


class ConfigDraft(RequestModel):
    """Credentials, stored encrypted and never shown. A value replaces the stored one, and null deletes it."""

    header_value: SecretText | None = Field(default=None, description="Sent verbatim as the `Authorization` header.")
    headers: Annotated[dict[HeaderName, SecretText | None], AtMost(MAX_HEADERS)] | None = Field(
        default=None,
        description="Further headers to send with each request. On `PUT` they merge by name, whatever its case; a null "
        "deletes that header.",
    )
    username: SecretText | None = Field(default=None, description="For HTTP Basic.")
    password: Annotated[SecretStr, Field(max_length=MAX_VALUE_LENGTH)] | None = Field(
        default=None, description="For HTTP Basic; may be empty."
    )
    api_key: SecretText | None = Field(default=None, description="For a service that takes an API key.")
    client_id: SecretText | None = Field(
        default=None, description="For OAuth with a remote MCP server: the id of a client that you have registered."
    )
    client_secret: SecretText | None = Field(default=None, description="The secret of that client, if it has one.")
    private_key: SecretText | None = Field(
        default=None, description="Instead of a secret: the client's private key as PEM, for `private_key_jwt`."
    )
    scope: SecretText | None = Field(
        default=None,
        description="The scopes to request, separated by spaces, instead of those that the server names.",
    )


_NAME = Field(description="A display name, in any script.")
_URL = Field(default=None, description="The URL of the upstream. Required unless the service has a fixed one.")
_SERVICE = Field(description="`external` for any remote MCP server, or one of `GET /api/services`.")
_CONFIG = Field(
    description="""The credentials. What a server takes depends on its `authType` and `serviceType`:

| `authType` | `serviceType` | fields |
| --- | --- | --- |
| `none` | `external` | none |
| `header` | `external` | `headerValue`, `headers`, or both |
| `basic` | `external` | `username` and `password` |
| `oauth` | `external` | none, or a registered client: `clientId`, `clientSecret` or `privateKey`, `scope` |
| `oauth` | `hubspot`, `linear`, `notion`, `slack` | none: the operator has registered the client |
| `header` | `posthog` | `apiKey` |""",
    examples=[
        {"headerValue": "Bearer <token>"},
        {"headers": {"X-Api-Key": "<key>"}},
        {"username": "ada", "password": "<password>"},
        {"clientId": "<id>", "clientSecret": "<secret>", "scope": "read write"},
        {"apiKey": "<personal API key of PostHog>"},
    ],
)
_AUTH_TYPE = Field(
    description="How Plugboard authenticates to the upstream: `none`, `header` (fixed headers), `basic` (HTTP Basic) "
    "or `oauth`. Each service takes one."
)
_ENABLED = Field(description="A disabled server offers no tools to any agent.")
_SLUG = Field(default=None, description="A part of the server's tool names. If omitted, derived from the name.")
_TIMEOUT = Annotated[int, Field(ge=1, le=30, description="The timeout of one request to the upstream.")]
_EXPOSURE = Field(description="Whether agents get the generic tool, the server's own tools, or both (`external` only).")


_GRANT = Field(
    description="How OAuth tokens are obtained: `authorization_code` with a person's consent, or `client_credentials` "
    "with the client in `config` (`external` only)."
)


def _explain_auth_type(value: object) -> object:
    if slip := auth_type_slip(value):
        raise PydanticCustomError(
            "auth_type", "Must be one of `none`, `header`, `basic`, `oauth`. {slip}", {"slip": slip}
        )
    return value


AuthTypeInput = Annotated[AuthType, Field(strict=False), BeforeValidator(_explain_auth_type)]
ExposureInput = Annotated[Exposure, Field(strict=False)]
OAuthGrantInput = Annotated[OAuthGrant, Field(strict=False)]


class ServerDraft(RequestModel):
    """A server to store."""

    slips = UNKNOWN_FIELDS
    name: Annotated[Name, _NAME]
    auth_type: Annotated[AuthTypeInput, _AUTH_TYPE]
    service_type: Annotated[ServiceType, _SERVICE] = EXTERNAL
    url: Annotated[Url | None, _URL] = None
    config: Annotated[ConfigDraft, _CONFIG] = ConfigDraft()
    slug: Annotated[Slug | None, _SLUG] = None
    description: Description = ""
    enabled: Annotated[bool, _ENABLED] = True
    timeout_seconds: _TIMEOUT = 30
    exposure: Annotated[ExposureInput, _EXPOSURE] = Exposure.BOTH
    oauth_grant: Annotated[OAuthGrantInput, _GRANT] = OAuthGrant.AUTHORIZATION_CODE


class ServerChange(PatchModel):
    """Any subset of a server's fields. Omitted fields keep their values."""

    slips = UNKNOWN_FIELDS
    name: Annotated[Name, _NAME] = ""
    auth_type: Annotated[AuthTypeInput, _AUTH_TYPE] = AuthType.NONE
    service_type: Annotated[ServiceType, _SERVICE] = EXTERNAL
    url: Annotated[Url | None, _URL] = None
    config: Annotated[ConfigDraft, _CONFIG] = ConfigDraft()
    slug: Annotated[Slug, _SLUG] = ""
    description: Description = ""
    enabled: Annotated[bool, _ENABLED] = True
    timeout_seconds: _TIMEOUT = 30
    exposure: Annotated[ExposureInput, _EXPOSURE] = Exposure.BOTH
    oauth_grant: Annotated[OAuthGrantInput, _GRANT] = OAuthGrant.AUTHORIZATION_CODE

    @classmethod
    def view(cls) -> type[ResponseModel]:
        return ServerView


class ServerView(ResponseModel):
    """A server, without its credentials."""

    id: ServerId
    name: str
    slug: str = Field(description="A part of the server's tool names.")
    description: str = Field(description="For people: what the server is for.")
    url: str | None = Field(description="The URL of the upstream. Null: the service has a fixed one.")
    auth_type: AuthType = Field(description="How Plugboard authenticates to the upstream.")
    service_type: str = Field(description="`external` for a remote MCP server, or the service.")
    enabled: bool = Field(description="A disabled server offers no tools to any agent.")
    timeout_seconds: int = Field(description="The timeout of one request to the upstream.")
    exposure: Exposure = Field(description="What agents get: the generic tool, the server's own tools, or both.")
    configured: list[str] = Field(description="The names of the stored credentials.")
    oauth_grant: OAuthGrant | SkipJsonSchema[None] = Field(
        default=None, exclude_if=lambda value: value is None, description="Only if `authType` is `oauth`."
    )
    oauth_connected: Annotated[bool | None, WithJsonSchema({"type": "boolean"})] = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Whether the server is connected; only if `authType` is `oauth`.",
    )
    warnings: list[str] = Field(
        default_factory=list,
        exclude_if=lambda warnings: not warnings,
        description="What should be changed about the server, if anything.",
    )
    created_at: Timestamp
    updated_at: Timestamp
    version: int

    @classmethod
    def of(cls, server: Server) -> ServerView:
        """Fields of the same name are shown as they are stored."""
        is_oauth = server.auth_type == AuthType.OAUTH
        shown = {field.name: getattr(server, field.name) for field in fields(server) if field.name in cls.model_fields}
        return cls.model_validate(
            {
                **shown,
                "configured": sorted(server.sealed),
                "warnings": url_warnings(server.url),
                "oauth_grant": server.oauth_grant if is_oauth else None,
                "oauth_connected": server.is_connected if is_oauth else None,
            }
        )
