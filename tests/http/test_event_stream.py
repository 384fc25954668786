"""Server-sent events over HTTP, from routes that only these tests have."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
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
from tests.harness import caller

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


@pytest.fixture(params=["/routed", "/direct"])
def stream(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stream]:
    """Served through Litestar's routing, and past it."""
    stream_ = Stream(request.param, io.StringIO())

    async def handle() -> Response[None]:
        return EventStreamResponse(stream_.events())

    guards = [Public("a test's")]
    routes = [get("/routed", guards=guards)(handle), get("/direct", guards=guards, opt=on_fast_path({}))(handle)]
    app = build_router_app(Settings(data_dir=tmp_path), routes=routes)
    with listening(RequestMiddleware(FastPath(app, problem_response), RequestLog(stream_.log))) as url:
        stream_.url = url
        yield stream_


def chunks(response: httpx2.Response) -> Iterator[bytes]:
    return response.iter_raw()


def test_headers_arrive_before_the_first_event_and_events_one_by_one(stream: Stream) -> None:
    with caller(stream.url) as client, client.stream("GET", stream.path) as response:
        assert response.status_code == 200
        assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        received = chunks(response)
        for number in range(3):
            stream.put(ServerSentEvent(str(number), type="count", id=f"e{number}"))
            assert next(received) == f"event: count\nid: e{number}\ndata: {number}\n\n".encode()
        stream.put(None)
        assert list(received) == []

    assert stream.closed.wait(PATIENCE_SECONDS)


def test_a_stream_has_the_headers_of_every_response_and_no_compression(stream: Stream) -> None:
    headers = {"X-Request-Id": "find-me-again", "Accept-Encoding": "gzip, br"}
    with caller(stream.url) as client, client.stream("GET", stream.path, headers=headers) as response:
        assert response.headers["X-Request-Id"] == "find-me-again"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert "Content-Encoding" not in response.headers
        assert "Content-Length" not in response.headers


def test_the_log_line_is_written_at_the_end_with_all_bytes(stream: Stream) -> None:
    event = ServerSentEvent("x" * 1000)
    with caller(stream.url) as client, client.stream("GET", stream.path) as response:
        received = chunks(response)
        stream.put(event)
        next(received)
        assert stream.log.getvalue() == ""
        stream.put(event)
        stream.put(None)
        list(received)
        client.get("/nowhere")  # answered after the line of the stream was written

    line = json.loads(stream.log.getvalue().splitlines()[0])
    assert (line["status"], line["route"], line["bytes"]) == (200, stream.path, 2 * len(event.encode()))
    assert line["ms"] > 0


def test_a_client_that_disconnects_cancels_the_generator(stream: Stream) -> None:
    with caller(stream.url) as client, client.stream("GET", stream.path) as response:
        received = chunks(response)
        stream.put(ServerSentEvent("one"))
        next(received)
        assert not stream.closed.is_set()

    assert stream.closed.wait(PATIENCE_SECONDS)


def test_a_test_that_calls_all_operations_does_not_wait_for_the_end_of_a_stream(stream: Stream) -> None:
    with caller(stream.url) as client:
        response = client.get(stream.path)

    assert (response.status_code, response.content) == (200, b"")
    assert stream.closed.wait(PATIENCE_SECONDS)


def test_head_has_the_headers_and_starts_no_stream(stream: Stream) -> None:
    with caller(stream.url) as client:
        response = client.head(stream.path)

    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert not stream.started.is_set()


def test_shutdown_ends_an_open_stream_in_order(tmp_path: Path) -> None:
    stream_ = Stream("/routed", io.StringIO())

    async def handle() -> Response[None]:
        return EventStreamResponse(stream_.events())

    app = build_router_app(Settings(data_dir=tmp_path), routes=[get("/routed", guards=[Public("a test's")])(handle)])
    with listening(RequestMiddleware(app)) as url:
        client = caller(url)
        request = client.build_request("GET", "/routed")
        response = client.send(request, stream=True)
        received = chunks(response)
        stream_.put(ServerSentEvent("one"))
        next(received)
    # the server, which waits for all responses without a limit, has stopped
    assert stream_.closed.is_set()
    assert list(received) == []  # complete: an interrupted response would raise
    response.close()
    client.close()


async def test_the_next_event_is_generated_only_when_the_connection_is_writable() -> None:
    created: list[int] = []
    room = asyncio.Semaphore(3)  # for the head and two events

    async def events() -> AsyncGenerator[ServerSentEvent, None]:
        for number in range(1000):
            created.append(number)
            yield ServerSentEvent("x" * 65_536)

    stalled, gone = asyncio.Event(), asyncio.Event()

    async def send(_: Any) -> None:
        if gone.is_set():  # as a server drops what is sent to a client that has left
            return
        if room.locked():
            stalled.set()
        await room.acquire()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    scope: Any = {"type": "http", "state": {}}
    sending = asyncio.create_task(EventStreamResponse(events())(scope, receive, send))
    await stalled.wait()
    assert created == [0, 1, 2]  # the third is made and waits

    gone.set()
    await sending
    assert created == [0, 1, 2]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (ServerSentEvent(""), "data: \n\n"),
        (ServerSentEvent("a\nb"), "data: a\ndata: b\n\n"),
        (ServerSentEvent("a\r\nb\rc"), "data: a\ndata: b\ndata: c\n\n"),
        (ServerSentEvent("{}", type="message", id="7"), "event: message\nid: 7\ndata: {}\n\n"),
    ],
)
def test_an_event_is_written_as_the_standard_defines_it(event: ServerSentEvent, text: str) -> None:
    assert event.encode() == text.encode()
