"""The errors of an HTTP exchange, with texts that callers may see.

TransportError
├── ConnectionFailed       no response: unknown name, no connection, or it was cut off
│   └── AddressBlocked     nothing was sent: the egress policy forbids the address. Reads like any ConnectionFailed
├── TransportTimeout       the time for the request ran out
├── ResponseTooLarge       the response is larger than the limits allow
└── MalformedResponse      the response is not valid HTTP, or uses an encoding that was not offered

Each class has one text, which is all that an agent reads. `fault` is the exact reason, explained to who manages the
server without naming an address. `cause` is for the operator's log.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class Fault(StrEnum):
    """The reason of a failed exchange, as a word for logs and programs."""

    UNKNOWN_HOST = "unknown_host"
    LOOKUP_FAILED = "lookup_failed"
    EGRESS_REFUSED = "egress_refused"
    CONNECTION_REFUSED = "connection_refused"
    NO_ROUTE = "no_route"
    CONNECT_TIMEOUT = "connect_timeout"
    CONNECTIONS_BUSY = "connections_busy"
    TLS_FAILED = "tls_failed"
    CERTIFICATE_EXPIRED = "certificate_expired"
    CERTIFICATE_NOT_YET_VALID = "certificate_not_yet_valid"
    CERTIFICATE_UNTRUSTED = "certificate_untrusted"
    CERTIFICATE_OF_ANOTHER_NAME = "certificate_of_another_name"
    CERTIFICATE_INVALID = "certificate_invalid"
    CONNECTION_LOST = "connection_lost"
    READ_TIMEOUT = "read_timeout"
    TOO_LARGE = "response_too_large"
    MALFORMED = "response_malformed"

    @property
    def explanation(self) -> str:
        """For who manages the server: what happened and what to check."""
        return _EXPLANATIONS[self]


_EXPLANATIONS = {
    Fault.UNKNOWN_HOST: "The host of its `url` is unknown: its name has no address. Check the spelling, or the DNS.",
    Fault.LOOKUP_FAILED: "The name of its host could not be resolved now: no name server answered. Try again later.",
    Fault.EGRESS_REFUSED: "The egress policy of this installation does not allow its address. Use a public host, or "
    "ask the operator to list this one in PLUGBOARD_EGRESS_ALLOW.",
    Fault.CONNECTION_REFUSED: "Its host refuses connections at this port. Check the port in its `url`, and whether the "
    "server is running.",
    Fault.NO_ROUTE: "Its host cannot be reached from here: there is no route to its network.",
    Fault.CONNECT_TIMEOUT: "Its host did not accept a connection in time. Check host and port in its `url`, and its "
    "firewall.",
    Fault.CONNECTIONS_BUSY: "All connections to it are in use. Try again later.",
    Fault.TLS_FAILED: "No TLS connection could be made: the port does not speak TLS 1.2 or later. Check scheme and "
    "port in its `url`.",
    Fault.CERTIFICATE_EXPIRED: "The TLS certificate of its host has expired. The operator of the host must renew it.",
    Fault.CERTIFICATE_NOT_YET_VALID: "The TLS certificate of its host is not valid yet. Check the clock of this "
    "installation, and the certificate.",
    Fault.CERTIFICATE_UNTRUSTED: "The TLS certificate of its host is self-signed, or its issuer is unknown. The host "
    "needs a certificate of a public authority, sent with all intermediate certificates.",
    Fault.CERTIFICATE_OF_ANOTHER_NAME: "The TLS certificate of its host is for another name. Check the host in its "
    "`url`.",
    Fault.CERTIFICATE_INVALID: "The TLS certificate of its host is not valid.",
    Fault.CONNECTION_LOST: "It closed the connection before its response was complete.",
    Fault.READ_TIMEOUT: "It accepted the connection, but did not complete a response.",
    Fault.TOO_LARGE: "Its response exceeds the size limit.",
    Fault.MALFORMED: "Its response is not valid HTTP. Check scheme and port in its `url`.",
}


class TransportError(Exception):
    """`sent`: whether the upstream may have received the request. Such a request is never repeated."""

    text: ClassVar[str]

    def __init__(self, cause: str, *, fault: Fault, sent: bool) -> None:
        super().__init__(self.text)
        self.cause = cause
        self.fault = fault
        self.sent = sent


class ConnectionFailed(TransportError):
    text = "The upstream could not be reached."

    def __init__(self, cause: str, *, sent: bool, fault: Fault = Fault.CONNECTION_LOST) -> None:
        super().__init__(cause, fault=fault, sent=sent)


class AddressBlocked(ConnectionFailed):
    def __init__(self, cause: str) -> None:
        super().__init__(cause, sent=False, fault=Fault.EGRESS_REFUSED)


class TransportTimeout(TransportError):
    text = "The upstream did not answer in time."

    def __init__(self, cause: str, *, sent: bool, fault: Fault = Fault.READ_TIMEOUT) -> None:
        super().__init__(cause, fault=fault, sent=sent)


class ResponseTooLarge(TransportError):
    text = "The upstream's response exceeds the size limit."

    def __init__(self, cause: str) -> None:
        super().__init__(cause, fault=Fault.TOO_LARGE, sent=True)


class MalformedResponse(TransportError):
    text = "The upstream's response cannot be read."

    def __init__(self, cause: str) -> None:
        super().__init__(cause, fault=Fault.MALFORMED, sent=True)
