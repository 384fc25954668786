"""The behaviour, clients, codes and tokens of a fake authorization server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["access", "refresh"]
Condition = Literal["good", "expired", "revoked", "unknown"]


@dataclass(frozen=True)
class Behaviour:
    """The configured behaviour of a tenant."""

    consent: Literal["at once", "page", "deny"] = "at once"
    callback_changes: Mapping[str, str | None] = field(default_factory=dict)
    """Changed parameters of the callback; None removes one. The other `…_changes` work alike."""
    person: str = "Ada"
    workspace: str = "Acme"
    access_life: float | None = 3600.0
    expires_in: float | None = 3600.0
    """The announced lifetime of an access token."""
    refresh_life: float | None = None
    code_life: float = 60.0
    gives_refresh: bool = True
    rotates: bool = True
    repeats_refresh: bool = True
    """Without rotation, the response to a refresh repeats the refresh token."""
    grace: float = 0.0
    """The seconds during which a used refresh token is accepted again."""
    revokes_family: bool = True
    refresh_ends_access: bool = False
    repeats_access: bool = False
    """Without refresh tokens, another connect returns the existing access token."""
    answer_changes: Mapping[str, Any] = field(default_factory=dict)
    other_errors: bool = False
    """Errors have the vendor's alternative format."""
    scopes_supported: tuple[str, ...] = ("read", "admin")
    grants: tuple[str, ...] | None = None
    """The granted scopes, if they differ from the requested ones."""
    challenge_scopes: tuple[str, ...] = ()
    leaks_in_scopes: bool = False
    """Its scopes, and those of its MCP server, repeat the tokens."""
    demands_resource: bool = True
    demands_pkce: bool = True
    also_for: tuple[str, ...] = ()
    metadata_at: tuple[str, ...] = ("oauth",)
    metadata_changes: Mapping[str, Any] = field(default_factory=dict)
    prm_at: tuple[str, ...] = ("challenge", "path")
    prm_changes: Mapping[str, Any] = field(default_factory=dict)
    authorization_servers: tuple[str, ...] = ()
    registers: bool = True
    takes_documents: bool = True
    documents_from: str = ""
    promises_iss: bool = True
    secret_life: float | None = None
    auth_methods: tuple[str, ...] = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
    era: Literal["both", "modern", "streamable"] = "both"
    at_root: bool = False


@dataclass(frozen=True)
class Client:
    id: str
    secret: str | None = field(default=None, repr=False)
    auth: tuple[str, ...] = ("none",)
    redirect_uris: tuple[str, ...] = ("*",)
    """`*` at the beginning stands for any origin; alone it stands for any URI."""
    grants: tuple[str, ...] = ("authorization_code", "refresh_token")
    public_key: str | None = None
    """PEM, for `private_key_jwt`."""
    name: str = ""
    secret_expires_at: float | None = None

    def allows_redirect(self, redirect_uri: str) -> bool:
        return any(_matches(item, redirect_uri) for item in self.redirect_uris)


def _matches(pattern: str, uri: str) -> bool:
    if not pattern.startswith("*"):
        return uri == pattern
    scheme, _, rest = uri.partition("://")
    return scheme in ("http", "https") and (pattern == "*" or rest.partition("/")[2] == pattern[1:].lstrip("/"))


@dataclass(frozen=True)
class AuthorizationRequest:
    """A request for the user's consent."""

    client: Client
    redirect_uri: str
    state: str | None
    scopes: tuple[str, ...]
    resource: str | None = None
    challenge: str | None = None
    challenge_method: str = "S256"


@dataclass
class Family:
    """A grant with all tokens that were ever issued for it."""

    id: str
    client: str
    person: str
    workspace: str
    scopes: tuple[str, ...]
    resource: str | None = None
    generation: int = 0
    is_revoked: bool = False
    reuses: int = 0
    presented: list[int] = field(default_factory=lambda: [0])
    """The number of times that each generation's refresh token was presented."""
    refreshed: list[int] = field(default_factory=lambda: [0])


@dataclass
class Token:
    text: str
    kind: Kind
    family: Family
    generation: int
    expires_at: float | None
    used_at: float | None = None
    is_revoked: bool = False


@dataclass
class Code:
    asked: AuthorizationRequest
    person: str
    workspace: str
    scopes: tuple[str, ...]
    expires_at: float
    is_used: bool = False
    family: Family | None = None


@dataclass(frozen=True)
class IssuedTokens:
    family: Family
    access: Token
    refresh: Token | None


class Refusal(Exception):
    """A refused request. Each provider maps `reason` to its own error code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
