"""The authorization server and the client of a grant, its tokens, its account and its errors.

Server and client are stored with the grant when it is created; later requests go only to these URLs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ClientAuth = Literal["client_secret_basic", "client_secret_post", "private_key_jwt", "none"]
Encoding = Literal["form", "json"]
TokenKind = Literal["refresh", "access"]


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """Our registration at one authorization server."""

    id: str
    auth: ClientAuth
    secret: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)
    """PEM, for `private_key_jwt`."""


@dataclass(frozen=True, slots=True)
class Revocation:
    """One request for each kind of token in `tokens`, in that order; the value names the field that holds the token."""

    url: str
    tokens: Mapping[TokenKind, str]
    encoding: Encoding = "form"
    with_client: bool = True
    """If false, the token itself authenticates the request, as its bearer token."""


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """The properties of an authorization server that a grant needs."""

    authorize_url: str
    token_url: str
    authorize_params: Mapping[str, str] = field(default_factory=dict)
    token_encoding: Encoding = "form"  # noqa: S105  an encoding, not a secret
    scope_separator: str = " "
    pkce: bool = True
    issuer: str | None = None
    """Set for MCP servers. What is stored for one issuer is never sent to another."""
    promises_issuer: bool = False
    """Its callbacks carry `iss` (RFC 9207); a callback without it is refused."""
    resource: str | None = None
    """The resource of the tokens (RFC 8707), which is part of every request."""
    revocation: Revocation | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    """Its own error codes and the codes of RFC 6749 that they mean."""

    @property
    def identity(self) -> str:
        """Its issuer, or its token endpoint if the issuer is unknown."""
        return self.issuer or self.token_url


@dataclass(frozen=True, slots=True)
class Account:
    """The account that a grant belongs to, for display."""

    id: str | None = None
    name: str | None = None
    workspace: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """A successful token response."""

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    expires_in: float | None = None
    scopes: tuple[str, ...] | None = None
    """None if the response names none: then the requested scopes are granted."""
    answer: Mapping[str, object] = field(default_factory=dict, repr=False)
    """The whole response, for fields of one vendor."""


class GrantRefused(Exception):
    """The authorization server refused. `error` is a code of RFC 6749, such as `invalid_grant`.

    The error's description is kept out of every text and log.
    """

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class GrantUnavailable(Exception):
    """The outcome is unknown: the server is down, slow or busy, or its response is unreadable.

    `sent`: the request may have arrived, so that a code or token in it may be used up.
    """

    def __init__(self, reason: str, *, sent: bool = True, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent
        self.retry_after = retry_after
