"""Parses the response to one request, and refuses what is malformed or too large."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NoReturn

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from api.kit.http_client.response import ResponseLimits
from api.kit.transport_errors import ConnectionFailed, MalformedResponse, ResponseTooLarge, TransportError

MAX_FIELDS = 128
MAX_FIELD = 16_384
MAX_INFORMATIONAL = 16
OVERHEAD = 4 * 1024 * 1024
"""The limit for chunk sizes, extensions and line breaks, beyond the body."""
USUAL_CHUNK = 16
"""In bytes: what the chunks of a long body have on average, at least. A server may send events as short as that."""
HEAD_END = b"\r\n\r\n"
CONTINUE, SWITCHING_PROTOCOLS, FIRST_FINAL_STATUS = 100, 101, 200


class _Stop(Exception):
    """Raised through the parser, which reads nothing after it."""


class ResponseParser:
    """Has its own parser, so that nothing of one response can get into the next."""

    __slots__ = (
        *("status", "reason", "headers", "has_head", "is_complete", "held", "error", "eased"),
        *("may_be_chunked", "parts"),
        *("_body", "_chunks", "_fields", "_follows", "_head_size", "_informational", "_is_bodiless", "_keeps_alive"),
        *("_loop", "_max_chunks", "_max_head", "_most", "_parser", "_raw", "_tail", "_until_close", "_waiter"),
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, limits: ResponseLimits, *, is_bodiless: bool) -> None:
        """`is_bodiless`: the request was a `HEAD`, which the parser does not know."""
        self.status = self.held = 0
        self.reason = ""
        self.headers: dict[str, str] = {}
        self.has_head = self.is_complete = False
        self.error: TransportError | None = None
        self.eased: Callable[[], None] | None = None
        """Called once the buffered body has been consumed; resumes reading."""
        self.parts = 0
        """Of the body, as they were parsed: the work that it has been."""
        self.may_be_chunked = True
        self._loop = loop
        self._max_chunks = limits.chunks
        self._max_head = limits.head
        self._most = limits.head + limits.wire + OVERHEAD
        self._is_bodiless = is_bodiless
        self._chunks: list[bytes] = []
        self._body = self._fields = self._head_size = self._informational = self._raw = 0
        self._tail = b""
        self._follows = self._keeps_alive = self._until_close = False
        self._waiter: asyncio.Future[None] | None = None
        self._parser = HttpResponseParser(self)

    @property
    def is_reusable(self) -> bool:
        """Whether the next request may use the same connection."""
        return self.is_complete and self._keeps_alive and not self._follows

    async def head(self) -> None:
        while not self.has_head:
            await self._next_data()

    async def more(self) -> bytes:
        """The next bytes of the body; empty at its end."""
        while not self.held and not self.is_complete:
            await self._next_data()
        return self.take()

    def take(self) -> bytes:
        chunks, self._chunks, self.held = self._chunks, [], 0
        if self.eased is not None:
            self.eased()
            self.eased = None
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _next_data(self) -> asyncio.Future[None]:
        """Done with the next bytes, or the end."""
        self._waiter = self._loop.create_future()
        if self.error is not None:
            self._waiter.set_exception(self.error)
        return self._waiter

    def feed(self, data: bytes) -> None:
        try:
            self._feed(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if self.is_complete:
                self._follows = True
            else:
                self.fail(MalformedResponse(f"no HTTP: {error}"))
        if self.has_head:
            self._wake()

    def connection_closed(self, error: Exception | None) -> None:
        """The connection has ended, with an error or because the upstream closed it."""
        if error is None and self.error is None and self._until_close:  # a response that we cut off has failed before
            self.is_complete = True
            self._wake()
        else:
            self.fail(ConnectionFailed(f"cut off: {type(error).__name__}", sent=True))

    def fail(self, error: TransportError) -> None:
        if not self.is_complete and self.error is None:
            self.error = error
            self._wake()

    def leave(self) -> None:
        """The response is no longer needed."""
        del self._parser  # it refers to this object's methods: a reference cycle
        self.eased = None
        if not self.is_complete:
            self.fail(ConnectionFailed("left before its end", sent=True))

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _feed(self, data: bytes) -> None:
        if self.error is not None:
            return
        self._raw += len(data)
        if self._raw > self._most:
            self.fail(ResponseTooLarge(f"{self._raw} bytes, whatever they are"))
            return
        if not self.has_head:
            data = self._feed_heads(data)
        if self.is_complete:
            self._follows = self._follows or bool(data)
        elif data:
            self._parser.feed_data(data)

    def _feed_heads(self, data: bytes) -> bytes:
        """Heads are parsed one by one, so that their size is known to the byte. The rest is body."""
        while data and not self.has_head:
            end = self._end_of_head(data)
            self._head_size += end
            if self._head_size > self._max_head:
                self._refuse(ResponseTooLarge(f"{self._head_size} bytes of head"))
            self._parser.feed_data(data[:end])
            data = data[end:]
        return data

    def _end_of_head(self, data: bytes) -> int:
        seen = self._tail + data
        end = seen.find(HEAD_END)
        if end < 0:
            self._tail = seen[-len(HEAD_END) + 1 :]
            return len(data)
        end += len(HEAD_END) - len(self._tail)
        self._tail = b""
        return end

    def _refuse(self, error: TransportError) -> NoReturn:
        self.fail(error)
        raise HttpParserError(error.cause)

    def on_message_begin(self) -> None:
        if self.is_complete:
            raise _Stop
        self.reason = ""
        self.headers = {}
        self._fields = 0

    def on_status(self, reason: bytes) -> None:
        self.reason += reason.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.has_head:  # trailers are ignored
            return
        self._fields += 1
        if self._fields > MAX_FIELDS:
            self._refuse(ResponseTooLarge(f"more than {MAX_FIELDS} fields"))
        if len(value) > MAX_FIELD:
            self._refuse(ResponseTooLarge(f"{len(value)} bytes in one field"))
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if text.endswith(" "):  # a tab would keep the parser from recognising `chunked`
            text = text.rstrip(" ")
        headers = self.headers
        headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < FIRST_FINAL_STATUS:
            self._count_informational(status)
            return
        coding = self.headers.get("transfer-encoding")
        if coding is not None and coding.lower() != "chunked":
            self._refuse(MalformedResponse("sent in an unknown transfer coding"))
        self.status = status
        self.has_head = True
        self.may_be_chunked = coding is not None
        self._until_close = coding is None and "content-length" not in self.headers
        if self._is_bodiless:
            self.on_message_complete()

    def _count_informational(self, status: int) -> None:
        self._informational += 1
        if status < CONTINUE or status == SWITCHING_PROTOCOLS:
            self._refuse(MalformedResponse(f"a status of {status}"))
        if self._informational > MAX_INFORMATIONAL:
            self._refuse(ResponseTooLarge(f"more than {MAX_INFORMATIONAL} heads"))

    def on_body(self, data: bytes) -> None:
        if not self.is_complete:
            self._chunks.append(data)
            self.held += len(data)
            self._body += len(data)
            self.parts += 1
            if self.parts > self._max_chunks + self._body // USUAL_CHUNK:
                self._refuse(ResponseTooLarge(f"{self.parts} chunks for {self._body} bytes"))

    def on_message_complete(self) -> None:
        if self.has_head:
            self.is_complete = True
            self._keeps_alive = self._parser.should_keep_alive()
