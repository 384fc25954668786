"""Why can nobody be sent to an authorization server from here?"""

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
    "no_registration",
]

_BY_HAND = "Register an app with it by hand and give its clientId, and its clientSecret if it has one"

TEXTS: Mapping[Reason, str] = {
    "not_asked": "The server answers without any authorization, and names no authorization server. "
    "Use another authType for it.",
    "foreign_resource": "The server's metadata is about another resource than this URL. "
    "Check the URL; if it is right, the server has to be set up anew by whoever runs it.",
    "no_server": "The server's metadata names no authorization server that could be used. "
    "Whoever runs the server has to name one with an https URL.",
    "unreadable": "The server wants authorization, but there is no readable metadata that would say where to get it. "
    "Check the URL, or ask whoever runs the server.",
    "other_issuer": "The authorization server's metadata is that of another issuer, so it is not believed. "
    "Whoever runs the server has to correct it.",
    "no_pkce": "The authorization server does not offer PKCE with S256, which keeps codes from being stolen. "
    "Whoever runs it has to switch it on.",
    "bad_endpoint": "The authorization server names an endpoint that is missing or is no https URL. "
    "Whoever runs it has to correct its metadata.",
    "no_registration": "The authorization server lets no client register by itself, or not us. "
    f"{_BY_HAND}; a server that takes a key only needs another authType.",
}


class NotAuthorizable(Exception):
    """What was found out is enough to say no. `text` is for people, and none of it is the server's own."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason
        self.text = TEXTS[reason]
