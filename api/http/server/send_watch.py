"""Ends connections whose clients do not read."""

from __future__ import annotations

import asyncio

LEAST_BYTES = 65_536
"""What a client has to take in each period, unless that is all."""


class SendWatch:
    """Watches the progress of one connection while anything is still to be sent on it."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self.written = 0
        """Bytes that were handed to the transport."""
        self._transport = transport
        self._loop = loop
        self._seconds = seconds
        self._sent = 0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        if self._timer is None and self._transport.get_write_buffer_size():
            self._schedule()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self) -> None:
        self._sent = self.written - self._transport.get_write_buffer_size()
        self._timer = self._loop.call_later(self._seconds, self._check)

    def _check(self) -> None:
        self._timer = None
        unsent = self._transport.get_write_buffer_size()
        if not unsent:
            return
        if self.written - unsent - self._sent < LEAST_BYTES:
            self._transport.abort()
        else:
            self._schedule()
