"""The address of a client: that of the connection, or what trusted proxies say of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

REMEMBERED = 4096
MAX_HOPS = 32
LONGEST_ADDRESS = 45
"""In characters: an IPv6 address with an IPv4 address in it."""

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class ClientAddresses:
    """Reads `X-Forwarded-For` from right to left, as far as proxies are trusted: what is left of that is hearsay."""

    def __init__(self, trusted: str = "") -> None:
        networks = [ip_network(entry.strip()) for entry in trusted.split(",") if entry.strip()]
        self._trusts = lru_cache(REMEMBERED)(lambda text: _is_in(networks, _address(text))) if networks else None

    def of(self, scope: Any) -> str | None:
        client = scope.get("client")
        if client is None:  # a Unix socket
            return None
        peer: str = client[0]
        if self._trusts is None or not self._trusts(peer):
            return peer
        nearest = peer
        for entry in reversed(_forwarded_for(scope["headers"])):
            address = _parse(entry)
            if address is None:
                break
            nearest = str(address)
            if not self._trusts(nearest):
                break
        return nearest


def _forwarded_for(headers: Iterable[tuple[bytes, bytes]]) -> Sequence[str]:
    lines = [value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for"]
    return ",".join(lines).split(",")[-MAX_HOPS:]


def _parse(text: str) -> Address | None:
    """An address as proxies write it, possibly with a port or in brackets.

    A scope id, as in `fe80::1%eth0`, is refused: it may be any text, and means something on the proxy's machine only.
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    return _address(text) if len(text) <= LONGEST_ADDRESS and "%" not in text else None


def _address(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address


def _is_in(networks: Iterable[Network], address: Address | None) -> bool:
    return address is not None and any(address in network for network in networks)
