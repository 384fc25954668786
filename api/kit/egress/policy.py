"""The egress policy: the check of a URL's text, without resolving its host.

A name that passes may still resolve to a private address: `EgressPolicy.allows_address` checks that address when the
connection is made. Clients receive `CheckedUrl.wire_url`, built from the checked parts, so that no second parser reads
the original URL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import IPv6Network, ip_network
from typing import NamedTuple, Self

from api.kit.egress.hostnames import Host, InvalidHost, internal_name_reason, is_cloud_platform, parse_host
from api.kit.egress.ip_ranges import TRANSLATIONS, Address, Network, non_public_range

VARIABLE = "PLUGBOARD_EGRESS_ALLOW"
OR_ASK = f", or ask the operator to list this one in {VARIABLE}."
MAX_URL_LENGTH = 2048
MAX_PORT = 65_535
FIRST_UNPRIVILEGED_PORT = 1024
DEFAULT_PORTS = {"https": 443, "http": 80}
LOOPBACK = IPv6Network("::1")  # within the IPv4-compatible range, but not a translation
WIDEST_IPV4, WIDEST_IPV6 = 8, 7  # 10.0.0.0/8 and fc00::/7: no private network is wider

_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([1-9][0-9]{0,4}))?")
_INVALID_CHARACTER = re.compile(r"[^A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]")
_CIDR = re.compile(r"[0-9A-Fa-f:.]+/[0-9]{1,3}")


class InvalidEgressPolicy(ValueError):
    """An entry of the operator's list is invalid; the message names it."""

    def __init__(self, entry: str, reason: str) -> None:
        super().__init__(f"{VARIABLE}: {entry!r} {reason}")


class UrlRefused(Exception):
    """A URL that must not be requested. `reason` says what to do and does not quote the URL."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The names and networks beyond the public internet that the operator has allowed."""

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    self_hosts: frozenset[tuple[str, int | None]] = frozenset()
    """Hosts of Plugboard itself, with a port if only that port belongs to it. No entry allows them."""

    self_ports: frozenset[int] = frozenset()
    """Ports on which Plugboard listens, at any address of this machine."""

    def is_self(self, host: Host, port: int) -> bool:
        if port in self.self_ports and not isinstance(host, str) and (host.is_loopback or host.is_unspecified):
            return True
        return not self.self_hosts.isdisjoint({(str(host), port), (str(host), None)}) or is_cloud_platform(host)

    @classmethod
    def parse(cls, text: str) -> Self:
        entries = [_entry(entry_text) for entry_text in map(str.strip, text.split(",")) if entry_text]
        names = frozenset(entry for entry in entries if isinstance(entry, str))
        return cls(names, tuple(dict.fromkeys(entry for entry in entries if not isinstance(entry, str))))

    def allows(self, host: Host) -> bool:
        """Whether the list holds this name, or a network with this address."""
        if isinstance(host, str):
            return host in self.names
        block = non_public_range(host)
        exact = block is not None and block.kind == "metadata"  # only an exact entry opens a metadata address
        return any(host in network and (network.num_addresses == 1 or not exact) for network in self.networks)

    def allows_address(self, name: str, address: Address) -> bool:
        """Whether a connection for `name` may go to `address`."""
        block = non_public_range(address)
        return block is None or self.allows(address) or (block.kind == "inside" and self.allows(name))

    def __str__(self) -> str:
        return ", ".join([*sorted(self.names), *map(str, self.networks)])


class Origin(NamedTuple):
    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{_bracket_ipv6(self.host)}:{self.port}"


