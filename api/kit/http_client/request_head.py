"""Request heads that cannot be parsed as anything but one head."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from api.kit.egress.policy import CheckedUrl
from api.kit.transport_errors import AddressBlocked

MAX_NAMES = 1024
CONNECTION_HEADERS = frozenset(
    {
        *("host", "connection", "keep-alive", "content-length", "transfer-encoding", "te", "trailer", "upgrade"),
        *("expect", "accept-encoding", "proxy-authorization", "proxy-connection"),
    }
)
"""Headers of the connection, which are set here and never by a caller."""
WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})
"""Methods without a body by default: no length is sent if there is none."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def origin_lines(target: CheckedUrl) -> str:
    """The lines that all requests to one origin share."""
    return f"Host: {target.authority}\r\nAccept-Encoding: identity"


def encode_head(method: str, path: str, fixed: str, headers: Mapping[str, str], size: int) -> bytes:
    if not method.isalpha() or " " in path:
        raise AddressBlocked("a request line that can be read in two ways")
    lines = [f"{method} {path} HTTP/1.1", *fixed.split("\r\n")]
    for name, value in headers.items():
        if start := _start(name):
            lines.append(start + value)
    if size or method not in WITHOUT_BODY:
        lines.append(f"Content-Length: {size}")
    return _one_head(lines)


def _one_head(lines: list[str]) -> bytes:
    """Line breaks are counted in the whole head, which is far cheaper than checking each value."""
    text = "\r\n".join([*lines, "", ""])
    ends = len(lines) + 1
    if text.count("\r") != ends or text.count("\n") != ends or "\0" in text:
        raise AddressBlocked("a header that breaks out of its line")
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise AddressBlocked("a header that is not in Latin-1") from None


@lru_cache(MAX_NAMES)
def _start(name: str) -> str:
    """Empty if the caller may not set this header."""
    if not _TOKEN.fullmatch(name):
        raise AddressBlocked("a header's name that is none")
    return "" if name.lower() in CONNECTION_HEADERS else f"{name}: "
