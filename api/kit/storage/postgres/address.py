"""The address of a PostgreSQL server, and how a connection to it is encrypted."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Protocol

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class TlsMode(StrEnum):
    """The modes of libpq's `sslmode` that do not leave it to the server."""

    DISABLE = "disable"
    REQUIRE = "require"
    VERIFY_CA = "verify-ca"
    VERIFY_FULL = "verify-full"


class Password(Protocol):
    """A secret; `Secret` is one."""

    def reveal_text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class PostgresHost:
    """A host name, an address, or the directory of a Unix socket."""

    name: str
    port: int

    @property
    def is_local(self) -> bool:
        return self.is_socket or self.name in LOCAL_HOSTS

    @property
    def is_socket(self) -> bool:
        return self.name.startswith("/")


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    hosts: tuple[PostgresHost, ...]
    """Tried in order; the one that accepts writes is used."""

    user: str
    password: Password
    database: str
    tls: TlsMode
    authorities: Path | None = None
    """A file of certificate authorities, in place of the system's."""

    def ssl_context(self, host: PostgresHost) -> ssl.SSLContext | None:
        """None where the connection is not encrypted."""
        if host.is_socket or self.tls is TlsMode.DISABLE:
            return None
        return _tls_context(self.tls, self.authorities)


@cache
def _tls_context(mode: TlsMode, authorities: Path | None) -> ssl.SSLContext:
    """Made once, because reading the authorities takes longer than a connection."""
    context = ssl.create_default_context(cafile=authorities)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = mode is TlsMode.VERIFY_FULL
    context.verify_mode = ssl.CERT_NONE if mode is TlsMode.REQUIRE else ssl.CERT_REQUIRED
    return context
