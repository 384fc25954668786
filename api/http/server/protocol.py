"""uvicorn's protocol with limits on the size and duration of request heads, which need no API key."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.http.server.corked_transport import CorkedTransport

MAX_HEAD_BYTES = 65_536
MAX_WAITING_REQUESTS = 16
TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nCache-Control: no-store\r\n"
    b"Connection: close\r\n\r\n"
)


ON_SHUTDOWN = "on_shutdown"
"""The key in a request's state under which a response that would go on for long keeps what ends it."""


class TooManyAtOnce(Exception):
    """A client sent more pipelined requests than allowed. The connection is closed."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """Counts the bytes of a head until it is complete, and the bytes after a body.

    A head that arrives in one piece is short enough. Trailers are dropped: uvicorn would add them to the request's
    headers, which have been checked by then, perhaps by a proxy that ignores trailers.
    """

    head_seconds = 10.0

    _head_bytes = 0
    _head_is_complete = False
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(CorkedTransport(transport, self.loop, self.tasks))  # type: ignore[arg-type]
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)
        self.pipeline.clear()

    def shutdown(self) -> None:
        super().shutdown()
        cycle = getattr(self, "cycle", None)  # absent before the first request, despite its type
        if cycle is not None and (end := cycle.scope["state"].get(ON_SHUTDOWN)):
            end()

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse()
        elif self._head_is_complete:
            if self._patience is not None:
                self._wait_no_more()
        elif self._patience is None:
            self._wait()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_WAITING_REQUESTS:
            raise TooManyAtOnce
        self._head_is_complete = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_bytes, self._head_is_complete = 0, True
        super().on_headers_complete()
        self.headers = []  # collects trailers from now on

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        super().on_message_complete()

    def _wait(self) -> None:
        self._patience = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _refuse(self) -> None:
        cycle = getattr(self, "cycle", None)  # absent before the first request, despite its type
        if cycle is None or cycle.response_complete:  # otherwise it would be written into a response
            self.transport.write(TOO_LONG)
        self.transport.close()
