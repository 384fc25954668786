"""Scopes that a server names, and those to request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MAX_SCOPES = 100
OFFLINE = "offline_access"

_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")


def scopes_in(text: str) -> tuple[str, ...]:
    return scopes_of(text.split())


def scopes_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The valid scopes of RFC 6749, without duplicates, up to the limit."""
    return tuple(dict.fromkeys(text for text in texts if _SCOPE.fullmatch(text)))[:MAX_SCOPES]


def scopes_to_request(challenged: Sequence[str], supported: Sequence[str], *, offline: bool) -> tuple[str, ...]:
    """The scopes of the challenge, or by default those that the resource supports.

    If neither names a scope, none is requested: `offline_access` alone would replace the server's default.
    """
    scopes = scopes_of(challenged or supported)
    return scopes_of([*scopes[: MAX_SCOPES - 1], OFFLINE]) if scopes and offline else scopes
