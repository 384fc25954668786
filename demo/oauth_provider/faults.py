"""Faults that a provider can inject before or after it has done its work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from demo.oauth_provider.http import Response

Kind = Literal["down", "busy", "slow", "hold", "html", "empty", "text", "array", "huge", "redirect", "close"]
HUGE_BYTES = 8_000_000
JSON = {"Content-Type": "application/json"}
ODD_BODIES = {"text": b"access_token: none", "array": b'[{"access_token": "none"}]'}
HTML = {"Content-Type": "text/html"}


@dataclass(frozen=True)
class Fault:
    """`after`: the request is processed first and its response is lost. A slow or held request is answered later."""

    kind: Kind
    after: bool = False
    seconds: float = 0.0
    status: int = 503
    retry_after: float | str | None = None
    location: str = ""
    body: str | None = None

    @property
    def delays(self) -> bool:
        return self.kind in ("slow", "hold")

    def response(self, busy: Response) -> Response | None:
        """None closes the connection. `busy` is the provider's rate limit response."""
        if self.kind == "close":
            return None
        answer = busy if self.kind == "busy" else self._default_response()
        waiting: Mapping[str, str] = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        body = answer.body if self.body is None else self.body.encode()
        return Response(answer.status, body, {**answer.headers, **waiting})

    def _default_response(self) -> Response:
        match self.kind:
            case "down":
                return Response(self.status, b"<html><h1>Something went wrong</h1></html>", HTML)
            case "html":
                return Response(200, b"<html><h1>Welcome</h1></html>", HTML)
            case "redirect":
                return Response(302, b"", {"Location": self.location})
            case "huge":
                return Response(200, b'{"access_token": "%s"}' % (b"x" * HUGE_BYTES), JSON)
            case _:
                return Response(200, ODD_BODIES.get(self.kind, b""), JSON)


class Gate:
    """Holds requests for a time or until they are released."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held: list[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def wait(self, endpoint: str, seconds: float | None) -> None:
        entry = (endpoint, asyncio.get_running_loop(), asyncio.Event())
        self._enter(entry)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(entry[2].wait(), seconds)
        finally:
            self._leave(entry)

    def release(self) -> None:
        with self._changed:
            for _, loop, event in self._held:
                loop.call_soon_threadsafe(event.set)

    def held_count(self, endpoint: str) -> int:
        with self._changed:
            return sum(name == endpoint for name, _, _ in self._held)

    def wait_until_held(self, endpoint: str, n: int, patience: float) -> None:
        with self._changed:
            there = self._changed.wait_for(lambda: self.held_count(endpoint) >= n, patience)
        assert there, f"{self.held_count(endpoint)} are held at {endpoint}"

    def _enter(self, entry: tuple[str, asyncio.AbstractEventLoop, asyncio.Event]) -> None:
        with self._changed:
            self._held.append(entry)
            self._changed.notify_all()

    def _leave(self, entry: tuple[str, asyncio.AbstractEventLoop, asyncio.Event]) -> None:
        with self._changed:
            self._held.remove(entry)
            self._changed.notify_all()
