"""Custom headers of users: the allowed names, and values that cannot be parsed as anything else.

Values are sent unchanged. Nothing in them is expanded, and no error repeats them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

MAX_HEADERS = 20
MAX_NAME_LENGTH = 64
MAX_VALUE_LENGTH = 8192

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NOT_IN_A_VALUE = re.compile(r"[^\x20-\x7e\xa0-\xff]")

RESERVED = frozenset(
    {
        *("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "via"),
        *("host", "expect", "max-forwards", "accept", "accept-encoding", "last-event-id"),
        *("cookie", "cookie2", "set-cookie", "set-cookie2"),
        *("x-real-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip"),
    }
)
RESERVED_PREFIXES = ("content-", "forwarded", "x-forwarded", "proxy-", "mcp-")


class HeaderRefused(Exception):
    """A header cannot be sent. The message contains its name, if that is valid, but never its value."""

    def __init__(self, name: str | None, reason: str) -> None:
        super().__init__(f"Header {name}: {reason}" if name else reason)
        self.name = name
        self.reason = reason


def check_headers(headers: Mapping[str, str]) -> None:
    for refused in refused_headers(headers):
        raise refused


def refused_headers(headers: Mapping[str, str]) -> Iterator[HeaderRefused]:
    """What is wrong with each header."""
    if len(headers) > MAX_HEADERS:
        yield HeaderRefused(None, f"At most {MAX_HEADERS} headers are allowed.")
        return
    seen: set[str] = set()
    for name, value in headers.items():
        try:
            check_header(name, value)
        except HeaderRefused as refused:
            yield refused
        else:
            if name.lower() in seen:
                yield HeaderRefused(name, "it occurs twice; header names are case-insensitive.")
        seen.add(name.lower())


def check_header(name: str, value: str) -> None:
    _check_name(name)
    _check_value(name, value)


def check_header_value(value: str) -> None:
    """Check `headerValue`, which is sent as `Authorization`."""
    _check_value("Authorization", value)


def _check_name(name: str) -> None:
    if not _TOKEN.fullmatch(name) or len(name) > MAX_NAME_LENGTH:
        # the name may be a secret that was pasted into the wrong field
        raise HeaderRefused(
            None, f"A header's name has 1 to {MAX_NAME_LENGTH} letters, digits, hyphens or other token characters."
        )
    plain = name.lower().replace("_", "-")  # many servers treat the two as the same
    if plain == "authorization":
        raise HeaderRefused(name, "give its value as headerValue.")
    if plain in RESERVED or plain.startswith(RESERVED_PREFIXES):
        raise HeaderRefused(name, "it is set by Plugboard and cannot be configured.")


def _check_value(name: str, value: str) -> None:
    if not value:
        raise HeaderRefused(name, "its value is empty.")
    if len(value) > MAX_VALUE_LENGTH:
        raise HeaderRefused(name, f"its value has more than {MAX_VALUE_LENGTH} characters.")
    if value != value.strip():
        raise HeaderRefused(name, "its value begins or ends with spaces or line ends. Remove them.")
    if _NOT_IN_A_VALUE.search(value):
        raise HeaderRefused(
            name, "its value contains a line break, a control character or a character outside Latin-1."
        )
