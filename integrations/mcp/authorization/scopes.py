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
    """Each once, in their order, and not beyond any number. What RFC 6749 knows as no scope is left out."""
    return tuple(dict.fromkeys(text for text in texts if _SCOPE.fullmatch(text)))[:MAX_SCOPES]


def to_ask_for(challenged: Sequence[str], supported: Sequence[str], *, offline: bool) -> tuple[str, ...]:
    """The challenge is what the request needs; what a resource supports is its least.

    Nothing is asked for where neither says anything: the server has a default then, and `offline_access` alone would
    take its place.
    """
    wanted = scopes_of(challenged or supported)
    return scopes_of([*wanted[: MAX_SCOPES - 1], OFFLINE]) if wanted and offline else wanted
