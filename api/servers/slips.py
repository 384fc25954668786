"""Slips that people make when they paste what another program's documentation shows, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

_COMMAND = re.compile(r"\s*(?:npx|npm|pnpm|bunx|uvx|uv|pipx|docker|podman|node|python3?|bash|sh|cmd)\s", re.IGNORECASE)
_FULL = re.compile(r"https?://", re.IGNORECASE)
_SECRET = re.compile(r"key|token|secret|passw|auth|signature|credential", re.IGNORECASE)
SPACES = "Remove the spaces and line ends at its beginning and end."
COMMAND = (
    "This is a command, and Plugboard starts no programs. Give the URL of the server's remote endpoint; if it has "
    "none, run it behind a bridge that serves it over Streamable HTTP, and give the bridge's URL."
)
KEY_IN_URL = (
    "The query of `url` seems to contain a credential (`{}`), and `url` is shown to all who may read servers. Prefer a "
    "header in `config`, if the server takes one."
)
_AS_HEADER = 'Use authType `header` and `config`: {"headerValue": "Bearer <token>"}.'
_AS_HEADERS = 'Use authType `header` and `config`: {"headers": {"<name>": "<value>"}}.'
_AUTH_TYPES = {
    "bearer": _AS_HEADER,
    "token": _AS_HEADER,
    "apikey": _AS_HEADERS,
    "custom": _AS_HEADERS,
    "headers": _AS_HEADERS,
    "oauth2": "Use `oauth`.",
}
_LOCAL = "Plugboard starts no programs. Give the `url` of the server's remote endpoint."
UNKNOWN_FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("token", "bearer", "accessToken", "bearerToken", "apiKey", "headerValue"), _AS_HEADER),
    **dict.fromkeys(("headerName", "headers"), _AS_HEADERS),
    **dict.fromkeys(("command", "args", "env"), _LOCAL),
    **{
        f"config.{name}": _AS_HEADER
        for name in ("token", "bearer", "accessToken", "bearerToken", "Authorization", "authorization", "key")
    },
    **dict.fromkeys(("config.headerName", "config.header"), _AS_HEADERS),
}
"""By the paths of fields that servers do not have."""


def url_problem(url: str, reason: str) -> str:
    """What is wrong with a URL that was refused for `reason`."""
    if _COMMAND.match(url):
        return COMMAND
    if url == url.strip():
        return reason
    return SPACES if _FULL.match(url.strip()) else f"{reason} {SPACES}"


def auth_type_slip(value: object) -> str | None:
    return _AUTH_TYPES.get(re.sub(r"[\s_-]", "", value[:32]).lower()) if isinstance(value, str) else None


def url_warnings(url: str | None) -> list[str]:
    """For a stored URL."""
    names = [name for name, _ in parse_qsl(urlsplit(url or "").query, max_num_fields=None) if _SECRET.search(name)]
    return [KEY_IN_URL.format(names[0])] if names else []
