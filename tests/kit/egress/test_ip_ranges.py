from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kit.egress.ip_ranges import IPV4, IPV6, TRANSLATIONS, Address, IpRange, is_public, non_public_range


@pytest.mark.requirement("EGR-02")
@pytest.mark.parametrize("block", [*IPV4, *IPV6], ids=lambda block: f"{block.name} {block.network}")
def test_both_ends_of_every_special_block_are_not_public(block: IpRange) -> None:
    network = block.network
    assert not is_public(network.network_address)
    assert not is_public(network.broadcast_address)


@pytest.mark.parametrize(
    "text",
    [
        *("1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0"),
        *(
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
        ),
        *("192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.112.255", "203.0.114.0"),
        *("168.63.129.15", "168.63.129.17", "223.255.255.255"),
        *(
            "2001:200::",
            "2001:db7:ffff::",
            "2001:db9::",
            "2001:4860:4860::8888",
            "2003::",
            "2400:cb00::1",
            "2606:4700::1111",
        ),
        *("2620:4f:7fff::", "2620:4f:8001::", "3ffe:ffff::", "3fff:1000::", "3fff:ffff::1"),
    ],
)
def test_the_neighbours_of_special_blocks_are_public(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("169.254.169.254", "cloud metadata"),
        ("100.100.100.200", "cloud metadata"),
        ("168.63.129.16", "cloud metadata"),
        ("fd00:ec2::254", "cloud metadata"),
        ("255.255.255.255", "broadcast"),
        ("::1", "loopback"),
        ("::", "unspecified"),
        ("::2", "IPv4-compatible"),
        ("2001::1", "Teredo"),
        ("2001:1ff:ffff::", "protocol assignments"),
        ("1fff:ffff::", "unassigned"),
        ("fe80::1%eth0", "link-local"),
    ],
)
def test_the_narrowest_block_names_an_address(text: str, name: str) -> None:
    block = non_public_range(ip_address(text))
    assert block is not None
    assert block.name == name


def test_no_block_is_hidden_by_a_wider_one() -> None:
    for table in (IPV4, IPV6):
        for place, block in enumerate(table):
            assert not [wider for wider in table[:place] if block.network.subnet_of(wider.network)], block


def test_every_prefix_that_carries_ipv4_addresses_is_known_as_a_translation() -> None:
    carriers = [
        "::a00:1",
        "::ffff:a00:1",
        "::ffff:0:a00:1",
        "64:ff9b::a00:1",
        "64:ff9b:1::a00:1",
        "2002:a00:1::",
        "2001::1",
    ]
    for carrier in carriers:
        assert [block for block in TRANSLATIONS if ip_address(carrier) in block.network], carrier


@given(st.integers(0, 2**32 - 1).map(IPv4Address) | st.integers(0, 2**128 - 1).map(IPv6Address))
def test_nothing_is_public_that_the_standard_library_calls_private(address: Address) -> None:
    assert address.is_global or not is_public(address)


@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_no_ipv6_address_outside_the_global_range_is_public(address: Address) -> None:
    assert int(address) >> 125 == 1 or not is_public(address)


@given(st.sampled_from([*IPV4, *IPV6]).flatmap(lambda block: st.ip_addresses(network=block.network)))
def test_no_address_of_a_special_block_is_public(address: Address) -> None:
    assert not is_public(address)
