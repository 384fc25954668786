"""Parsing of server-sent events (`text/event-stream`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from integrations.errors import UnreadableResponse

MAX_EVENT_BYTES = 4 * 1024 * 1024
MAX_ID_LENGTH = 1024
_LINE_ENDS = (b"\r", b"\n")
_MILLISECONDS = re.compile(r"[0-9]{1,15}")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class SseMessage:
    name: str
    data: str


class EventStream:
    """A parser of one stream. `last_id` and `retry_ms` state where and when the stream can be resumed."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.last_id: str | None = None
        self.retry_ms: int | None = None
        self._max = max_event_bytes
        self._size = 0
        self._line = bytearray()
        self._ended_with_cr = False
        self._is_first_line = True
        self._name = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, chunk: bytes) -> Iterator[SseMessage]:
        """The events that this chunk completes. An incomplete event at the end of the stream is dropped."""
        if not chunk:
            return
        lines, rest = self._split(chunk)
        for line in lines:
            if line:
                self._count(len(line))
                self._parse_line(line)
            elif self._size and (event := self._dispatch()):
                yield event
        self._line += rest
        self._count(0)

    def _split(self, chunk: bytes) -> tuple[list[bytes], bytes]:
        """The lines that this chunk completes, and the beginning of the next."""
        if self._ended_with_cr:
            chunk = chunk.removeprefix(b"\n")
        self._ended_with_cr = chunk.endswith(b"\r")
        lines = chunk.splitlines()  # of bytes: at the three line ends of the format only
        rest = lines.pop() if chunk and not chunk.endswith(_LINE_ENDS) else b""
        if lines:
            lines[0] = self._without_mark(bytes(self._line) + lines[0])
            self._line.clear()
        return lines, rest

    def _count(self, size: int) -> None:
        self._size += size
        if self._size + len(self._line) > self._max:
            raise UnreadableResponse("An event of the stream is too long.")

    def _without_mark(self, line: bytes) -> bytes:
        first, self._is_first_line = self._is_first_line, False
        return line.removeprefix(_BYTE_ORDER_MARK) if first else line

    def _parse_line(self, line: bytes) -> None:
        name, _, rest = line.partition(b":")
        value = _text(rest.removeprefix(b" "))
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._name = value
            case b"id" if _can_be_sent(value):
                self._id = value
            case b"retry" if _MILLISECONDS.fullmatch(value):
                self.retry_ms = int(value)
            case _:
                pass  # a comment or an unknown field

    def _dispatch(self) -> SseMessage | None:
        """The completed event; an event without data only updates `last_id`."""
        self.last_id = self._id
        name, data = self._name or "message", "\n".join(self._data)
        self._name, self._data, self._size = "", [], 0
        return SseMessage(name, data) if data else None


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableResponse("The stream is not UTF-8.") from error


def _can_be_sent(value: str) -> bool:
    """Whether the id can be sent in a header."""
    return len(value) <= MAX_ID_LENGTH and value.isascii() and value.isprintable()
