"""How does an integration reach its server: with the server's credentials, at the origin they were entered for."""

from __future__ import annotations

from collections.abc import Mapping

from api.kit.egress.policy import CheckedUrl, EgressPolicy, Origin
from api.kit.http_client.client import Exchange, HttpClient
from api.kit.http_client.response import ResponseLimits
from api.upstream_http import checked_url, to_upstream_error
from integrations import UnreadableResponse

LASTING_SECONDS = 3600.0
LIMITS = ResponseLimits(wire=4 * 1024 * 1024, decoded=4 * 1024 * 1024)


class UpstreamHttp:
    """What integrations know as `Http`. `pool` stands for one credential of one workspace."""

    def __init__(
        self,
        outbound: HttpClient,
        egress: EgressPolicy,
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
        self._checked: tuple[str, CheckedUrl] | None = None  # nearly always it is the same URL again

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        lasting: bool = False,
        within: float | None = None,
    ) -> Exchange:
        seconds = LASTING_SECONDS if lasting else self._seconds
        return self._outbound.request(
            method,
            self._target(url),
            {**headers, **self._credentials},
            body,
            pool=self._pool,
            seconds=seconds if within is None else min(seconds, within),
            limits=LIMITS,
            raised=to_upstream_error,
        )

    def _target(self, url: str) -> CheckedUrl:
        """Only where the credentials belong. Where the name leads is judged at each connection."""
        if self._checked is None or self._checked[0] != url:
            self._checked = (url, self._check(url))
        return self._checked[1]

    def _check(self, url: str) -> CheckedUrl:
        target = checked_url(url, self._egress)
        if target.origin != self._origin:
            raise UnreadableResponse("The server points to another origin.", sent=False)
        return target
