"""Which addresses an upstream may live on without the operator's word: every block that is not the public internet.

IPv4 follows IANA's special-purpose registry, with the clouds' metadata addresses added. IPv6 is closed outside 2000::/3
and in the special blocks within it. `ipaddress.is_global` is not asked: it calls NAT64, 6to4 and multicast global.
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
class Block:
    network: Network
    name: str
    kind: Kind
    first: int = field(init=False, repr=False)
    last: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", int(self.network.network_address))
        object.__setattr__(self, "last", int(self.network.broadcast_address))


def _blocks(kind: Kind, name: str, *networks: str) -> tuple[Block, ...]:
    return tuple(Block(ip_network(network), name, kind) for network in networks)


# In each table the first match counts, so the narrow stands before the wide.
IPV4: Sequence[Block] = (
    *_blocks("metadata", "cloud metadata", "169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32"),
    *_blocks("metadata", "cloud metadata", "169.254.0.23/32", "100.100.100.200/32", "192.0.0.192/32"),
    *_blocks("metadata", "cloud metadata", "168.63.129.16/32"),
    *_blocks("inside", "loopback", "127.0.0.0/8"),
    *_blocks("inside", "private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
    *_blocks("inside", "carrier-grade NAT", "100.64.0.0/10"),
    *_blocks("special", "unspecified", "0.0.0.0/8"),
    *_blocks("special", "link-local", "169.254.0.0/16"),
    *_blocks("special", "protocol assignments", "192.0.0.0/24"),
    *_blocks("special", "documentation", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),
    *_blocks("special", "DNS sink", "192.31.196.0/24", "192.175.48.0/24"),
    *_blocks("special", "tunnel relay", "192.52.193.0/24", "192.88.99.0/24"),
    *_blocks("special", "benchmark", "198.18.0.0/15"),
    *_blocks("special", "multicast", "224.0.0.0/4"),
    *_blocks("special", "broadcast", "255.255.255.255/32"),
    *_blocks("special", "reserved", "240.0.0.0/4"),
)
IPV6: Sequence[Block] = (
    *_blocks("metadata", "cloud metadata", "fd00:ec2::254/128", "fd00:ec2::23/128"),
    *_blocks("metadata", "cloud metadata", "fd20:ce::254/128", "fe80::a9fe:a9fe/128"),
    *_blocks("inside", "loopback", "::1/128"),
    *_blocks("special", "unspecified", "::/128"),
    *_blocks("translation", "IPv4-compatible", "::/96"),
    *_blocks("translation", "IPv4-mapped", "::ffff:0:0/96"),
    *_blocks("translation", "SIIT", "::ffff:0:0:0/96"),
    *_blocks("translation", "NAT64", "64:ff9b::/96", "64:ff9b:1::/48"),
    *_blocks("translation", "Teredo", "2001::/32"),
    *_blocks("translation", "6to4", "2002::/16"),
    *_blocks("special", "discard", "100::/64", "100:0:0:1::/64"),
    *_blocks("special", "documentation", "2001:db8::/32", "3fff::/20"),
    *_blocks("special", "protocol assignments", "2001::/23"),
    *_blocks("special", "DNS sink", "2620:4f:8000::/48"),
    *_blocks("special", "SRv6", "5f00::/16"),
    *_blocks("inside", "unique local", "fc00::/7"),
    *_blocks("special", "link-local", "fe80::/10"),
    *_blocks("special", "site-local", "fec0::/10"),
    *_blocks("special", "multicast", "ff00::/8"),
    *_blocks("special", "unassigned", "::/3", "4000::/2", "8000::/1"),  # all but 2000::/3
)
TRANSLATIONS: Sequence[Block] = tuple(block for block in IPV6 if block.kind == "translation")


def special(address: Address) -> Block | None:
    """The block that keeps an address off the public internet; None for an address that is on it."""
    number = int(address)
    for block in IPV4 if isinstance(address, IPv4Address) else IPV6:
        if block.first <= number <= block.last:
            return block
    return None


def is_public(address: Address) -> bool:
    return special(address) is None
