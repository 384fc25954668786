"""A transport that writes the head and the body of a response together.

uvicorn writes them separately, each with a system call and a wake-up of the reader. To a connection that has ended it
writes too, which raises an error in uvloop; here that is nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from typing import Any

from api.http.server.send_watch import SendWatch

HEAD = b"HTTP/1."
FEW = 2
LARGE = 16_384
"""In bytes: copying a body of this size costs more than a second write."""


class CorkedTransport:
    """Holds a head until its body follows, or until the next turn of the loop. The rest is the transport's own.

    With many requests in progress, responses are written at the end of the turn, so a client with several is woken
    once. With few, nothing waits.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, served: Sized, watch: SendWatch
    ) -> None:
        self._transport = transport
        self._watch = watch
        self._loop = loop
        self._served = served
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        self._watch.written += len(data)
        if not self._held and not data.startswith(HEAD):
            self._transport.write(data)
            return
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)
        if len(self._held) > 1 and len(self._served) <= FEW:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._transport.close()
        self._watch.begin()

    def pause_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def __getattr__(self, name: str) -> Any:
        """Each attribute of the transport is looked up once and cached."""
        attribute = getattr(self._transport, name)
        setattr(self, name, attribute)
        return attribute

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held and not self._transport.is_closing():
            if len(held[-1]) > LARGE:
                self._transport.writelines(held)
            else:
                self._transport.write(b"".join(held))
