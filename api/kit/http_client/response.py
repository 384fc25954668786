"""Responses: size limits and content decoding."""

from __future__ import annotations

import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from api.kit.transport_errors import MalformedResponse, ResponseTooLarge, TransportError
from api.kit.turns import Turns

PIECE = 65_536
STREAMED_PIECE = 16_384
"""In bytes. What a stream is parsed into takes much longer than its transfer."""
FREE_OF_RATIO = 65_536  # a short body that compresses well is not a bomb

GZIP = zlib.MAX_WBITS | 16

ErrorTranslator = Callable[[TransportError], Exception]
"""Translates an error for the caller."""


@dataclass(frozen=True, slots=True)
class ResponseLimits:
    """In bytes: the head, the body as it comes, the body decoded. How many decoded bytes one byte may become; and how
    many chunks a body may have beyond one for every sixteen bytes."""

    head: int = 65_536
    wire: int = 8 * 1024 * 1024
    decoded: int = 8 * 1024 * 1024
    ratio: int = 100
    chunks: int = 65_536


ENDLESS = ResponseLimits(wire=sys.maxsize, decoded=sys.maxsize, chunks=sys.maxsize)
"""For a stream whose parts the caller limits."""


class ResponseSource(Protocol):
    """Where a response's bytes come from."""

    status: int
    reason: str
    headers: dict[str, str]
    is_complete: bool
    """The whole body has arrived, though it may not have been consumed yet."""

    def take(self) -> bytes: ...

    async def more(self) -> bytes:
        """The next bytes of the body; empty at its end."""
        ...


class Response:
    """The head of a response, whose body is read later."""

    __slots__ = ("_decoded", "_limits", "_source", "_translate", "_turns", "_wire", "headers", "reason", "status")

    def __init__(
        self,
        source: ResponseSource,
        limits: ResponseLimits,
        translate: ErrorTranslator | None = None,
        *,
        turns: Turns,
    ) -> None:
        self.status = source.status
        self.reason = source.reason
        self.headers: Mapping[str, str] = source.headers
        self._source = source
        self._limits = limits
        self._translate = translate
        self._turns = turns
        self._wire = self._decoded = 0

    async def read(self) -> bytes:
        try:
            if self._source.is_complete and "content-encoding" not in self.headers:  # as with most responses
                return self._counted(self._source.take())
            return b"".join([chunk async for chunk in self._chunks()])
        except TransportError as error:
            if self._translate is None:
                raise
            raise self._translate(error) from error

    async def chunks(self) -> AsyncIterator[bytes]:
        """In pieces, between which other tasks run."""
        since_turn = 0
        try:
            async for chunk in self._chunks():
                for start in range(0, len(chunk), STREAMED_PIECE):
                    piece = chunk[start : start + STREAMED_PIECE]
                    since_turn += len(piece)
                    if since_turn > STREAMED_PIECE:
                        await self._turns.next()
                        since_turn = len(piece)
                    yield piece
        except TransportError as error:
            if self._translate is None:
                raise
            raise self._translate(error) from error

    async def _chunks(self) -> AsyncIterator[bytes]:
        inflate = _decompressor(self.headers.get("content-encoding", ""))
        while chunk := await self._source.more():
            self._wire = _within(self._limits.wire, self._wire + len(chunk), "bytes")
            for piece in inflate.pieces(chunk) if inflate else (chunk,):
                self._count(len(piece))
                yield piece
        if inflate and self._wire:
            inflate.finish()

    def _counted(self, whole: bytes) -> bytes:
        """Of a body that is not compressed: its ratio is one."""
        self._wire = _within(self._limits.wire, self._wire + len(whole), "bytes")
        self._decoded = _within(self._limits.decoded, self._decoded + len(whole), "decoded bytes")
        return whole

    def _count(self, size: int) -> None:
        self._decoded = _within(self._limits.decoded, self._decoded + size, "decoded bytes")
        if self._decoded > FREE_OF_RATIO:
            _within(self._limits.ratio * self._wire, self._decoded, "decoded bytes for so few")


class _Decompressor:
    """Decodes in pieces, so that a decompression bomb is noticed while it is small."""

    def __init__(self, wbits: int) -> None:
        self._inflate = zlib.decompressobj(wbits)

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            piece = self._piece(chunk)
            chunk = self._inflate.unconsumed_tail
            if piece:
                yield piece

    def finish(self) -> None:
        if not self._inflate.eof:
            raise MalformedResponse("the compressed body ends early")

    def _piece(self, chunk: bytes) -> bytes:
        if self._inflate.eof:
            raise MalformedResponse("something follows the compressed body")
        try:
            piece = self._inflate.decompress(chunk, PIECE)
        except zlib.error as error:
            raise MalformedResponse(f"the compressed body: {error}") from None
        if self._inflate.unused_data:
            raise MalformedResponse("something follows the compressed body")
        return piece


def _decompressor(encoding: str) -> _Decompressor | None:
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return _Decompressor(GZIP)
        case "deflate":
            return _Decompressor(zlib.MAX_WBITS)
        case _:
            raise MalformedResponse("an encoding that was not requested")


def _within(limit: int, size: int, of_what: str) -> int:
    if size > limit:
        raise ResponseTooLarge(f"{size} {of_what}")
    return size
