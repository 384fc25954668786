"""Cancellation of a call when its client disconnects."""

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

    Watches from the second tick on. A call that meets one tick may have begun just before it; most have their response
    before the next, and watching costs a task.
    """

    __slots__ = ("_caller", "_has_ticked", "_is_disconnected", "_receive", "_ticker", "_watcher")

    def __init__(self, ticker: Ticker, receive: Receive) -> None:
        self._ticker = ticker
        self._receive = receive
        self._watcher: asyncio.Task[None] | None = None
        self._has_ticked = False
        self._is_disconnected = False

    def __enter__(self) -> None:
        self._caller = asyncio.current_task(self._ticker.loop)
        self._ticker.add(self)

    def on_tick(self, _: float) -> None:
        if not self._has_ticked:
            self._has_ticked = True
            return
        self._ticker.remove(self)
        self._watcher = self._ticker.loop.create_task(self._watch())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ticker.remove(self)
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None  # it refers to this object: a reference cycle
        if self._is_disconnected and self._caller is not None:
            self._caller.uncancel()
            if kind is asyncio.CancelledError:
                raise ClientDisconnected from error

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._caller is not None:
            self._is_disconnected = True
            self._caller.cancel()
