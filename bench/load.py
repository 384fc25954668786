"""A load generator on raw sockets with keep-alive, which checks every answer."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length: "


class UnexpectedResponse(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    request: bytes
    expected: bytes
    """The beginning of the expected body: all of it, or enough to identify it."""

    @classmethod
    def get(cls, path: str, key: str, begins: bytes) -> Request:
        return cls(path, _head("GET", path, {"authorization": f"Bearer {key}", "accept": "*/*"}), begins)

    @classmethod
    def post(cls, path: str, headers: Mapping[str, str], body: bytes, begins: bytes) -> Request:
        sent = {**headers, "content-length": str(len(body))}
        return cls(path, _head("POST", path, sent) + body, begins)


def _head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{fields}\r\n".encode()


@dataclass(slots=True)
class Round:
    """The measurements of one uninterrupted round of requests."""

    requests: int
    seconds: float
    p50: float
    cpu_seconds: float = 0.0
    upstream_requests: int = 0

    @property
    def per_request(self) -> float:
        return self.seconds / self.requests

    @property
    def cpu_per_request(self) -> float:
        return self.cpu_seconds / self.requests


@dataclass(slots=True)
class _SharedRound:
    """The state that the connections of a round share."""

    requests: Iterator[Request]
    ends_at: float
    durations: list[float] = field(default_factory=list)


class Connections:
    """Open connections to one server, to be used as a context manager. Each sends one request after the other."""

    def __init__(self, port: int, count: int) -> None:
        self._port, self._count = port, count
        self._opened: list[tuple[asyncio.BaseTransport, _Connection]] = []

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for _ in range(self._count):
            self._opened.append(await loop.create_connection(_Connection, "127.0.0.1", self._port))
        return self

    async def __aexit__(self, *_: object) -> None:
        for transport, _connection in self._opened:
            transport.close()

    async def send(self, requests: Iterator[Request], seconds: float) -> Round:
        started = time.perf_counter()
        shared = _SharedRound(requests, started + seconds)
        await asyncio.gather(*(connection.send_until_the_end(shared) for _, connection in self._opened))
        return Round(len(shared.durations), time.perf_counter() - started, statistics.median(shared.durations))


async def fetch_body(port: int, question: Request) -> bytes:
    """The response body of one request."""
    transport, connection = await asyncio.get_running_loop().create_connection(_Connection, "127.0.0.1", port)
    try:
        await connection.send_until_the_end(_SharedRound(iter([question]), 0.0))
        return connection.last
    finally:
        transport.close()


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.last = b""
        self._buffer = b""
        self._sent_at = 0.0
        self._new_round()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # TCP is no less
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or UnexpectedResponse("the connection was closed"))

    def send_until_the_end(self, stretch: _SharedRound) -> asyncio.Future[None]:
        if self._done.done() and not self._done.exception():  # a connection that failed between rounds stays failed
            self._new_round()
        self._stretch = stretch
        self._send()
        return self._done

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        try:
            body = complete_body(self._buffer)
            if body is None:
                return
            check_body(body, self._question)
        except UnexpectedResponse as error:
            self._fail(error)
            return
        now = time.perf_counter()
        self._stretch.durations.append(now - self._sent_at)
        self.last, self._buffer = body, b""
        if now < self._stretch.ends_at:
            self._send()
        else:
            self._done.set_result(None)

    def _new_round(self) -> None:
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def _send(self) -> None:
        self._question = next(self._stretch.requests)
        self._sent_at = time.perf_counter()
        self._transport.write(self._question.request)

    def _fail(self, error: Exception) -> None:
        if not self._done.done():
            self._done.set_exception(error)


def complete_body(response: bytes) -> bytes | None:
    """The body, or None until the response is complete."""
    end = response.find(END_OF_HEAD)
    if end < 0:
        return None
    if not response.startswith(b"HTTP/1.1 200 "):
        raise UnexpectedResponse(response[:400].decode("latin-1"))
    at = response.find(LENGTH, 0, end + 2) + len(LENGTH)
    length = int(response[at : response.index(b"\r\n", at)])
    body = response[end + len(END_OF_HEAD) :]
    if len(body) > length:
        raise UnexpectedResponse(f"more came than the {length} bytes that were announced")
    return body if len(body) == length else None


def check_body(body: bytes, question: Request) -> None:
    if not body.startswith(question.expected):
        raise UnexpectedResponse(f"{question.path} answered {body[:200]!r}")
