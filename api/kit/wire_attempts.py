"""What becomes of one request: where may it go, where did it go, and until when may it take."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from contextvars import ContextVar
from io import BytesIO

import aiohttp
from aiohttp.connector import AddrInfoType, Connection
from aiohttp.http_exceptions import LineTooLong
from yarl import URL

from api.kit.outbound import Egress, Target
from api.kit.resolving import Names, judged
from api.kit.wire_bounds import Flooded
from api.kit.wire_errors import Garbled, TimedOut, TooMuch, Unreachable, WireError
from api.kit.wire_replies import Limits, Reply

MAX_DIALS = 4
MAX_ADMITTED = 64
MAX_IN_ONE_GO = 1_000_000
FIRST_FINAL_STATUS = 200


class Attempt:
    """`admitted` are addresses that were judged for the same name before: what the judgement rests on never changes."""

    __slots__ = ("_admitted", "_deadline", "_dials", "_egress", "_names", "_target", "_transport")

    def __init__(self, target: Target, egress: Egress, names: Names, deadline: float, admitted: set[str]) -> None:
        self._target = target
        self._egress = egress
        self._names = names
        self._deadline = deadline
        self._admitted = admitted
        self._dials = 0
        self._transport: asyncio.Transport | None = None

    @property
    def sent(self) -> bool:
        return self._transport is not None

    def check_literal(self) -> None:
        if self._target.address is not None:
            self._admit(self._target.host)

    async def open(
        self, session: aiohttp.ClientSession, method: str, url: URL, headers: Mapping[str, str], body: bytes
    ) -> aiohttp.ClientResponse:
        token, answer = current.set(self), None
        try:
            async with asyncio.timeout_at(self._deadline):
                answer = await session.request(method, url, headers=headers, data=_payload(body), allow_redirects=False)
        except TimeoutError:
            raise TimedOut("no answer", sent=self.sent) from None
        finally:
            current.reset(token)
            if answer is None:  # a cancelled request too leaves nothing behind
                self._abort()
        return answer

    def reply(self, answer: aiohttp.ClientResponse, limits: Limits) -> Reply:
        size = sum(len(name) + len(value) + 4 for name, value in answer.raw_headers)
        if size > limits.head:
            raise TooMuch(f"{size} bytes of head")
        if answer.status < FIRST_FINAL_STATUS:
            raise Garbled(f"switches protocols with {answer.status}")
        headers: dict[str, str] = {}
        for name, value in answer.headers.items():
            known = headers.get(name.lower())
            headers[name.lower()] = value if known is None else f"{known}, {value}"

        async def more() -> bytes:
            return await self._more(answer.content)

        return Reply(answer.status, answer.reason or "", headers, more, limits)

    def leave(self, answer: aiohttp.ClientResponse) -> None:
        """A body that was not read to its end is not drained: the connection ends."""
        if answer.connection is not None:
            self._abort()
        answer.close()

    async def resolve(self) -> list[str]:
        addresses = await self._names.addresses(self._target.host, self._egress)
        return [str(address) for address in addresses[:MAX_DIALS]]

    def dial(self, address: AddrInfoType) -> socket.socket:
        """Every connection begins here, with an address that is about to be dialled, resolved or not."""
        judged(self._target.host, str(address[4][0]), self._egress)
        self._dials += 1
        if self._dials > MAX_DIALS:  # aiohttp dials all but the first again
            raise OSError("dialled often enough")
        return socket.socket(address[0], address[1], address[2])

    def connected(self, connection: Connection) -> None:
        """Nothing is written before this."""
        transport = connection.transport
        peer = transport.get_extra_info("peername") if transport else None
        if not peer:
            raise Unreachable("closed before it was used", sent=False)
        self._admit(peer[0])
        self._transport = transport

    def _admit(self, address: str) -> None:
        if address in self._admitted:
            return
        judged(self._target.host, address, self._egress)
        if len(self._admitted) >= MAX_ADMITTED:
            self._admitted.clear()
        self._admitted.add(address)

    def failed(self, error: Exception) -> WireError:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, LineTooLong | Flooded):
                return TooMuch(type(cause).__name__)
            cause = cause.__cause__
        if isinstance(error, aiohttp.ClientResponseError):
            return Garbled("the answer is no HTTP")
        return Unreachable(type(error).__name__, sent=self.sent)

    async def _more(self, content: aiohttp.StreamReader) -> bytes:
        try:
            if content.is_eof():  # all of it is here: most answers come in one piece, and a time limit costs as much
                return content.read_nowait(-1)
            async with asyncio.timeout_at(self._deadline):
                return await content.readany()
        except TimeoutError:
            raise TimedOut("the body did not end", sent=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise self.failed(error) from None

    def _abort(self) -> None:
        """`close` would first wait until the upstream has read what is still to be written."""
        if self._transport is not None:
            self._transport.abort()


def _payload(body: bytes) -> bytes | BytesIO | None:
    """aiohttp writes bytes in one go, which for many of them holds up everybody else."""
    return BytesIO(body) if len(body) > MAX_IN_ONE_GO else body or None


current: ContextVar[Attempt] = ContextVar("current")
"""For what aiohttp calls back while it connects: it hands on nothing of ours."""
