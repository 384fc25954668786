"""Raw TCP upstreams on 127.0.0.1 that send arbitrary responses and record requests."""

from __future__ import annotations

import asyncio
import queue
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

HOME = "127.0.0.1"

Responder = Callable[["ReceivedRequest", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class ReceivedRequest:
    """One request, as it arrived."""

    line: str
    headers: dict[str, str]
    body: bytes
    connection: int


@dataclass
class RawUpstream:
    port: int = 0
    connections: int = 0
    requests: list[ReceivedRequest] = field(default_factory=list)
    request_received: asyncio.Event = field(default_factory=asyncio.Event)
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has closed its connection."""

    def url(self, path: str = "/", host: str = HOME, scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


class _Reader(asyncio.StreamReader):
    """Signals that the client has closed, even without a read."""

    def __init__(self) -> None:
        super().__init__()
        self.disconnected = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.disconnected.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.disconnected.set()


@asynccontextmanager
async def upstream(
    responder: Responder, *, host: str = HOME, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[RawUpstream]:
    here, tasks = RawUpstream(), set[asyncio.Task[None]]()

    async def connected(reader: _Reader, writer: asyncio.StreamWriter) -> None:
        here.connections += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            # Cancelled only when the test is over; asyncio of Python 3.11 prints what ends so.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await _serve(here, reader, writer, responder, here.connections)
        finally:
            writer.transport.abort()
        here.disconnected.set()

    def speak() -> asyncio.StreamReaderProtocol:
        reader = _Reader()
        return asyncio.StreamReaderProtocol(reader, lambda _, writer: connected(reader, writer))

    server = await asyncio.get_running_loop().create_server(speak, host, port, ssl=tls)
    here.port = server.sockets[0].getsockname()[1]
    try:
        yield here
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def upstream_in_thread(
    responder: Responder, *, host: str = HOME, port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[RawUpstream]:
    """An upstream in a thread, for synchronous tests."""

    async def run() -> None:
        stopped = asyncio.Event()
        async with upstream(responder, host=host, port=port, tls=tls) as here:
            created.put((here, lambda: loop.call_soon_threadsafe(stopped.set)))
            await stopped.wait()

    loop = asyncio.new_event_loop()
    created: queue.SimpleQueue[tuple[RawUpstream, Callable[[], object]]] = queue.SimpleQueue()
    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    here, stop = created.get(timeout=10)
    try:
        yield here
    finally:
        stop()
        thread.join(10)
        loop.close()


async def _serve(
    here: RawUpstream, reader: _Reader, writer: asyncio.StreamWriter, responder: Responder, number: int
) -> None:
    while True:
        visit = await _read_request(reader, number)
        here.requests.append(visit)
        here.request_received.set()
        gone = asyncio.ensure_future(reader.disconnected.wait())
        answered = asyncio.ensure_future(responder(visit, writer))
        try:
            await asyncio.wait({gone, answered}, return_when=asyncio.FIRST_COMPLETED)
            if not answered.done() or writer.is_closing():
                return
            await answered
        finally:
            answered.cancel()
            gone.cancel()
            await asyncio.gather(answered, gone, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader, number: int) -> ReceivedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return ReceivedRequest(head[0], headers, body, number)


def responding(body: bytes = b"ok", status: str = "200 OK", **headers: str) -> Responder:
    """A complete response; `_` in a header's name becomes `-`."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return raw("\r\n".join([*lines, "", ""]).encode() + body)


def raw(*parts: bytes) -> Responder:
    async def answer(_: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return answer


def closing_after(*parts: bytes) -> Responder:
    async def answer(visit: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        await raw(*parts)(visit, writer)
        writer.close()

    return answer


def dripping(start: bytes, drop: bytes = b"x", pause: float = 0.02) -> Responder:
    async def answer(_: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


def pouring(start: bytes, part: bytes) -> Responder:
    return dripping(start, part, 0)


def echoing() -> Responder:
    async def answer(visit: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        body = "\n".join([visit.line, *(f"{name}: {value}" for name, value in visit.headers.items())]).encode()
        await responding(body + b"\n\n" + visit.body)(visit, writer)

    return answer


def silent() -> Responder:
    async def answer(_: ReceivedRequest, __: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    return answer
