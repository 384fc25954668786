"""How much of an answer is taken in, and what are its bytes once decoded."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass

from api.kit.wire_errors import Garbled, TooMuch

PIECE = 65_536
FREE_OF_RATIO = 65_536  # a short answer of blanks is no bomb

GZIP = zlib.MAX_WBITS | 16


@dataclass(frozen=True, slots=True)
class Limits:
    """In bytes: the head, the body as it comes, the body decoded; and how many decoded bytes one byte may become."""

    head: int = 65_536
    wire: int = 8 * 1024 * 1024
    decoded: int = 8 * 1024 * 1024
    ratio: int = 100


class Reply:
    """The head of an answer, with its body still to come."""

    def __init__(
        self, status: int, reason: str, headers: Mapping[str, str], more: Callable[[], Awaitable[bytes]], limits: Limits
    ) -> None:
        self.status = status
        self.reason = reason
        self.headers = headers
        self._more = more
        self._limits = limits
        self._wire = self._decoded = 0

    async def read(self) -> bytes:
        first = await anext(chunks := self.chunks(), b"")
        rest = [chunk async for chunk in chunks]
        return b"".join([first, *rest]) if rest else first

    async def chunks(self) -> AsyncIterator[bytes]:
        inflate = _inflater(self.headers.get("content-encoding", ""))
        while chunk := await self._more():
            self._wire = _within(self._limits.wire, self._wire + len(chunk), "bytes")
            for piece in inflate.pieces(chunk) if inflate else (chunk,):
                self._count(len(piece))
                yield piece
        if inflate and self._wire:
            inflate.finish()

    def _count(self, size: int) -> None:
        self._decoded = _within(self._limits.decoded, self._decoded + size, "decoded bytes")
        if self._decoded > FREE_OF_RATIO:
            _within(self._limits.ratio * self._wire, self._decoded, "decoded bytes for so few")


class _Inflate:
    """Decodes in pieces, so that a bomb is noticed while it is small."""

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
            raise Garbled("the compressed body ends early")

    def _piece(self, chunk: bytes) -> bytes:
        if self._inflate.eof:
            raise Garbled("something follows the compressed body")
        try:
            piece = self._inflate.decompress(chunk, PIECE)
        except zlib.error as error:
            raise Garbled(f"the compressed body: {error}") from None
        if self._inflate.unused_data:
            raise Garbled("something follows the compressed body")
        return piece


def _inflater(encoding: str) -> _Inflate | None:
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return _Inflate(GZIP)
        case "deflate":
            return _Inflate(zlib.MAX_WBITS)
        case _:
            raise Garbled("encoded in a way that was not asked for")


def _within(limit: int, size: int, of_what: str) -> int:
    if size > limit:
        raise TooMuch(f"{size} {of_what}")
    return size
