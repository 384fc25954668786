"""What can go wrong when an upstream is asked, as far as whoever asked may know.

UpstreamError
├── Unreachable         nobody answered: no such name, no connection, cut off. One text for all of it
├── UpstreamTimeout     the time for the request was over
├── StatusRefused       an answer that is no success: its status and reason
├── UnreadableResponse  an answer that is not what the protocol says, or more than is taken in
└── RpcErrorResponse    a JSON-RPC error: the upstream understood and said no
"""

from __future__ import annotations


class UpstreamError(Exception):
    """`sent`: whether the upstream may have received the request. Then it is never sent again."""

    def __init__(self, text: str, *, sent: bool = True) -> None:
        super().__init__(text)
        self.text = text
        self.sent = sent


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
    """`message`, then ` - ` and the data where there are any."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message if data in (None, "") else f"{message} - {data}")
        self.code = code
        self.message = message
        self.data = data
