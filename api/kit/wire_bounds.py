"""How much is taken off a connection for one answer, whatever the parser makes of it?

Some of what is sent becomes no body and is counted by nobody else: heads before the head (`100 Continue`), extensions
of chunks, chunks of one byte each, which the parser keeps while it falls behind.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import aiohttp
from aiohttp import StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage

MAX_BYTES = 12 * 1024 * 1024
"""More than the longest body that is taken in, with a head and with chunks of a sensible size."""
MAX_HEADS = 16
PIECE = 4096
"""Of what comes while a head is awaited: all heads of a piece are objects before anybody can count them."""


class Flooded(aiohttp.ClientError):
    """More came than any answer has."""


class Bounded(ResponseHandler):
    _taken = _heads = 0

    def set_response_params(self, **params: Any) -> None:
        """Called for each request."""
        self._taken = self._heads = 0
        super().set_response_params(**params)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        self._heads += 1
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        self._taken += len(data)
        while len(data) > PIECE and self._awaits_a_head():
            super().data_received(data[:PIECE])
            data = data[PIECE:]
        if self._taken > MAX_BYTES or self._heads > MAX_HEADS:
            self._refuse()
        else:
            super().data_received(data)

    def _awaits_a_head(self) -> bool:
        is_between = self._payload is None or self._payload.is_eof()
        return is_between and self._parser is not None and self._heads <= MAX_HEADS

    def _refuse(self) -> None:
        self._buffer.clear()
        payload, transport = self._payload, self.transport
        self.set_exception(Flooded())
        if payload is not None:
            payload.set_exception(Flooded())
        if transport is not None:
            transport.abort()


def bounded(connector: aiohttp.TCPConnector) -> aiohttp.TCPConnector:
    """aiohttp has no other way to be told how connections are read."""
    handler: type[ResponseHandler] = Bounded
    connector._factory = partial(handler, loop=asyncio.get_running_loop())  # noqa: SLF001
    return connector
