"""Server-sent events over HTTP, from routes that only these tests have."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from litestar import Response

from api.access.guards import Public
from api.http.event_stream import EventStreamResponse, ServerSentEvent
from api.http.middleware import RequestMiddleware
from api.http.operations import get
from api.main.app import build_router_app
from api.main.settings import Settings
from demo.serving import listening
from tests.fakes.event_streams import DIRECT, PATIENCE_SECONDS, ROUTED, Stream, streaming
from tests.harness import caller


@pytest.fixture(params=[ROUTED, DIRECT])
def stream(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stream]:
    with streaming(request.param, tmp_path) as stream_:
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
