"""What if a caller goes away before there is an answer? Then nobody waits for the upstream any longer either."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

NOTICE_SECONDS = 0.03
"""Most calls are answered by then, and to watch costs more than to wait so long."""


class CallerLeft(Exception):
    pass


class WhileThere:
    """`with WhileThere(receive):` raises `CallerLeft` where the connection is closed meanwhile. The body was read."""

    __slots__ = ("_caller", "_later", "_receive", "_saw_it", "_watching")

    def __init__(self, receive: Callable[[], Awaitable[Any]]) -> None:
        self._receive = receive
        self._watching: asyncio.Task[None] | None = None
        self._saw_it = False

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._caller = asyncio.current_task(loop)
        self._later = loop.call_later(NOTICE_SECONDS, self._begin)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._later.cancel()
        if self._watching is not None:
            self._watching.cancel()
        if self._saw_it and self._caller is not None:
            self._caller.uncancel()
            if kind is asyncio.CancelledError:
                raise CallerLeft from error

    def _begin(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._caller is not None:
            self._saw_it = True
            self._caller.cancel()
