"""How does a request get to an upstream and its answer back: the only place that makes connections to elsewhere.

Each request has one deadline, from the lookup of the name to the last byte of the body. A connection goes to an address
that was judged a moment before, and carries requests with one credential alone.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import AddrInfoType, Connection
from yarl import URL

from api.kit.outbound import Egress, Origin, Target
from api.kit.resolving import Names
from api.kit.wire_attempts import Attempt, current
from api.kit.wire_bounds import bounded
from api.kit.wire_errors import Denied
from api.kit.wire_replies import Limits, Reply

MAX_POOLS = 256
MAX_URLS = 1024
MAX_CONNECTIONS = 32
"""Of one pool."""
IDLE_SECONDS = 4.0
"""Less than Node's five: a request on a connection that the upstream closes meanwhile is lost, and not repeated."""
READ_SIZE = 65_536
MAX_FIELD = 16_384
MAX_FIELDS = 128
NO_TIME_LIMIT = aiohttp.ClientTimeout(total=None, sock_connect=None)  # ours covers more
NOT_THEIRS = frozenset(
    {
        *("host", "connection", "keep-alive", "content-length", "transfer-encoding", "te", "trailer", "upgrade"),
        *("expect", "accept-encoding", "proxy-authorization", "proxy-connection"),
    }
)
"""What belongs to the connection, and is said here and not by whoever asks."""


def public_trust() -> ssl.SSLContext:
    """The certificates that OpenSSL was built to look for. `SSL_CERT_FILE` and `SSLKEYLOGFILE` change nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()
    file, folder = Path(paths.openssl_cafile), Path(paths.openssl_capath)
    if file.is_file() or folder.is_dir():
        context.load_verify_locations(file if file.is_file() else None, folder if folder.is_dir() else None)
    else:
        context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    return context


@dataclass(slots=True)
class _Pool:
    """Connections to one origin with one credential."""

    session: aiohttp.ClientSession
    busy: int = 0
    admitted: set[str] = field(default_factory=set)


class Outbound:
    """One for each process, made in its event loop."""

    def __init__(
        self,
        egress: Egress,
        *,
        names: Names | None = None,
        trust: ssl.SSLContext | None = None,
        max_pools: int = MAX_POOLS,
    ) -> None:
        self._egress = egress
        self._names = names or Names()
        self._trust = trust or public_trust()
        self._max_pools = max_pools
        self._pools: OrderedDict[tuple[Origin, str], _Pool] = OrderedDict()

    def request(
        self,
        method: str,
        target: Target,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        pool: str,
        seconds: float,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
    ) -> Exchange:
        """`pool`: who gives the same one may share connections, so it stands for one credential of one workspace."""
        deadline = asyncio.get_running_loop().time() + seconds
        place = self._place(target.origin, pool)
        attempt = Attempt(target, self._egress, self._names, deadline, place.admitted)
        return Exchange(self, place, attempt, Sent(method, target, headers, body), limits)

    async def close(self) -> None:
        while self._pools:
            _, pool = self._pools.popitem()
            await pool.session.close()
        self._names.close()

    def _place(self, origin: Origin, pool: str) -> _Pool:
        found = self._pools.get((origin, pool))
        if found is None:
            found = self._pools[origin, pool] = _Pool(_session(self._trust))
        self._pools.move_to_end((origin, pool))
        return found

    @property
    def surplus(self) -> int:
        return len(self._pools) - self._max_pools

    async def close_surplus(self) -> None:
        idle = [key for key, pool in self._pools.items() if not pool.busy][: max(self.surplus, 0)]
        for pool in [self._pools.pop(key) for key in idle]:
            await pool.session.close()


class Sent(NamedTuple):
    method: str
    target: Target
    headers: Mapping[str, str]
    body: bytes


class Exchange:
    """One request and its answer, between entering and leaving. No generator: that costs several times as much."""

    __slots__ = ("_answer", "_attempt", "_limits", "_outbound", "_place", "_sent")

    def __init__(self, outbound: Outbound, place: _Pool, attempt: Attempt, sent: Sent, limits: Limits) -> None:
        self._outbound = outbound
        self._place = place
        self._attempt = attempt
        self._sent = sent
        self._limits = limits
        self._answer: aiohttp.ClientResponse | None = None

    async def __aenter__(self) -> Reply:
        attempt, (method, target, headers, body) = self._attempt, self._sent
        self._place.busy += 1
        reply = None
        try:
            attempt.check_literal()
            url, sent = _url(target), _sent_headers(target, headers)
            self._answer = await attempt.open(self._place.session, method, url, sent, body)
            reply = attempt.reply(self._answer, self._limits)
        finally:
            if reply is None:
                await self.__aexit__()
        return reply

    async def __aexit__(self, *_: object) -> None:
        try:
            if self._answer is not None:
                self._attempt.leave(self._answer)
        finally:
            self._place.busy -= 1
            if self._outbound.surplus > 0:
                await self._outbound.close_surplus()


class _Request(aiohttp.ClientRequest):
    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        current.get().connected(conn)
        return await super().send(conn)


class _Resolver(AbstractResolver):
    """Asked once for each connection to a name; for an address never."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in await current.get().resolve()
        ]

    async def close(self) -> None:
        pass


def _dial(address: AddrInfoType) -> socket.socket:
    return current.get().dial(address)


async def _once(request: aiohttp.ClientRequest, handler: Any) -> aiohttp.ClientResponse:
    """aiohttp sends some requests again after its own errors; after others it does not."""
    try:
        answer: aiohttp.ClientResponse = await handler(request)
    except (aiohttp.ClientError, OSError) as error:
        raise current.get().failed(error) from None
    return answer


def _session(trust: ssl.SSLContext) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        ssl=trust,
        resolver=_Resolver(),
        use_dns_cache=False,
        socket_factory=_dial,
        limit=MAX_CONNECTIONS,
        keepalive_timeout=IDLE_SECONDS,
    )
    return aiohttp.ClientSession(
        connector=bounded(connector),
        request_class=_Request,
        middlewares=(_once,),
        timeout=NO_TIME_LIMIT,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
        read_bufsize=READ_SIZE,
        max_line_size=MAX_FIELD,
        max_field_size=MAX_FIELD,
        max_headers=MAX_FIELDS,
    )


@lru_cache(MAX_URLS)
def _url(target: Target) -> URL:
    """Taken apart again by another parser, which has to agree."""
    url = URL(target.wire_url, encoded=True)
    parts = (url.scheme, url.raw_host, url.port)
    if parts != target.origin or url.raw_path_qs not in (target.path, target.path.removesuffix("?")):
        raise Denied(f"read in two ways: {target.origin}")
    return url


def _sent_headers(target: Target, headers: Mapping[str, str]) -> dict[str, str]:
    theirs = {name: value for name, value in headers.items() if name.lower() not in NOT_THEIRS}
    return {"Host": target.authority, "Accept-Encoding": "identity", **theirs}
