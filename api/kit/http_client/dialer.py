"""Opens connections, each to an address that was checked immediately before."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from api.kit.egress.ip_ranges import Address
from api.kit.egress.policy import CheckedUrl, EgressPolicy
from api.kit.egress.resolver import Resolver, check_address
from api.kit.http_client.connection import HttpConnection
from api.kit.transport_errors import AddressBlocked, ConnectionFailed, Fault, TransportError, TransportTimeout

MAX_DIALS = 4
CONNECT_SECONDS = 8.0
"""From the lookup of the name to the end of the TLS handshake: less than a list of tools may take."""
SECONDS_FOR_ONE = 5.0
"""For one address while there is another to try."""
# By OpenSSL's codes of verification (`X509_V_ERR_…`).
_CERTIFICATE_FAULTS = {
    9: Fault.CERTIFICATE_NOT_YET_VALID,
    10: Fault.CERTIFICATE_EXPIRED,
    18: Fault.CERTIFICATE_UNTRUSTED,  # self-signed
    19: Fault.CERTIFICATE_UNTRUSTED,  # self-signed, in the chain
    20: Fault.CERTIFICATE_UNTRUSTED,  # the issuer is unknown
    21: Fault.CERTIFICATE_UNTRUSTED,  # the chain is incomplete
    62: Fault.CERTIFICATE_OF_ANOTHER_NAME,
    64: Fault.CERTIFICATE_OF_ANOTHER_NAME,  # of another address
}


@dataclass(frozen=True, slots=True)
class Dialer:
    egress: EgressPolicy
    names: Resolver
    trust: ssl.SSLContext
    patience: float = SECONDS_FOR_ONE

    async def connect(
        self,
        target: CheckedUrl,
        factory: Callable[[], HttpConnection],
        owner: str = "",
        seconds: float = CONNECT_SECONDS,
    ) -> HttpConnection:
        """Raises within `seconds`, so that its caller knows what the time went into. Cancelling it leaves nothing."""
        fault = Fault.LOOKUP_FAILED
        try:
            async with asyncio.timeout(seconds):
                addresses = await self._addresses(target, owner)
                fault = Fault.CONNECT_TIMEOUT
                reached = await self._reach(target, addresses[:MAX_DIALS], seconds)
                fault = Fault.TLS_FAILED
                return await self._open(target, factory, reached)
        except TimeoutError:
            raise TransportTimeout(f"no connection in {seconds:g} s", sent=False, fault=fault) from None

    async def _open(
        self, target: CheckedUrl, factory: Callable[[], HttpConnection], reached: socket.socket
    ) -> HttpConnection:
        encrypted = target.scheme == "https"
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                factory,
                sock=reached,
                ssl=self.trust if encrypted else None,
                server_hostname=target.host if encrypted else None,
            )
        except ssl.SSLCertVerificationError as error:
            fault = _CERTIFICATE_FAULTS.get(error.verify_code, Fault.CERTIFICATE_INVALID)
            raise ConnectionFailed(f"Certificate: {error.verify_message}", sent=False, fault=fault) from None
        except OSError as error:
            fault = Fault.TLS_FAILED if encrypted else Fault.CONNECTION_LOST
            raise ConnectionFailed(_name_of(error), sent=False, fault=fault) from None
        return connection

    async def _reach(self, target: CheckedUrl, addresses: Sequence[Address], seconds: float) -> socket.socket:
        """The addresses share the time; the last one has what is left."""
        patience = min(self.patience, seconds / len(addresses))
        errors: list[OSError] = []
        for address in addresses:
            try:
                async with asyncio.timeout(patience if address is not addresses[-1] else None):
                    return await self.dial(target, address)
            except OSError as error:  # a TimeoutError is one
                errors.append(error)
        raise _not_reached(errors)

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


def _not_reached(errors: Sequence[OSError]) -> TransportError:
    """Of several addresses the one that says most: a refused connection, before a silent one, before no route."""
    for error in errors:
        if isinstance(error, ConnectionRefusedError):
            return ConnectionFailed(_name_of(error), sent=False, fault=Fault.CONNECTION_REFUSED)
    if any(isinstance(error, TimeoutError) for error in errors):
        return TransportTimeout("no connection", sent=False, fault=Fault.CONNECT_TIMEOUT)
    return ConnectionFailed(_name_of(errors[-1]), sent=False, fault=Fault.NO_ROUTE)


def _name_of(error: OSError) -> str:
    """Its type, and its reason in the words of OpenSSL or of `errno`."""
    reason = getattr(error, "reason", None) or errno.errorcode.get(error.errno or 0)
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__
