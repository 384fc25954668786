"""Cancels a call when its client disconnects, so that nothing waits for the upstream any longer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

from api.kit.deadline import Ticker

Receive = Callable[[], Awaitable[Any]]


class ClientDisconnected(Exception):
    pass


class CancelOnDisconnect:
    """`with CancelOnDisconnect(ticker, receive):` raises `ClientDisconnected` when the client closes.

    The request body must have been read.

    Watches from the first tick on: by then, most calls have their response.
    """

    __slots__ = ("_caller", "_receive", "_saw_it", "_ticker", "_watching")

    def __init__(self, ticker: Ticker, receive: Receive) -> None:
        self._ticker = ticker
        self._receive = receive
        self._watching: asyncio.Task[None] | None = None
        self._saw_it = False

    def __enter__(self) -> None:
        self._caller = asyncio.current_task(self._ticker.loop)
        self._ticker.add(self)

    def on_tick(self, _: float) -> None:
        self._ticker.remove(self)
        self._watching = self._ticker.loop.create_task(self._watch())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ticker.remove(self)
        if self._watching is not None:
            self._watching.cancel()
        if self._saw_it and self._caller is not None:
            self._caller.uncancel()
            if kind is asyncio.CancelledError:
                raise ClientDisconnected from error

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._caller is not None:
            self._saw_it = True
            self._caller.cancel()
