"""Hosts in URLs: a full name in plain ASCII, a dotted quad, or an IPv6 address in brackets.

Every other spelling is refused, since resolvers and clients read some of them differently.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

import idna

from api.kit.egress.ip_ranges import Address

Host = str | Address
"""A name, lower case and without a trailing dot, or an address."""

MAX_NAME_LENGTH = 253

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # what resolvers accept as the last part of an IPv4 address
_IN_BRACKETS = re.compile(r"\[([0-9A-Fa-f:.]+)\]")

INSIDE_SUFFIXES = frozenset(
    {"localhost", "localdomain", "local", "internal", "home.arpa", "lan", "home", "corp", "intranet", "svc", "onion"}
)
METADATA_NAMES = frozenset(
    {"metadata.goog", "metadata.tencentyun.com", "metadata.packet.net", "metadata.platformequinix.com"}
)

_PLATFORM = re.compile(
    r"(?:.+\.)?(?:dynamodb|dax|kms|kms-fips|sts)[.-](?:[a-z0-9-]+\.)*(?:amazonaws\.com(?:\.cn)?|api\.aws)"
)


class InvalidHost(ValueError):
    """Not a valid host. The message says how to write one, and never repeats the text, which may hold a secret."""


def parse_host(text: str) -> Host:
    if text.startswith("["):
        return _ipv6(text)
    if not text.isascii():
        raise InvalidHost(_plain_form(text))
    name = text.lower().removesuffix(".")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _ipv4(text)
    _check_name(name)
    return name


def internal_name_reason(name: str) -> str | None:
    """Why a name cannot be on the public internet, judged by its text; None if it may be."""
    if "." not in name:
        return "a name without a domain"
    labels = name.split(".")
    endings = {".".join(labels[start:]) for start in range(len(labels))}
    if endings & METADATA_NAMES:
        return "cloud metadata"
    if endings & INSIDE_SUFFIXES:
        return "a name of an internal network"
    return None


def is_cloud_platform(host: Host) -> bool:
    """Whether the host belongs to a cloud service that stores our data or keys and trusts this machine's role."""
    return isinstance(host, str) and _PLATFORM.fullmatch(host) is not None


def _ipv4(text: str) -> IPv4Address:
    try:
        return IPv4Address(text)
    except AddressValueError:
        raise InvalidHost(
            "Write an IPv4 address as four plain decimal numbers from 0 to 255, such as 192.0.2.1."
        ) from None


def _ipv6(text: str) -> IPv6Address:
    match = _IN_BRACKETS.fullmatch(text)
    try:
        return IPv6Address(match[1] if match else "")
    except AddressValueError:
        raise InvalidHost("Brackets are for IPv6 addresses without a zone, such as [2001:db8::1].") from None


def _check_name(name: str) -> None:
    if not name:
        raise InvalidHost("The host is missing.")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidHost(f"The host has more than {MAX_NAME_LENGTH} characters. Use a shorter name.")
    if not _NAME.fullmatch(name):
        raise InvalidHost(
            "Each label of the host must have 1 to 63 letters, digits or inner hyphens, without percent-encoding."
        )
    for label in name.split("."):
        if label.startswith("xn--"):
            _check_a_label(label)


def _check_a_label(label: str) -> None:
    try:
        idna.ulabel(label)
    except ValueError:
        raise InvalidHost(
            "A label of the host begins with xn-- but is not a valid international name (IDNA 2008)."
        ) from None


def _plain_form(text: str) -> str:
    try:
        plain = idna.encode(text, uts46=True, std3_rules=True).decode()
    except ValueError:
        plain = ""
    if "xn--" in plain:
        return f"The host must be in its ASCII form: {plain}."
    return "The host must be written in plain ASCII letters, digits, hyphens and dots."
