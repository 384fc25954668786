"""The URL that the browser is sent to at the end: only a path of ours, or an origin that the operator has allowed."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlencode

from api.connections.consent.state import AuthorizationState
from api.errors import ValidationFailed

MAX_LENGTH = 1000
RESULT = "/connected"
_CHARACTERS = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%/?#-]*")
_PATH = (
    r"/(?![/\\])[A-Za-z0-9._~!$&'()*+,;=:@%/-]*"
    r"(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?"
)
_FRAGMENT = r"(?:#[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?"
_OWN_PATH = re.compile(_PATH + _FRAGMENT)
_URL = re.compile(rf"(https?://[a-z0-9.-]+(?::[0-9]{{1,5}})?)(?:{_PATH})?{_FRAGMENT}")
_ENCODED_SLASH = re.compile(r"%(?:0[0-9a-f]|1[0-9a-f]|2f|5c|7f)", re.IGNORECASE)  # slashes and control characters

TOO_LONG = f"At most {MAX_LENGTH} characters."
NO_URL_CHARACTER = "It has a character that no URL has, such as a space or a backslash: write it percent-encoded."
ENCODED_SLASH = "Its path has an encoded slash, backslash or control character: remove it."
DOUBLE_SLASH = "Its path has an empty segment (`//`): write one slash, or the whole URL with its origin."
NEITHER = (
    "Must be a path of Plugboard that begins with `/`, such as /docs, or a whole URL in lower case, such as "
    "https://console.example.com/servers, without user name and empty path segments."
)
OTHER_ORIGIN = "The origin {} is not allowed. The operator can add it to PLUGBOARD_RETURN_ORIGINS."


def check_return_to(text: str | None, origins: Collection[str]) -> str | None:
    if text is not None and (reason := _refusal(text, origins)):
        raise ValidationFailed.at("returnTo", reason)
    return text


def _refusal(text: str, origins: Collection[str]) -> str | None:
    """The first reason that speaks against it."""
    path = re.split("[?#]", text, maxsplit=1)[0]
    if len(text) > MAX_LENGTH:
        return TOO_LONG
    if not _CHARACTERS.fullmatch(text):
        return NO_URL_CHARACTER
    if _ENCODED_SLASH.search(path):
        return ENCODED_SLASH
    if text.startswith("/"):
        return _path_refusal(text, path)
    url = _URL.fullmatch(text)
    if url is None:
        return NEITHER
    return None if url[1] in origins else OTHER_ORIGIN.format(url[1])


def _path_refusal(text: str, path: str) -> str | None:
    if "//" in path:
        return DOUBLE_SLASH
    return None if _OWN_PATH.fullmatch(text) else NEITHER


def result_url(return_to: str | None, **outcome: str) -> str:
    """The place with the outcome in its query, before its fragment."""
    url, sign, fragment = (return_to or RESULT).partition("#")
    return f"{url}{'&' if '?' in url else '?'}{urlencode(outcome)}{sign}{fragment}"


def failure_url(pending: AuthorizationState | None, code: str) -> str:
    """Where a browser goes that was not connected. Without a valid ticket or state, the place is not known."""
    if pending is None:
        return result_url(None, error=code)
    return result_url(pending.return_to, error=code, serverId=pending.server_id)
