"""How do integrations get to elsewhere? To where the guard admits, and with errors of their own for the wire's."""

from __future__ import annotations

from api.kit.egress.policy import CheckedUrl, EgressPolicy, UrlRefused, check_url
from api.kit.http_client import errors
from integrations import Unreachable, UnreadableResponse, UpstreamError, UpstreamTimeout


def checked_url(url: str, egress: EgressPolicy) -> CheckedUrl:
    try:
        return check_url(url, egress)
    except UrlRefused as refused:
        raise Unreachable(errors.ConnectionFailed.text, sent=False) from refused


def to_upstream_error(error: errors.TransportError) -> UpstreamError:
    """Integrations know nothing of how the wire works."""
    match error:
        case errors.ConnectionFailed():
            return Unreachable(str(error), sent=error.sent)
        case errors.TransportTimeout():
            return UpstreamTimeout(str(error), sent=error.sent)
        case _:
            return UnreadableResponse(str(error), sent=error.sent)
