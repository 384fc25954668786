"""Server-sent events over HTTP, from routes that only tests have."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from litestar import Response

from api.access.guards import Public
from api.http.event_stream import EventStreamResponse, ServerSentEvent
from api.http.fast_path import FastPath, on_fast_path
from api.http.middleware import RequestMiddleware
from api.http.operations import get
from api.kit.logs import RequestLog
from api.main.app import build_router_app, problem_response
from api.main.settings import Settings
from demo.serving import listening

ROUTED, DIRECT = "/routed", "/direct"
"""Through Litestar's routing, and past it."""
PATIENCE_SECONDS = 20.0


@dataclass
class Stream:
    """A generator of events that yields when the test says so."""

    path: str
    log: io.StringIO
    url: str = ""
    started: threading.Event = field(default_factory=threading.Event)
    closed: threading.Event = field(default_factory=threading.Event)
    _loop: asyncio.AbstractEventLoop | None = None
    _queue: asyncio.Queue[ServerSentEvent | None] | None = None

    async def events(self) -> AsyncGenerator[ServerSentEvent, None]:
        self._loop, self._queue = asyncio.get_running_loop(), asyncio.Queue()
        self.started.set()
        try:
            while event := await self._queue.get():
                yield event
        finally:
            self.closed.set()

    def put(self, event: ServerSentEvent | None) -> None:
        assert self.started.wait(PATIENCE_SECONDS)
        assert self._loop is not None
        assert self._queue is not None
        self._loop.call_soon_threadsafe(self._queue.put_nowait, event)

    def log_line(self) -> dict[str, Any]:
        (line,) = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return dict(line)


@contextmanager
def streaming(path: str, data_dir: Path) -> Iterator[Stream]:
    stream = Stream(path, io.StringIO())

    async def handle() -> Response[None]:
        return EventStreamResponse(stream.events())

    guards = [Public("a test's")]
    routes = [get(ROUTED, guards=guards)(handle), get(DIRECT, guards=guards, opt=on_fast_path({}))(handle)]
    app = build_router_app(Settings(data_dir=data_dir), routes=routes)
    with listening(RequestMiddleware(FastPath(app, problem_response), RequestLog(stream.log))) as url:
        stream.url = url
        yield stream
