"""The facts about a service, read from its `manifest.toml` and validated.

What no field can express is Python code in the service's folder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StringConstraints, ValidationError, model_validator

FILE = "manifest.toml"
OAUTH_PARAMETERS = frozenset(
    {
        *("response_type", "client_id", "redirect_uri", "state", "scope", "resource"),
        *("code_challenge", "code_challenge_method"),
    }
)
RESERVED_NAMES = frozenset({"external"})  # the type of servers that are remote MCP servers

Text = Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
ToolName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)+$", max_length=39)]
"""At most 39 characters: with `_` and a slug of 24 characters the whole name has 64."""
Url = Annotated[str, StringConstraints(pattern=r"^https://[a-z0-9.-]+(/[!-~]*)?$", max_length=300)]
Origin = Annotated[str, StringConstraints(pattern=r"^https://[a-z0-9.-]+$")]
AnswerPath = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+){0,7}$")]
GrantError = Literal[
    "access_denied",
    "invalid_client",
    "invalid_grant",
    "invalid_request",
    "invalid_scope",
    "server_error",
    "slow_down",
    "temporarily_unavailable",
    "unauthorized_client",
    "unsupported_grant_type",
]
Many = Field(default=(), strict=False)  # TOML has lists, the model has tuples


class ManifestError(Exception):
    """A manifest cannot be used; the message names the file and the field."""


class ManifestModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ConfigField(ManifestModel):
    name: Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9]{0,31}$")]
    title: Text
    description: Text
    secret: bool
    placeholder: Text | None = None
    """An example of a value, for a form. It does not restrict the values."""


class ManifestTool(ManifestModel):
    """`name` is the base name; a toolbox appends the server's slug."""

    name: ToolName
    description: Text
    writes: bool


class RevocationFacts(ManifestModel):
    """One request for each kind of token in `tokens`, in that order; the value names the field that holds the token."""

    url: Url
    client_auth: Literal["basic", "body", "none"]
    body: Literal["json", "form"]
    tokens: Mapping[Literal["refresh", "access"], Text] = Field(min_length=1)


class Probe(ManifestModel):
    """A request that changes nothing and that every valid credential may make."""

    method: Literal["GET", "POST"] = "GET"
    path: Annotated[str, StringConstraints(pattern=r"^/[!-~]*$", max_length=300)]
    headers: Mapping[str, str] = Field(default_factory=dict)
    body: Text | None = None
    error: AnswerPath | None = None
    """The path of the error code, for vendors who respond with 200 even to a failure."""
    unauthorized: tuple[Text, ...] = Many
    """The error codes that mean that the credential is invalid."""


class AccountPaths(ManifestModel):
    """The paths of the grant's account in the token response, as names with dots between them."""

    id: AnswerPath | None = None
    name: AnswerPath | None = None
    workspace: AnswerPath | None = None
    url: AnswerPath | None = None


class OAuth(ManifestModel):
    authorize_url: Url
    authorize_params: Mapping[str, str] = Field(default_factory=dict)
    token_url: Url
    client_auth: Literal["basic", "body"]
    token_body: Literal["json", "form"]
    scopes: tuple[Text, ...] = Many
    scope_separator: Literal[" ", ","] = " "
    pkce: bool
    expires_in: int | None = Field(default=None, gt=0)
    """The lifetime of an access token in seconds; None if the vendor states none or it depends on the app."""
    revoke: RevocationFacts | None = None
    account: AccountPaths = AccountPaths()
    errors: Mapping[Text, GrantError] = Field(default_factory=dict)
    """The vendor's own error codes and the codes of RFC 6749 that they mean; other codes stay unchanged."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if OAUTH_PARAMETERS & self.authorize_params.keys():
            raise ValueError("authorize_params: a parameter of the OAuth request itself cannot be set")
        if self.revoke and self.revoke.client_auth not in ("none", self.client_auth):
            raise ValueError("revoke.client_auth: must be none or equal to client_auth")
        return self

    @property
    def scope(self) -> str:
        return self.scope_separator.join(self.scopes)


class Service(ManifestModel):
    name: Name
    title: Text
    description: Text
    console_url: Url
    docs_url: Url
    auth_types: tuple[Literal["oauth", "header"], ...] = Field(strict=False, min_length=1)
    config_fields: tuple[ConfigField, ...] = Many
    urls: tuple[Origin, ...] = Many
    """The base URLs of which a server chooses one; empty if the service has `api_base_url`."""
    api_base_url: Origin | None = None
    oauth: OAuth | None = None
    probe: Probe | None = None
    """Without it a check only shows whether there is a valid credential."""
    tools: tuple[ManifestTool, ...] = Field(strict=False, min_length=1)
    _folder: Path | None = PrivateAttr(default=None)

    def model_post_init(self, context: object) -> None:
        if isinstance(context, Path):
            self._folder = context

    @property
    def folder(self) -> Path | None:
        """The folder with the service's Python modules."""
        return self._folder

    @property
    def env_prefix(self) -> str:
        return self.name.upper().replace("-", "_")

    def variable(self, suffix: str) -> str:
        """The environment variable of an operator's setting, such as `OAUTH_TOKEN_URL`."""
        return f"{self.env_prefix}_{suffix}"

    @property
    def client_id_variable(self) -> str:
        return self.variable("OAUTH_CLIENT_ID")

    @property
    def client_secret_variable(self) -> str:
        return self.variable("OAUTH_CLIENT_SECRET")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.name in RESERVED_NAMES:
            raise ValueError(f"name: {self.name} is reserved")
        if ("oauth" in self.auth_types) != (self.oauth is not None):
            raise ValueError("oauth: required with the auth type oauth, and only then")
        if ("header" in self.auth_types) != bool(self.config_fields):
            raise ValueError("config_fields: required with the auth type header, and only then")
        if bool(self.urls) == (self.api_base_url is not None):
            raise ValueError("api_base_url: set either this or urls")
        return self

    @model_validator(mode="after")
    def _tool_names_are_valid(self) -> Self:
        names = [tool.name for tool in self.tools]
        if len(set(names)) != len(names):
            raise ValueError("tools: two tools have the same name")
        prefix = self.name.replace("-", "_") + "_"
        if not all(name.startswith(prefix) for name in names):
            raise ValueError(f"tools: every name must begin with {prefix}")
        return self


def load_services(folder: Path) -> Mapping[str, Service]:
    return MappingProxyType({path.parent.name: load_service(path) for path in sorted(folder.glob(f"*/{FILE}"))})


def load_service(path: Path) -> Service:
    try:
        service = Service.model_validate(tomllib.loads(path.read_text(encoding="utf-8")), context=path.parent)
    except ValidationError as error:
        raise ManifestError(f"{path}: {_error_text(error)}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path}: {error}") from error
    if service.name != path.parent.name:
        raise ManifestError(f"{path}: name: {service.name} differs from the name of its folder")
    return service


def _error_text(error: ValidationError) -> str:
    return "; ".join(
        ": ".join(filter(None, (".".join(map(str, problem["loc"])), problem["msg"]))) for problem in error.errors()
    )
