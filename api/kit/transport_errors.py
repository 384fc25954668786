"""The errors of an HTTP exchange, with texts that callers may see.

TransportError
├── ConnectionFailed       no response: unknown name, no connection, or it was cut off
│   └── AddressBlocked     nothing was sent: the egress policy forbids the address. Reads like any ConnectionFailed
├── TransportTimeout       the time for the request ran out
├── ResponseTooLarge       the response is larger than the limits allow
└── MalformedResponse      the response is not valid HTTP, or uses an encoding that was not offered

Each class has one text, so that no error reveals what exists inside a network. `cause` is for the operator's log.
"""

from __future__ import annotations

from typing import ClassVar


class TransportError(Exception):
    """`sent`: whether the upstream may have received the request. Such a request is never repeated."""

    text: ClassVar[str]

    def __init__(self, cause: str, *, sent: bool) -> None:
        super().__init__(self.text)
        self.cause = cause
        self.sent = sent


class ConnectionFailed(TransportError):
    text = "The upstream could not be reached."


class AddressBlocked(ConnectionFailed):
    def __init__(self, cause: str) -> None:
        super().__init__(cause, sent=False)


class TransportTimeout(TransportError):
    text = "The upstream did not answer in time."


class ResponseTooLarge(TransportError):
    text = "The upstream's response exceeds the size limit."

    def __init__(self, cause: str) -> None:
        super().__init__(cause, sent=True)


class MalformedResponse(TransportError):
    text = "The upstream's response cannot be read."

    def __init__(self, cause: str) -> None:
        super().__init__(cause, sent=True)
