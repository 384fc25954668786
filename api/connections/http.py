"""How is an authorization server reached? At any address that the guard admits, with nothing of a caller's own."""

from __future__ import annotations

from collections.abc import Mapping

from api.kit.egress.policy import Egress
from api.kit.http_client.client import Exchange, Outbound
from api.kit.http_client.response import Limits
from api.upstream_http import as_theirs, target_of

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
        target = target_of(url, self._egress)
        return self._outbound.request(
            method, target, headers, body, pool=self._pool, seconds=SECONDS, limits=LIMITS, raised=as_theirs
        )
