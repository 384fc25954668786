"""Opens connections, each to an address that was checked immediately before."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from api.kit.egress.ip_ranges import Address
from api.kit.egress.policy import CheckedUrl, EgressPolicy
from api.kit.egress.resolver import Resolver, check_address
from api.kit.http_client.connection import HttpConnection
from api.kit.transport_errors import AddressBlocked, ConnectionFailed

MAX_DIALS = 4
SECONDS_FOR_ONE = 5.0
"""For one address while there is another to try."""


@dataclass(frozen=True, slots=True)
class Dialer:
    egress: EgressPolicy
    names: Resolver
    trust: ssl.SSLContext
    patience: float = SECONDS_FOR_ONE

    async def connect(
        self, target: CheckedUrl, factory: Callable[[], HttpConnection], owner: str = ""
    ) -> HttpConnection:
        """Has no time limit of its own; a cancellation leaves nothing behind."""
        reached = await self._reach(target, owner)
        encrypted = target.scheme == "https"
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                factory,
                sock=reached,
                ssl=self.trust if encrypted else None,
                server_hostname=target.host if encrypted else None,
            )
        except ssl.SSLCertVerificationError as error:
            raise ConnectionFailed(f"Certificate: {error.verify_message}", sent=False) from None
        except OSError as error:
            raise ConnectionFailed(type(error).__name__, sent=False) from None
        return connection

    async def _reach(self, target: CheckedUrl, owner: str) -> socket.socket:
        addresses = (await self._addresses(target, owner))[:MAX_DIALS]
        for address in addresses[:-1]:
            try:
                async with asyncio.timeout(self.patience):
                    return await self.dial(target, address)
            except OSError:  # a TimeoutError is one
                continue
        try:
            return await self.dial(target, addresses[-1])
        except OSError as error:
            raise ConnectionFailed(type(error).__name__, sent=False) from None

    async def _addresses(self, target: CheckedUrl, owner: str) -> list[Address]:
        if target.address is not None:
            return [check_address(target.host, target.host, self.egress)]
        return await self.names.addresses(target.host, self.egress, owner)

    async def dial(self, target: CheckedUrl, address: Address) -> socket.socket:
        """Every connection begins here. Nothing is written before the peer's address is checked."""
        check_address(target.host, str(address), self.egress)
        if self.egress.is_self(address, target.port):
            raise AddressBlocked(f"{target.host} leads to Plugboard itself")
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004
        dialled, reached = socket.socket(family, socket.SOCK_STREAM), False
        try:
            dialled.setblocking(False)
            await asyncio.get_running_loop().sock_connect(dialled, (str(address), target.port))
            peer = check_address(target.host, dialled.getpeername()[0], self.egress)
            if peer != address:
                raise AddressBlocked(f"{peer} answered for {address}")
            if target.port in self.egress.self_ports and dialled.getsockname()[0] == dialled.getpeername()[0]:
                raise AddressBlocked(f"{address} is this machine")  # under any name or address
            reached = True
        finally:
            if not reached:
                dialled.close()
        return dialled
