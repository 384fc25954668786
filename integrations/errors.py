"""Failures of a request to an upstream. Their texts hold nothing that the caller may not see.

UpstreamError
├── Unreachable         no response: unknown name, no connection, connection lost; `cause` tells them apart
├── UpstreamTimeout     the time limit of the request has passed
├── StatusRefused       a response that is not a success: its status and reason
├── UnreadableResponse  a response that violates the protocol or exceeds the size limit
├── RpcErrorResponse    a JSON-RPC error: the upstream understood the request and refused it
└── ArgumentRefused     an argument that cannot be sent; nothing was
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FailureCause:
    """Why a request got no usable response."""

    word: str
    """For logs and programs."""
    explanation: str = ""
    """For who manages the server: what to check. It names no address."""
    detail: str = ""
    """For the operator's log."""


class UpstreamError(Exception):
    """`sent`: whether the upstream may have received the request; if so, it is never sent again."""

    def __init__(self, text: str, *, sent: bool = True, cause: FailureCause | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.sent = sent
        self.cause = cause


class Unreachable(UpstreamError):
    pass


class UpstreamTimeout(UpstreamError):
    pass


class StatusRefused(UpstreamError):
    def __init__(self, status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"{status} {reason}".strip())
        self.status = status
        self.reason = reason
        self.headers = headers or {}


class UnreadableResponse(UpstreamError):
    pass


class RpcErrorResponse(UpstreamError):
    """Its text is `message`, followed by ` - ` and the data, if any."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message if data in (None, "") else f"{message} - {data}")
        self.code = code
        self.message = message
        self.data = data


class ArgumentRefused(UpstreamError):
    """Its text says which argument, and what to send instead."""

    def __init__(self, text: str) -> None:
        super().__init__(text, sent=False)
