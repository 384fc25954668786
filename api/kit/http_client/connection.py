"""One HTTP/1.1 connection: a request at a time, within a time limit."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from typing import cast

from api.kit.deadline import Deadline, Ticker
from api.kit.http_client.response import ResponseLimits
from api.kit.http_client.response_parser import ResponseParser
from api.kit.transport_errors import ConnectionFailed, TransportTimeout
from api.kit.turns import turns_of_loop

PIECE = 65_536
"""A longer body is written in pieces of this size, so that other tasks run in between."""
PARSED_PIECE = 32_768
"""More that arrives at once is parsed in pieces of this size."""
MANY_PARTS = 256
"""After a piece with more chunks, everything else runs first."""
MAX_HELD = 262_144
"""The most that is buffered of a body that arrives faster than it is read."""


class HttpConnection(asyncio.Protocol):
    """Carries one request at a time. Bytes that arrive between requests close it."""

    __slots__ = (
        *("_answer", "_arrivals", "_deadline", "_end", "_is_full", "_loop", "_on_lost", "_ticker", "_transport"),
        *("_unparsed", "_unsent", "gone", "idle_since"),
    )

    def __init__(self, ticker: Ticker, on_lost: Callable[[HttpConnection], None]) -> None:
        loop = ticker.loop
        self.idle_since = 0.0
        self.gone: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._ticker = ticker
        self._on_lost = on_lost
        self._arrivals = select.poll()
        self._transport: asyncio.Transport | None = None
        self._answer: ResponseParser | None = None
        self._unparsed = b""
        self._end: tuple[Exception | None] | None = None
        """How the connection ended while not all was parsed."""
        self._unsent = memoryview(b"")
        self._is_full = False

    @property
    def is_usable(self) -> bool:
        """Whether a request may be sent. What arrived before it is no response, even if it has not been read yet."""
        transport = self._transport
        return transport is not None and not transport.is_closing() and not self._arrivals.poll(0)

    def send(self, method: str, head: bytes, body: bytes, limits: ResponseLimits, deadline: Deadline) -> ResponseParser:
        """From here on the upstream may have received the request."""
        transport = self._transport
        if transport is None or transport.is_closing():
            raise ConnectionFailed("closed before it was used", sent=False)
        answer = self._answer = ResponseParser(self._loop, limits, is_bodiless=method == "HEAD")
        self._deadline = deadline
        self._ticker.add(self)
        if len(body) <= PIECE:
            transport.write(head + body)
        else:
            transport.write(head)
            self._unsent = memoryview(body)
            self._write_on()
        return answer

    def release(self) -> bool:
        """Whether another request may follow. If not, the connection is closed without draining or flushing."""
        answer, self._answer = self._answer, None
        self._ticker.remove(self)
        if answer is not None:
            answer.leave()
            is_idle = not (self._unparsed or self._unsent or self._is_full)
            if is_idle and answer.is_reusable and self._transport is not None and not self._transport.is_closing():
                return True
        self.abort()
        return False

    def abort(self) -> None:
        """`close` would first wait until the upstream has read everything that is still to be written."""
        if self._answer is not None:
            self._answer.fail(ConnectionFailed("cut off by us", sent=True))
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._arrivals.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            self.abort()
            return
        if self._unparsed or (len(data) > PARSED_PIECE and answer.may_be_chunked):
            self._unparsed += data
            self._parse_on()
        else:
            self._feed(answer, data)

    def _feed(self, answer: ResponseParser, data: bytes) -> None:
        answer.feed(data)
        if answer.is_complete:
            self._ticker.remove(self)
        elif answer.error is not None:
            self.abort()
        elif answer.held > MAX_HELD and answer.eased is None and self._transport is not None:
            self._transport.pause_reading()
            answer.eased = self._read_on

    def _parse_on(self, _turn: object = None) -> None:
        """Of many small chunks, a piece in each turn: all connections share the turns."""
        while (answer := self._answer) is not None and answer.error is None and self._unparsed:
            parts = answer.parts
            piece, self._unparsed = self._unparsed[:PARSED_PIECE], self._unparsed[PARSED_PIECE:]
            self._feed(answer, piece)
            if self._unparsed and answer.parts - parts > MANY_PARTS:
                if self._transport is not None:
                    self._transport.pause_reading()
                turns_of_loop().take().add_done_callback(self._parse_on)
                return
        self._unparsed = b""
        if answer is not None:
            self._parsed(answer)

    def _parsed(self, answer: ResponseParser) -> None:
        if self._end is not None:
            answer.connection_closed(self._end[0])
        elif answer.eased is None:
            self._read_on()

    def _finish(self, error: Exception | None) -> None:
        if self._unparsed:
            self._end = self._end or (error,)
        elif self._answer is not None:
            self._answer.connection_closed(error)

    def eof_received(self) -> None:
        self._finish(None)
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._unsent = memoryview(b"")
        self._ticker.remove(self)
        self._finish(error)
        self._on_lost(self)
        self.gone.set_result(None)

    def on_tick(self, now: float) -> None:
        if not self._deadline.has_passed(now):
            return
        self._ticker.remove(self)
        if self._answer is not None:
            self._answer.fail(TransportTimeout("no answer, or no end of it", sent=True))
        self.abort()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._write_on()

    def _write_on(self) -> None:
        if self._unsent and not self._is_full and self._transport is not None:
            piece, self._unsent = self._unsent[:PIECE], self._unsent[PIECE:]
            self._transport.write(piece)
            self._loop.call_soon(self._write_on)

    def _read_on(self) -> None:
        if self._transport is not None and not self._transport.is_closing() and not self._unparsed:
            self._transport.resume_reading()
