"""Who takes part in a grant: the authorization server, and who we are to it.

All of it is pinned with the grant when somebody connects: later requests go where these facts say, and nowhere else.
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
    """Who we are to one authorization server."""

    id: str
    auth: ClientAuth
    secret: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)
    """PEM, for `private_key_jwt`."""


@dataclass(frozen=True, slots=True)
class Revocation:
    """One request for each kind of token in `tokens`, in that order; the value is the name of the field it goes in."""

    url: str
    tokens: Mapping[TokenKind, str]
    encoding: Encoding = "form"
    with_client: bool = True
    """Otherwise the token speaks for itself: it goes along as the bearer."""


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """An authorization server, as far as a grant needs it."""

    authorize_url: str
    token_url: str
    authorize_params: Mapping[str, str] = field(default_factory=dict)
    token_encoding: Encoding = "form"  # noqa: S105  how a request is written
    scope_separator: str = " "
    pkce: bool = True
    issuer: str | None = None
    """Known of MCP servers' authorization servers: what is stored for one is never shown to another."""
    promises_issuer: bool = False
    """Its callbacks carry `iss` (RFC 9207): one without it is refused."""
    resource: str | None = None
    """What the tokens are for (RFC 8707): goes into every request."""
    revocation: Revocation | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    """Its own words for the errors of RFC 6749."""

    @property
    def identity(self) -> str:
        """What it is known by: its name, or where it gives tokens, if it has none."""
        return self.issuer or self.token_url


@dataclass(frozen=True, slots=True)
class Account:
    """Whose the grant is, for people to see."""

    id: str | None = None
    name: str | None = None
    workspace: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a token endpoint answered."""

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    expires_in: float | None = None
    scopes: tuple[str, ...] | None = None
    """None where the answer says nothing: then what was asked is what was granted."""
    answer: Mapping[str, object] = field(default_factory=dict, repr=False)
    """All of it, for who knows the vendor."""


class GrantRefused(Exception):
    """The authorization server understood and said no: `error` is a word of RFC 6749, such as `invalid_grant`.

    Its description is for the log of nobody: it is kept out of every text.
    """

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class GrantUnavailable(Exception):
    """Nothing is known of the grant: down, too slow, too busy, or an answer that nobody could read.

    `sent`: the request may have arrived, and what it carried may be used up.
    """

    def __init__(self, reason: str, *, sent: bool = True, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent
        self.retry_after = retry_after
