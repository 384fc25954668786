"""How does an integration reach its server: with the server's credentials, at the origin they were entered for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from api.kit import wire_errors
from api.kit.outbound import Egress, Origin, UrlRefused, check_text
from api.kit.wire import Outbound
from api.kit.wire_replies import Limits, Reply
from integrations import TimedOut, Unreachable, Unreadable

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

    @asynccontextmanager
    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> AsyncIterator[UpstreamReply]:
        try:
            target = check_text(url, self._egress)
        except UrlRefused as refused:
            raise Unreachable(wire_errors.Unreachable.text, sent=False) from refused
        if target.origin != self._origin:
            raise Unreadable("The server points to another origin.", sent=False)
        seconds = LASTING_SECONDS if lasting else self._seconds
        sent = {**headers, **self._credentials}
        with translated():
            async with self._outbound.request(
                method, target, sent, body, pool=self._pool, seconds=seconds, limits=LIMITS
            ) as reply:
                yield UpstreamReply(reply)


class UpstreamReply:
    def __init__(self, reply: Reply) -> None:
        self.status = reply.status
        self.reason = reply.reason
        self.headers = reply.headers
        self._reply = reply

    async def read(self) -> bytes:
        with translated():
            return await self._reply.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        with translated():
            async for chunk in self._reply.chunks():
                yield chunk


@contextmanager
def translated() -> Iterator[None]:
    """Integrations know nothing of how the wire works, so they have errors of their own."""
    try:
        yield
    except wire_errors.Unreachable as error:
        raise Unreachable(str(error), sent=error.sent) from error
    except wire_errors.TimedOut as error:
        raise TimedOut(str(error), sent=error.sent) from error
    except wire_errors.WireError as error:
        raise Unreadable(str(error), sent=error.sent) from error
