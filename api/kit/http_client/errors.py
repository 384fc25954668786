"""What can go wrong on the wire, as far as whoever asked may know.

TransportError
├── Unreachable    nobody answered: no such name, no connection, cut off
│   └── Denied     nobody was asked: the address is not one to go to. Reads like any other Unreachable
├── TransportTimeout       the time for the request was over
├── ResponseTooLarge        the answer is larger than is taken in
└── Garbled        the answer is no HTTP, or encoded as nobody asked for

The text is one for each class, so that no answer tells what stands inside a network. `cause` is for the operator's log.
"""

from __future__ import annotations

from typing import ClassVar


class TransportError(Exception):
    """`sent`: whether the upstream may have received the request. Then it is never sent again."""

    text: ClassVar[str]

    def __init__(self, cause: str, *, sent: bool) -> None:
        super().__init__(self.text)
        self.cause = cause
        self.sent = sent


class ConnectFailed(TransportError):
    text = "The upstream could not be reached."


class AddressBlocked(ConnectFailed):
    def __init__(self, cause: str) -> None:
        super().__init__(cause, sent=False)


class TransportTimeout(TransportError):
    text = "The upstream did not answer in time."


class ResponseTooLarge(TransportError):
    text = "The upstream's answer is larger than is taken in."

    def __init__(self, cause: str) -> None:
        super().__init__(cause, sent=True)


class MalformedResponse(TransportError):
    text = "The upstream's answer cannot be read."

    def __init__(self, cause: str) -> None:
        super().__init__(cause, sent=True)
