"""Sends requests to other hosts: the only place that makes connections to them.

Each request has one deadline, from the lookup of the name to the last byte of the body. A connection goes to an address
that was judged a moment before, and carries requests with one credential alone. Nothing is ever sent twice.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from api.kit.deadline import Deadline
from api.kit.egress.policy import CheckedUrl, EgressPolicy
from api.kit.egress.resolver import Resolver
from api.kit.http_client.connection import HttpConnection
from api.kit.http_client.dialer import Dialer
from api.kit.http_client.pool import ConnectionPool, ConnectionPools
from api.kit.http_client.request_head import encode_head
from api.kit.http_client.response import ErrorTranslator, Response, ResponseLimits
from api.kit.transport_errors import Fault, TransportError, TransportTimeout

MAX_POOLS = 256
USUAL = ResponseLimits()


def public_trust() -> ssl.SSLContext:
    """OpenSSL's default certificates. `SSL_CERT_FILE` and `SSLKEYLOGFILE` have no effect."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()
    file, folder = Path(paths.openssl_cafile), Path(paths.openssl_capath)
    if file.is_file() or folder.is_dir():
        context.load_verify_locations(file if file.is_file() else None, folder if folder.is_dir() else None)
    else:
        context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    return context


@cache
def _usual_trust() -> ssl.SSLContext:
    """Read once: there are more than a hundred certificates."""
    return public_trust()


class HttpClient:
    """One for each process, created in its event loop."""

    def __init__(
        self,
        egress: EgressPolicy,
        *,
        names: Resolver | None = None,
        trust: ssl.SSLContext | None = None,
        max_pools: int = MAX_POOLS,
    ) -> None:
        self._names = names or Resolver()
        self.trust = trust or _usual_trust()
        self._pools = ConnectionPools(Dialer(egress, self._names, self.trust), max_pools)

    def request(
        self,
        method: str,
        target: CheckedUrl,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        pool: str,
        seconds: float,
        limits: ResponseLimits = USUAL,
        translate: ErrorTranslator | None = None,
    ) -> Exchange:
        """`pool`: requests with the same one may share connections, so it stands for one credential of one workspace.

        `translate` makes the caller's error of each transport error.
        """
        return Exchange(self._pools, pool, method, target, headers, body, seconds, limits=limits, translate=translate)

    def usage(self) -> dict[str, float]:
        """Connections that are busy or idle, and requests that wait for one."""
        return self._pools.usage()

    async def close(self) -> None:
        await self._pools.close()


class Exchange:
    """One request and its response, as a context manager. A generator would cost several times as much."""

    __slots__ = (
        *(
            "_body",
            "_connection",
            "_deadline",
            "_headers",
            "_limits",
            "_method",
            "_name",
            "_pool",
            "_pools",
            "_translate",
        ),
        *("_target",),
    )

    def __init__(
        self,
        pools: ConnectionPools,
        name: str,
        method: str,
        target: CheckedUrl,
        headers: Mapping[str, str],
        body: bytes,
        seconds: float,
        *,
        limits: ResponseLimits,
        translate: ErrorTranslator | None,
    ) -> None:
        self._pools = pools
        self._name = name
        self._method = method
        self._target = target
        self._headers = headers
        self._body = body
        self._deadline = Deadline(pools.ticker, seconds)
        self._limits = limits
        self._translate = translate
        self._pool: ConnectionPool | None = None
        self._connection: HttpConnection | None = None

    async def __aenter__(self) -> Response:
        reply = None
        try:
            reply = await self._reply()
        except TransportError as error:
            if self._translate is None:
                raise
            raise self._translate(error) from error
        finally:
            if reply is None:  # a cancelled request leaves nothing behind either
                self._leave()
        return reply

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    async def _reply(self) -> Response:
        if self._deadline.remaining() <= 0:
            raise TransportTimeout("no time left", sent=False)
        pool = self._pool = self._pools.for_origin(self._target, self._name)
        written = encode_head(self._method, self._target.path, pool.fixed, self._headers, len(self._body))
        self._connection = connection = pool.take_idle() or await self._connect(pool)
        answer = connection.send(self._method, written, self._body, self._limits, self._deadline)
        await answer.head()
        return Response(answer, self._limits, self._translate, turns=self._pools.turns)

    async def _connect(self, pool: ConnectionPool) -> HttpConnection:
        try:
            with self._deadline.enforce():
                return await pool.connect(self._target, self._deadline)
        except TimeoutError:
            raise TransportTimeout("no free connection", sent=False, fault=Fault.CONNECTIONS_BUSY) from None

    def _leave(self) -> None:
        """A response that was not read to its end is not drained: the connection is closed."""
        connection, self._connection = self._connection, None
        if connection is not None and self._pool is not None:
            self._pool.release(connection if connection.release() else None)
        self._pools.trim()
