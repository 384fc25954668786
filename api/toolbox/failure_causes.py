"""The causes of failures, for who manages a server and for the operator's log. Agents read shorter texts."""

from __future__ import annotations

from collections.abc import Mapping

from api.kit.transport_errors import Fault
from integrations import (
    FailureCause,
    RpcErrorResponse,
    StatusRefused,
    Unreachable,
    UnreadableResponse,
    UpstreamError,
    UpstreamTimeout,
)

CIRCUIT_OPEN = FailureCause("circuit_open")
NO_RESPONSE = FailureCause(Fault.READ_TIMEOUT.value, Fault.READ_TIMEOUT.explanation)
"""A connection that cannot be made fails before the time for a call or a list has passed."""
_USUAL: Mapping[type[Exception], FailureCause] = {
    UnreadableResponse: FailureCause("response_not_usable"),
    Unreachable: FailureCause(Fault.CONNECTION_LOST.value, Fault.CONNECTION_LOST.explanation),
    UpstreamTimeout: NO_RESPONSE,
    TimeoutError: NO_RESPONSE,
}
MAX_LINKS = 8


def cause_of(error: BaseException, word: str = "unknown") -> FailureCause:
    """`word` is for an error that no request to an upstream has caused."""
    match error:
        case StatusRefused(status=status):
            return FailureCause(f"status_{status}")
        case RpcErrorResponse(code=code):
            return FailureCause(f"rpc_error_{code}")
        case UpstreamError(cause=FailureCause() as cause):
            return cause
        case UpstreamError() | TimeoutError():
            return next((cause for kind, cause in _USUAL.items() if isinstance(error, kind)), FailureCause(word))
        case _:
            upstream_error = _upstream_error_behind(error)
            return FailureCause(word) if upstream_error is None else cause_of(upstream_error)


def _upstream_error_behind(error: BaseException) -> UpstreamError | None:
    """The error of the request that another error was raised for."""
    link: BaseException | None = error
    for _ in range(MAX_LINKS):
        if link is None or isinstance(link, UpstreamError):
            return link
        link = link.__cause__ or link.__context__
    return None