@dataclass(frozen=True, slots=True)
class CheckedUrl:
    """A checked URL in its parts. Path and query are not shown: some upstreams have a key in them."""

    url: str = field(repr=False)
    scheme: str
    host: str
    port: int
    path: str = field(repr=False)
    address: Address | None
    """The address, if the URL's host is one; then no name is resolved."""

    @property
    def origin(self) -> Origin:
        return Origin(self.scheme, self.host, self.port)

    @property
    def authority(self) -> str:
        """The `Host` header."""
        host = _bracket_ipv6(self.host)
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def wire_url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def check_url(url: str, egress: EgressPolicy) -> CheckedUrl:
    scheme, authority, rest = _split(url)
    host, given_port = _host_and_port(authority)
    is_allowed = egress.allows(host)
    if not is_allowed:
        _check_public(host)
    port = given_port or DEFAULT_PORTS[scheme]
    if egress.is_self(host, port):
        raise UrlRefused("The URL points to Plugboard itself. Use another host.")
    if not is_allowed:
        _check_wire(scheme, port)
    path = rest if rest.startswith("/") else f"/{rest}"
    return CheckedUrl(url, scheme, str(host), port, path, None if isinstance(host, str) else host)


def _split(url: str) -> tuple[str, str, str]:
    if len(url) > MAX_URL_LENGTH:
        raise UrlRefused(f"The URL has more than {MAX_URL_LENGTH} characters. Use a shorter one.")
    match = _SHAPE.fullmatch(url)
    if not match:
        raise UrlRefused("Write the URL in full, as https://host/path, with nothing before it.")
    scheme, authority, rest = match[1].lower(), match[2], match[3]
    if scheme not in DEFAULT_PORTS:
        raise UrlRefused("The URL must begin with https://.")
    if "@" in authority:
        raise UrlRefused("Remove the user name and password from the URL; enter them as the server's credentials.")
    _check_rest(rest)
    return scheme, authority, rest


def _check_rest(rest: str) -> None:
    if "#" in rest:
        raise UrlRefused("Remove the fragment (from # on), which is never sent.")
    bad = _INVALID_CHARACTER.search(rest)
    if bad:
        raise UrlRefused(f"The path or query contains the character U+{ord(bad[0]):04X}: percent-encode or remove it.")


def _host_and_port(authority: str) -> tuple[Host, int | None]:
    match = _AUTHORITY.fullmatch(authority)
    port = int(match[2]) if match and match[2] else None
    if not match or (port or 0) > MAX_PORT:
        raise UrlRefused(
            f"After the host, only a port from 1 to {MAX_PORT} is allowed. Write an IPv6 address in brackets."
        )
    try:
        return parse_host(match[1]), port
    except InvalidHost as error:
        raise UrlRefused(str(error)) from None


def _check_public(host: Host) -> None:
    if isinstance(host, str):
        reason = internal_name_reason(host)
    else:
        block = non_public_range(host)
        reason = f"{block.name} address" if block else None
    if reason:
        raise UrlRefused(f"The host is not on the public internet ({reason}). Use a public host{OR_ASK}")


def _check_wire(scheme: str, port: int) -> None:
    if scheme != "https":
        raise UrlRefused(f"The URL must begin with https://. Use https{OR_ASK}")
    if port != DEFAULT_PORTS[scheme] and port < FIRST_UNPRIVILEGED_PORT:
        raise UrlRefused(f"The port must be 443 or from {FIRST_UNPRIVILEGED_PORT} up. Use such a port{OR_ASK}")


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _entry(text: str) -> str | Network:
    if "/" in text:
        return _check_width(text, _cidr(text))
    try:
        host = parse_host(f"[{text}]" if ":" in text and not text.startswith("[") else text)
    except InvalidHost:
        raise InvalidEgressPolicy(text, "is neither a host nor a CIDR; remove scheme, port and wildcards") from None
    return host if isinstance(host, str) else _check_width(text, ip_network(host))


def _cidr(text: str) -> Network:
    try:
        return ip_network(text if _CIDR.fullmatch(text) else "")
    except ValueError:
        raise InvalidEgressPolicy(
            text, "is not a CIDR; write one as 10.0.0.0/8, with no bits set after the prefix"
        ) from None


def _check_width(text: str, network: Network) -> Network:
    if network.prefixlen < (WIDEST_IPV6 if isinstance(network, IPv6Network) else WIDEST_IPV4):
        raise InvalidEgressPolicy(text, "is wider than a private network; use a narrower one")
    for block in TRANSLATIONS:
        if network != LOOPBACK and network.version == block.network.version and network.overlaps(block.network):
            raise InvalidEgressPolicy(
                text, f"contains {block.name} addresses, which embed other addresses; list those themselves"
            )
    return network
