"""How does an integration reach its server: with the server's credentials, at the origin they were entered for."""

from __future__ import annotations

from collections.abc import Mapping

from api.kit.egress.policy import Egress, Origin, Target
from api.kit.http_client.client import Exchange, Outbound
from api.kit.http_client.response import Limits
from api.upstream_http import as_theirs, target_of
from integrations import UnreadableResponse

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
            raised=as_theirs,
        )

    def _target(self, url: str) -> Target:
        """Only where the credentials belong. Where the name leads is judged at each connection."""
        if self._checked is None or self._checked[0] != url:
            self._checked = (url, self._check(url))
        return self._checked[1]

    def _check(self, url: str) -> Target:
        target = target_of(url, self._egress)
        if target.origin != self._origin:
            raise UnreadableResponse("The server points to another origin.", sent=False)
        return target
