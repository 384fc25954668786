"""An upstream that does not respond until a test releases it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

from demo.mcp_servers import PlainServer


class StuckServer(PlainServer):
    """Holds requests of `methods` until `release`. Counts waiting and disconnected clients."""

    def __init__(self, *methods: str) -> None:
        super().__init__()
        self.methods_held = methods
        self.waiting = self.disconnected = 0
        self._changed = threading.Condition()
        self._go_on: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_open = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = await receive()
        requested = iter([body])

        async def again() -> Any:
            return next(requested, None) or await receive()

        is_held = any(f'"{method}"'.encode() in body.get("body", b"") for method in self.methods_held)
        if is_held and not await self._hold(receive):
            return
        await super().__call__(scope, again, send)

    def release(self) -> None:
        self._is_open = True
        if self._loop and self._go_on:
            self._loop.call_soon_threadsafe(self._go_on.set)

    def wait_until(self, waiting: int = 0, left: int = 0, patience: float = 20.0) -> None:
        """Waits until at least so many requests wait and so many clients have disconnected."""
        with self._changed:
            there = self._changed.wait_for(lambda: self.waiting >= waiting and self.disconnected >= left, patience)
        assert there, f"{self.waiting} waiting, {self.disconnected} left"

    async def _hold(self, receive: Any) -> bool:
        """Whether the client is still connected after the release."""
        if self._go_on is None:
            self._loop, self._go_on = asyncio.get_running_loop(), asyncio.Event()
            if self._is_open:
                self._go_on.set()
        self._count(waiting=1)
        going, leaving = asyncio.create_task(self._go_on.wait()), asyncio.create_task(receive())
        try:
            await asyncio.wait({going, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            has_left = leaving.done()
            for task in (going, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            self._count(waiting=-1, left=int(has_left))
        return not has_left

    def _count(self, waiting: int, left: int = 0) -> None:
        with self._changed:
            self.waiting += waiting
            self.disconnected += left
            self._changed.notify_all()
