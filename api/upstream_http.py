"""The adapters of the integrations' `Http` port: requests to servers and to authorization servers.

Each reaches only what the egress policy allows, and raises the integrations' errors instead of the transport's.
"""

from __future__ import annotations

from collections.abc import Mapping

from api.kit import transport_errors
from api.kit.egress.policy import CheckedUrl, EgressPolicy, Origin, UrlRefused, check_url
from api.kit.http_client.client import Exchange, HttpClient
from api.kit.http_client.response import ENDLESS, ResponseLimits
from api.kit.transport_errors import Fault
from integrations import FailureCause, Unreachable, UnreadableResponse, UpstreamError, UpstreamTimeout

AUTH_SERVER_SECONDS = 10.0
AUTH_SERVER_LIMITS = ResponseLimits(wire=256 * 1024, decoded=256 * 1024)
LASTING_SECONDS = 3600.0
LIMITS = ResponseLimits(wire=4 * 1024 * 1024, decoded=4 * 1024 * 1024)


class UpstreamHttp:
    """Requests to one server, with its credentials and only at the origin they were entered for.

    Connections are shared within a `pool`, which is one credential of one workspace.
    """

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
        self._checked: tuple[str, CheckedUrl] | None = None  # nearly every request has the same URL

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
            limits=ENDLESS if lasting else LIMITS,
            translate=to_upstream_error,
        )

    def _target(self, url: str) -> CheckedUrl:
        """The URL is checked once; the addresses of its host are checked at each connection."""
        if self._checked is None or self._checked[0] != url:
            self._checked = (url, self._check(url))
        return self._checked[1]

    def _check(self, url: str) -> CheckedUrl:
        target = checked_url(url, self._egress)
        if target.origin != self._origin:
            raise UnreadableResponse("The server points to another origin.", sent=False)
        return target


class AuthServerHttp:
    """Requests to an authorization server, at any address that the policy allows and without credentials.

    Connections are shared within a `pool`.
    """

    def __init__(self, outbound: HttpClient, egress: EgressPolicy, pool: str) -> None:
        self._outbound = outbound
        self._egress = egress
        self._pool = pool

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> Exchange:
        del lasting  # no authorization server answers with a lasting stream
        return self._outbound.request(
            method,
            checked_url(url, self._egress),
            headers,
            body,
            pool=self._pool,
            seconds=AUTH_SERVER_SECONDS,
            limits=AUTH_SERVER_LIMITS,
            translate=to_upstream_error,
        )


def checked_url(url: str, egress: EgressPolicy) -> CheckedUrl:
    try:
        return check_url(url, egress)
    except UrlRefused as refused:
        raise url_refused(refused) from refused


def url_refused(refused: UrlRefused) -> Unreachable:
    """Where the egress policy has changed since the URL was stored."""
    return Unreachable(
        transport_errors.ConnectionFailed.text, sent=False, cause=_cause(Fault.EGRESS_REFUSED, refused.reason)
    )


def to_upstream_error(error: transport_errors.TransportError) -> UpstreamError:
    """The integrations' error for an error of the HTTP client, which they do not import."""
    match error:
        case transport_errors.ConnectionFailed():
            kind: type[UpstreamError] = Unreachable
        case transport_errors.TransportTimeout():
            kind = UpstreamTimeout
        case _:
            kind = UnreadableResponse
    return kind(str(error), sent=error.sent, cause=_cause(error.fault, error.cause))


def _cause(fault: Fault, detail: str) -> FailureCause:
    return FailureCause(fault.value, fault.explanation, detail)
