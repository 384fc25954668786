"""How does an integration reach its server: with the server's credentials, at the origin they were entered for."""

from __future__ import annotations

from collections.abc import Mapping

from api.kit import wire_errors
from api.kit.outbound import Egress, Origin, Target, UrlRefused, check_text
from api.kit.wire import Exchange, Outbound
from api.kit.wire_replies import Limits
from integrations import TimedOut, Unreachable, Unreadable, UpstreamError

LASTING_SECONDS = 3600.0
LIMITS = Limits(wire=4 * 1024 * 1024, decoded=4 * 1024 * 1024)


class Upstream:
    """What integrations know as `Http`. `pool` stands for one credential of one workspace."""

    def __init__(
        self,
        outbound: Outbound,
        egress: Egress,
        origin: Origin,
        credentials: Mapping[str, str],
        *,
        pool: str,
        seconds: float,
    ) -> None:
        self._outbound = outbound
        self._egress = egress
        self._origin = origin
        self._credentials = credentials
        self._pool = pool
        self._seconds = seconds
        self._checked: tuple[str, Target] | None = None  # nearly always it is the same URL again

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> Exchange:
        return self._outbound.request(
            method,
            self._target(url),
            {**headers, **self._credentials},
            body,
            pool=self._pool,
            seconds=LASTING_SECONDS if lasting else self._seconds,
            limits=LIMITS,
            raised=as_theirs,
        )

    def _target(self, url: str) -> Target:
        """Only where the credentials belong. Where the name leads is judged at each connection."""
        if self._checked is None or self._checked[0] != url:
            self._checked = (url, self._check(url))
        return self._checked[1]

    def _check(self, url: str) -> Target:
        try:
            target = check_text(url, self._egress)
        except UrlRefused as refused:
            raise Unreachable(wire_errors.Unreachable.text, sent=False) from refused
        if target.origin != self._origin:
            raise Unreadable("The server points to another origin.", sent=False)
        return target


def as_theirs(error: wire_errors.WireError) -> UpstreamError:
    """Integrations know nothing of how the wire works, so they have errors of their own."""
    match error:
        case wire_errors.Unreachable():
            return Unreachable(str(error), sent=error.sent)
        case wire_errors.TimedOut():
            return TimedOut(str(error), sent=error.sent)
        case _:
            return Unreadable(str(error), sent=error.sent)
