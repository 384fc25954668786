"""uvicorn's protocol with limits on what needs no API key: heads, chunks, idle connections and unread responses."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.errors import PROBLEM_TYPE, AppError, BadRequest, ServiceUnavailable, problem_body
from api.http.server.corked_transport import CorkedTransport
from api.http.server.send_watch import SendWatch

MAX_HEAD_BYTES = 65_536
MAX_WAITING_REQUESTS = 16
FREE_CHUNKS = 4000
LEAST_CHUNK_BYTES = 64
"""On average, beyond the free chunks. A chunk costs a microsecond, whatever its size."""
COUNTED_BYTES = 1_048_576
"""No more of a body than this earns chunks: what is longer is read only to be refused."""
CHUNKS_OF_A_TURN = 1000
"""After so many, a connection reads once in a turn of the loop, instead of as long as there is more."""
TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nCache-Control: no-store\r\n"
    b"Connection: close\r\n\r\n"
)


TOO_MANY_CHUNKS = "The body has too many small chunks. Send larger ones, or the body with a Content-Length."
TOO_MANY_CONNECTIONS = "This process has as many connections as it accepts. Try again shortly."


ON_SHUTDOWN = "on_shutdown"
"""The key in a request's state under which a response that would go on for long keeps what ends it."""


class TooManyAtOnce(Exception):
    """A client sent more pipelined requests than allowed. The connection is closed."""


class TooManyChunks(Exception):
    """The chunks of a body are many and small. The connection is closed."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """Counts the bytes of a head until it is complete, and the bytes after a body.

    Between two requests only the next head may arrive, within `head_seconds` from the first byte, or the rest of a body
    that was answered before its end. uvicorn alone would wait for ever after a single byte.

    A head that arrives in one piece is short enough. Trailers are dropped: uvicorn would add them to the request's
    headers, which have been checked by then, perhaps by a proxy that ignores trailers.

    The chunks of a body are counted, also after its answer: the connection is closed where they are many and small.
    """

    head_seconds = 10.0
    send_seconds = 30.0
    surplus_seconds = 1.0
    """How long a connection beyond the limit may take until it has sent something that can be answered."""
    max_connections: int | None = None

    _head_bytes = 0
    _head_is_complete = False
    _body_bytes = 0
    _chunks = 0
    _patience: asyncio.TimerHandle | None = None
    _is_surplus = False

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **named)
        # uvicorn would count running requests too, and answer in plain text.
        self._most = self.max_connections or self.limit_concurrency
        self.limit_concurrency = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._sending = SendWatch(transport, self.loop, self.send_seconds)
        super().connection_made(CorkedTransport(transport, self.loop, self.tasks, self._sending))  # type: ignore[arg-type]
        self._is_surplus = self._most is not None and len(self.connections) > self._most
        self._wait(self.surplus_seconds if self._is_surplus else self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        self._sending.end()
        super().connection_lost(exc)
        self.pipeline.clear()

    def shutdown(self) -> None:
        super().shutdown()
        cycle = getattr(self, "cycle", None)  # absent before the first request, despite its type
        if cycle is not None and (end := cycle.scope["state"].get(ON_SHUTDOWN)):
            end()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._sending.begin()

    def data_received(self, data: bytes) -> None:
        if self._is_surplus:
            self._refuse_connection()
            return
        self._head_bytes += len(data)
        super().data_received(data)
        if self._chunks > CHUNKS_OF_A_TURN:
            self._pause_for_a_turn()
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse()
        elif self._head_is_complete and not self.cycle.response_complete:
            if self._patience is not None:
                self._wait_no_more()
        elif self._patience is None:
            self._wait(self.head_seconds)

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_WAITING_REQUESTS:
            raise TooManyAtOnce
        self._head_is_complete = False
        self._body_bytes = self._chunks = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_bytes, self._head_is_complete = 0, True
        super().on_headers_complete()
        self.headers = []  # collects trailers from now on

    def on_chunk_header(self) -> None:
        self._chunks += 1
        earned = min(self._body_bytes, COUNTED_BYTES) // LEAST_CHUNK_BYTES
        if self._chunks > FREE_CHUNKS + earned:
            self._refuse_body()
            raise TooManyChunks  # so that nothing of the rest is parsed

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        super().on_message_complete()

    def _pause_for_a_turn(self) -> None:
        if not self.flow.read_paused:
            self.flow.pause_reading()
            self.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        """Unless uvicorn would have paused too: for pipelined requests, and for a body that is not yet taken."""
        is_full = not self.cycle.response_complete and len(self.cycle.body) > HIGH_WATER_LIMIT
        if not (is_full or self.pipeline):
            self.flow.resume_reading()

    def _wait(self, seconds: float) -> None:
        self._patience = self.loop.call_later(seconds, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _refuse_connection(self) -> None:
        self.logger.warning("Too many connections.")
        self.transport.write(_problem(ServiceUnavailable(TOO_MANY_CONNECTIONS)))
        self.transport.close()

    def _refuse_body(self) -> None:
        if not (self.cycle.response_started or self.pipeline):  # otherwise it would be written into another response
            self.transport.write(_problem(BadRequest(TOO_MANY_CHUNKS)))
        self.transport.close()

    def _refuse(self) -> None:
        cycle = getattr(self, "cycle", None)  # absent before the first request, despite its type
        if cycle is None or cycle.response_complete:  # otherwise it would be written into a response
            self.transport.write(TOO_LONG)
        self.transport.close()


def _problem(error: AppError) -> bytes:
    body = problem_body(error)
    headers = {**error.headers, "Content-Type": PROBLEM_TYPE, "Content-Length": str(len(body))}
    lines = [f"{name}: {value}" for name, value in headers.items()]
    phrase = HTTPStatus(error.status).phrase
    head = [f"HTTP/1.1 {error.status} {phrase}", *lines, "Cache-Control: no-store", "Connection: close"]
    return "\r\n".join([*head, "", ""]).encode() + body
