"""How long may the head of a request be? uvicorn takes in any length, also of callers without a key."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 65_536
TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nCache-Control: no-store\r\n"
    b"Connection: close\r\n\r\n"
)


class BoundedHeads(HttpToolsProtocol):
    """Counts what comes until a head is complete. What comes in one piece with its end is short enough as it is."""

    _in_head = False
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head:
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse()

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def _refuse(self) -> None:
        cycle = getattr(self, "cycle", None)  # none before the first request, whatever its type says
        if cycle is None or cycle.response_complete:  # or it would stand in the middle of an answer
            self.transport.write(TOO_LONG)
        self.transport.close()
