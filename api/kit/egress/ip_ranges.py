"""The address ranges that are not part of the public internet, which only the operator can open.

IPv4 follows IANA's special-purpose registry, with the clouds' metadata addresses added. IPv6 is closed outside 2000::/3
and in the special blocks within it. `ipaddress.is_global` is not used: it treats NAT64, 6to4 and multicast as global.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Literal

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

Kind = Literal["inside", "metadata", "translation", "special"]
"""What opens a block: `inside` a listed host or network, `special` a listed network, `metadata` only the very address,
`translation` nothing, because such an address carries another one that would go unchecked."""


@dataclass(frozen=True, slots=True)
class IpRange:
    network: Network
    name: str
    kind: Kind
    first: int = field(init=False, repr=False)
    last: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", int(self.network.network_address))
        object.__setattr__(self, "last", int(self.network.broadcast_address))


def _ranges(kind: Kind, name: str, *networks: str) -> tuple[IpRange, ...]:
    return tuple(IpRange(ip_network(network), name, kind) for network in networks)


# The first match counts, so narrow ranges precede wide ones.
IPV4: Sequence[IpRange] = (
    *_ranges("metadata", "cloud metadata", "169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32"),
    *_ranges("metadata", "cloud metadata", "169.254.0.23/32", "100.100.100.200/32", "192.0.0.192/32"),
    *_ranges("metadata", "cloud metadata", "168.63.129.16/32"),
    *_ranges("inside", "loopback", "127.0.0.0/8"),
    *_ranges("inside", "private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
    *_ranges("inside", "carrier-grade NAT", "100.64.0.0/10"),
    *_ranges("special", "unspecified", "0.0.0.0/8"),
    *_ranges("special", "link-local", "169.254.0.0/16"),
    *_ranges("special", "protocol assignments", "192.0.0.0/24"),
    *_ranges("special", "documentation", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),
    *_ranges("special", "DNS sink", "192.31.196.0/24", "192.175.48.0/24"),
    *_ranges("special", "tunnel relay", "192.52.193.0/24", "192.88.99.0/24"),
    *_ranges("special", "benchmark", "198.18.0.0/15"),
    *_ranges("special", "multicast", "224.0.0.0/4"),
    *_ranges("special", "broadcast", "255.255.255.255/32"),
    *_ranges("special", "reserved", "240.0.0.0/4"),
)
IPV6: Sequence[IpRange] = (
    *_ranges("metadata", "cloud metadata", "fd00:ec2::254/128", "fd00:ec2::23/128"),
    *_ranges("metadata", "cloud metadata", "fd20:ce::254/128", "fe80::a9fe:a9fe/128"),
    *_ranges("inside", "loopback", "::1/128"),
    *_ranges("special", "unspecified", "::/128"),
    *_ranges("translation", "IPv4-compatible", "::/96"),
    *_ranges("translation", "IPv4-mapped", "::ffff:0:0/96"),
    *_ranges("translation", "SIIT", "::ffff:0:0:0/96"),
    *_ranges("translation", "NAT64", "64:ff9b::/96", "64:ff9b:1::/48"),
    *_ranges("translation", "Teredo", "2001::/32"),
    *_ranges("translation", "6to4", "2002::/16"),
    *_ranges("special", "discard", "100::/64", "100:0:0:1::/64"),
    *_ranges("special", "documentation", "2001:db8::/32", "3fff::/20"),
    *_ranges("special", "protocol assignments", "2001::/23"),
    *_ranges("special", "DNS sink", "2620:4f:8000::/48"),
    *_ranges("special", "SRv6", "5f00::/16"),
    *_ranges("inside", "unique local", "fc00::/7"),
    *_ranges("special", "link-local", "fe80::/10"),
    *_ranges("special", "site-local", "fec0::/10"),
    *_ranges("special", "multicast", "ff00::/8"),
    *_ranges("special", "unassigned", "::/3", "4000::/2", "8000::/1"),  # all but 2000::/3
)
TRANSLATIONS: Sequence[IpRange] = tuple(block for block in IPV6 if block.kind == "translation")


def non_public_range(address: Address) -> IpRange | None:
    """The range that excludes an address from the public internet; None for a public address."""
    number = int(address)
    for block in IPV4 if isinstance(address, IPv4Address) else IPV6:
        if block.first <= number <= block.last:
            return block
    return None


def is_public(address: Address) -> bool:
    return non_public_range(address) is None
