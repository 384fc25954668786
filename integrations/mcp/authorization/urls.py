"""Parsing of URLs from other parties, and the check that they are safe."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address

MAX_URL_LENGTH = 2048
MAX_PORT = 65_535
_DEFAULT_PORTS = {"https": 443, "http": 80}
_CHARACTERS = r"A-Za-z0-9._~:/@!$&'()*+,;=%-"  # no character that ends a header or a quoted string, and no fragment
_URL = re.compile(
    r"(https?)://([a-z0-9][a-z0-9._-]*|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?"
    rf"(/[{_CHARACTERS}]*)?(?:\?([{_CHARACTERS}?]*))?",
    re.IGNORECASE,
)
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Url:
    """A URL without user, password and fragment. `text` is its original spelling."""

    text: str
    scheme: str
    site: str
    """Scheme, host and port in canonical form."""
    path: str
    query: str

    @property
    def canonical(self) -> str:
        """The resource identifier: without a query, which may hold a key, and without a path that is only a slash."""
        return self.site + ("" if self.path == "/" else self.path)

    @property
    def is_safe(self) -> bool:
        return self.scheme == "https"

    def well_known(self, name: str) -> str:
        """The well-known URL of RFC 8414 and 9728, with the name between host and path."""
        return f"{self.site}/.well-known/{name}{self.path.rstrip('/')}"

    def below(self, name: str) -> str:
        """The URL of OpenID Connect Discovery, with the name after the path."""
        return f"{self.site}{self.path.rstrip('/')}/.well-known/{name}"

    def is_at_or_above(self, other: Url) -> bool:
        """Whether both URLs are equal, or this one's path is a prefix of the other's by whole segments."""
        if self.site != other.site or _DOTS.search(self.path) or _DOTS.search(other.path):
            return False
        path, other_path = self.path.rstrip("/"), other.path.rstrip("/")
        if self.query:
            return (path, self.query) == (other_path, other.query)
        return path == other_path or other_path.startswith(f"{path}/")


def parse_url(text: str | None) -> Url | None:
    """The parsed URL; None if it is invalid or too long."""
    match = _URL.fullmatch(text) if text and len(text) <= MAX_URL_LENGTH else None
    if text is None or match is None or int(match[3] or 0) > MAX_PORT:
        return None
    scheme, host, port = match[1].lower(), match[2].lower(), int(match[3] or 0)
    if host.startswith("[") and not _is_address(host[1:-1]):
        return None
    is_default = port in (0, _DEFAULT_PORTS[scheme])
    site = f"{scheme}://{host}" if is_default else f"{scheme}://{host}:{port}"
    return Url(text, scheme, site, match[4] or "", match[5] or "")


def _is_address(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def safe(text: str | None, beside: Url) -> Url | None:
    """The parsed URL if it uses https, or http if the server itself does."""
    url = parse_url(text)
    return url if url and (url.is_safe or not beside.is_safe) else None
