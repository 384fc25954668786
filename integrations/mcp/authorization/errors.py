"""Reasons why a server cannot be connected by OAuth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Reason = Literal[
    "not_asked",
    "foreign_resource",
    "no_server",
    "unreadable",
    "other_issuer",
    "no_pkce",
    "bad_endpoint",
    "bad_query",
    "no_registration",
    "no_oauth",
]

_BY_HAND = "Register an app there and set its clientId, and its clientSecret if it has one"

TEXTS: Mapping[Reason, str] = {
    "not_asked": "The server requires no authorization and names no authorization server. Use another authType for it.",
    "foreign_resource": "The server's metadata describes a different resource than this URL. "
    "Check the URL. If it is right, the server's operator must correct its configuration.",
    "no_server": "The server's metadata names no usable authorization server. "
    "The server's operator must name one with an https URL.",
    "unreadable": "The server requires authorization, but its metadata cannot be found or read. "
    "Check the URL, or ask the server's operator.",
    "other_issuer": "The authorization server's metadata names a different issuer and is not trusted. "
    "The server's operator must correct it.",
    "no_pkce": "The authorization server does not support PKCE with S256, which protects authorization codes. "
    "Its operator must enable it.",
    "bad_endpoint": "An endpoint in the authorization server's metadata is missing or has no https URL. "
    "Its operator must correct the metadata.",
    "bad_query": "The authorization endpoint in the authorization server's metadata already has parameters of an "
    "authorization request, such as client_id. Its operator must remove them.",
    "no_registration": "The authorization server does not support dynamic client registration, or refused it. "
    f"{_BY_HAND}; for a server that takes a key, use another authType.",
    "no_oauth": "The server has no authorization server: it wants a header, not OAuth. Set `authType` to `header`, and "
    "its key as `headerValue` in `config`.",
}


class NotAuthorizable(Exception):
    """A server that cannot be authorized. `text` is for people and holds nothing from the server."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason
        self.text = TEXTS[reason]
