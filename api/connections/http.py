"""How is an authorization server reached? At any address that the guard admits, with nothing of a caller's own."""

from __future__ import annotations

from collections.abc import Mapping

from api.kit.egress.policy import EgressPolicy
from api.kit.http_client.client import Exchange, HttpClient
from api.kit.http_client.response import ResponseLimits
from api.upstream_http import checked_url, to_upstream_error

SECONDS = 10.0
LIMITS = ResponseLimits(wire=256 * 1024, decoded=256 * 1024)


class AuthServerHttp:
    """What integrations know as `Http`. Connections are shared by who gives the same `pool`."""

    def __init__(self, outbound: HttpClient, egress: EgressPolicy, pool: str) -> None:
        self._outbound = outbound
        self._egress = egress
        self._pool = pool

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> Exchange:
        del lasting  # no authorization server answers in a stream that stays
        target = checked_url(url, self._egress)
        return self._outbound.request(
            method, target, headers, body, pool=self._pool, seconds=SECONDS, limits=LIMITS, raised=to_upstream_error
        )
