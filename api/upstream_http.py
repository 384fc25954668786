"""How do integrations get to elsewhere? To where the guard admits, and with errors of their own for the wire's."""

from __future__ import annotations

from api.kit.egress.policy import Egress, Target, UrlRefused, check_text
from api.kit.http_client import errors
from integrations import TimedOut, Unreachable, UnreadableResponse, UpstreamError


def target_of(url: str, egress: Egress) -> Target:
    try:
        return check_text(url, egress)
    except UrlRefused as refused:
        raise Unreachable(errors.Unreachable.text, sent=False) from refused


def as_theirs(error: errors.WireError) -> UpstreamError:
    """Integrations know nothing of how the wire works."""
    match error:
        case errors.Unreachable():
            return Unreachable(str(error), sent=error.sent)
        case errors.TimedOut():
            return TimedOut(str(error), sent=error.sent)
        case _:
            return UnreadableResponse(str(error), sent=error.sent)
