"""How do head and body of an answer go out together?

uvicorn writes them one after the other, with a call to the system and a waking of the reader each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from typing import Any

HEAD = b"HTTP/1."
FEW = 2
LARGE = 16_384
"""Bytes, from which on to copy a body costs more than to write it by itself."""


class CorkedTransport:
    """A transport that keeps a head until its body comes, or until the next turn. All else is the transport's own.

    Where many are served at once, answers go out at the end of the turn, one after the other: a reader of several is
    woken once. Where few are, nothing waits.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, served: Sized) -> None:
        self._transport = transport
        self._loop = loop
        self._served = served
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
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

    def __getattr__(self, name: str) -> Any:
        """Looked up once: what the transport offers is kept beside it."""
        found = getattr(self._transport, name)
        setattr(self, name, found)
        return found

    def _flush(self) -> None:
        if self._held:
            held, self._held = self._held, []
            if len(held[-1]) > LARGE:
                self._transport.writelines(held)
            else:
                self._transport.write(b"".join(held))
