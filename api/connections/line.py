"""How is an authorization server reached? At any address that the guard admits, with nothing of a caller's own."""

from __future__ import annotations

from collections.abc import Mapping

from api.kit import wire_errors
from api.kit.outbound import Egress, Target, UrlRefused, check_text
from api.kit.wire import Exchange, Outbound
from api.kit.wire_replies import Limits
from integrations import TimedOut, Unreachable, Unreadable, UpstreamError

SECONDS = 10.0
LIMITS = Limits(wire=256 * 1024, decoded=256 * 1024)


class Line:
    """What integrations know as `Http`. Connections are shared by who gives the same `pool`."""

    def __init__(self, outbound: Outbound, egress: Egress, pool: str) -> None:
        self._outbound = outbound
        self._egress = egress
        self._pool = pool

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> Exchange:
        del lasting  # no authorization server answers in a stream that stays
        target = self._target(url)
        return self._outbound.request(
            method, target, headers, body, pool=self._pool, seconds=SECONDS, limits=LIMITS, raised=as_theirs
        )

    def _target(self, url: str) -> Target:
        try:
            return check_text(url, self._egress)
        except UrlRefused as refused:
            raise Unreachable(wire_errors.Unreachable.text, sent=False) from refused


def as_theirs(error: wire_errors.WireError) -> UpstreamError:
    """Integrations know nothing of how the wire works, so they have errors of their own."""
    match error:
        case wire_errors.Unreachable():
            return Unreachable(str(error), sent=error.sent)
        case wire_errors.TimedOut():
            return TimedOut(str(error), sent=error.sent)
        case _:
            return Unreadable(str(error), sent=error.sent)
