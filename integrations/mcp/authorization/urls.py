"""Parses URLs from other parties, and refuses unsafe ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address

MAX_URL_LENGTH = 2048
MAX_PORT = 65_535
_DEFAULT_PORTS = {"https": 443, "http": 80}
_CHARACTERS = r"A-Za-z0-9._~:/@!$&'()*+,;=%-"  # none that ends a header or a quotation, and no fragment
_URL = re.compile(
    r"(https?)://([a-z0-9][a-z0-9._-]*|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?"
    rf"(/[{_CHARACTERS}]*)?(?:\?([{_CHARACTERS}?]*))?",
    re.IGNORECASE,
)
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Url:
    """A URL without user, password and fragment. `text` is how it was written."""

    text: str
    scheme: str
    site: str
    """Scheme, host and port in the one form that they have."""
    path: str
    query: str

    @property
    def canonical(self) -> str:
        """What names a resource: without a query, which may hold a key, and without a last slash that is all of it."""
        return self.site + ("" if self.path == "/" else self.path)

    @property
    def is_safe(self) -> bool:
        return self.scheme == "https"

    def well_known(self, name: str) -> str:
        """RFC 8414 and 9728: between host and path."""
        return f"{self.site}/.well-known/{name}{self.path.rstrip('/')}"

    def below(self, name: str) -> str:
        """OpenID Connect Discovery: after the path."""
        return f"{self.site}{self.path.rstrip('/')}/.well-known/{name}"

    def is_at_or_above(self, other: Url) -> bool:
        """The same, or of the same site with a path that the other's begins with, by whole segments."""
        if self.site != other.site or _DOTS.search(self.path) or _DOTS.search(other.path):
            return False
        own, its = self.path.rstrip("/"), other.path.rstrip("/")
        if self.query:
            return (own, self.query) == (its, other.query)
        return own == its or its.startswith(f"{own}/")


def parse_url(text: str | None) -> Url | None:
    """None where it is no URL of this kind, or longer than any has to be."""
    parts = _URL.fullmatch(text) if text and len(text) <= MAX_URL_LENGTH else None
    if text is None or parts is None or int(parts[3] or 0) > MAX_PORT:
        return None
    scheme, host, port = parts[1].lower(), parts[2].lower(), int(parts[3] or 0)
    if host.startswith("[") and not _is_address(host[1:-1]):
        return None
    is_default = port in (0, _DEFAULT_PORTS[scheme])
    site = f"{scheme}://{host}" if is_default else f"{scheme}://{host}:{port}"
    return Url(text, scheme, site, parts[4] or "", parts[5] or "")


def _is_address(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def safe(text: str | None, beside: Url) -> Url | None:
    """https; or http, where the server itself is spoken to so."""
    found = parse_url(text)
    return found if found and (found.is_safe or not beside.is_safe) else None
