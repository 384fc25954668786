"""The chunks of a body are counted: each costs as much time as a kilobyte."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import thread_time
from typing import ClassVar

import pytest
import uvloop

from api.http.server.protocol import (
    CHUNKS_OF_A_TURN,
    COUNTED_BYTES,
    FREE_CHUNKS,
    LEAST_CHUNK_BYTES,
    LimitedHttpProtocol,
)
from tests.harness import Workspace, listening
from tests.http.test_connections import answers, connected, connection_to, slow_app

SMALL = b"1\r\n \r\n"
MANY = SMALL * 1_300_000
LAST = b"0\r\n\r\n"


def head(path: str, key: str | None = None) -> bytes:
    authorization = f"Authorization: Bearer {key}\r\n" if key else ""
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\n{authorization}Content-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    ).encode()


def chunks(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + LAST


def send_until_closed(connection: socket.socket, data: bytes) -> None:
    with suppress(ConnectionError):
        connection.sendall(data)


class MeteredProtocol(LimitedHttpProtocol):
    """Measures what a connection costs, and what it reads in one turn of the loop."""

    seconds: ClassVar[float] = 0.0
    turns: ClassVar[list[int]] = []
    go_on: ClassVar[threading.Event] = threading.Event()
    _is_new_turn = True

    def data_received(self, data: bytes) -> None:
        self.go_on.wait(10)
        if self._is_new_turn:
            self._is_new_turn = False
            self.turns.append(0)
            self.loop.call_soon(self._begin_turn)
        self.turns[-1] += len(data)
        begun = thread_time()
        super().data_received(data)
        type(self).seconds += thread_time() - begun

    def _begin_turn(self) -> None:
        self._is_new_turn = True


@contextmanager
def metered() -> Iterator[socket.socket]:
    MeteredProtocol.seconds = 0.0
    MeteredProtocol.turns.clear()
    MeteredProtocol.go_on.set()
    with listening(slow_app, MeteredProtocol) as url, connection_to(url) as connection:
        yield connection


def test_a_body_of_many_small_chunks_gets_a_400(workspace: Workspace) -> None:
    with connected(workspace) as connection:
        connection.sendall(head(workspace.agents, workspace.key) + SMALL * (FREE_CHUNKS + LEAST_CHUNK_BYTES * 2))
        status, _, body = answers(connection).partition(b"\r\n\r\n")

    assert status.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"\r\nConnection: close" in status
    assert json.loads(body)["code"] == "unreadable"
    assert json.loads(body)["detail"].startswith("The body has too many small chunks.")


@pytest.mark.parametrize("path", ["{agents}", "/healthz", "/connect/abc", "/nowhere"])
def test_after_an_answer_too_the_connection_ends_with_many_small_chunks(workspace: Workspace, path: str) -> None:
    """Before, all of it was parsed, and the next request answered."""
    with connected(workspace) as connection:
        connection.sendall(head(path.format(agents=workspace.agents)))
        assert connection.recv(65_536).startswith(b"HTTP/1.1 ")
        ahead = SMALL * (FREE_CHUNKS * 2) + LAST
        send_until_closed(connection, ahead + b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        assert b"HTTP/1.1" not in answers(connection)


@pytest.mark.parametrize("is_answered", [True, False])
def test_many_small_chunks_cost_little(is_answered: bool) -> None:
    """They took 0.3 s in one turn of the loop."""
    with metered() as connection:
        connection.sendall(head("/quick" if is_answered else "/"))
        if is_answered:
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        send_until_closed(connection, MANY)
        answers(connection)

    assert MeteredProtocol.seconds < 0.05


@pytest.fixture
def on_uvloop() -> Iterator[None]:
    """It reads up to 32 times in a turn; the loop of asyncio reads once."""
    before = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    yield
    asyncio.set_event_loop_policy(before)


@pytest.mark.usefixtures("on_uvloop")
def test_a_connection_with_many_chunks_reads_once_in_a_turn() -> None:
    with metered() as connection:
        connection.sendall(head("/quick"))
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        MeteredProtocol.go_on.clear()
        sent = fill(connection, chunks(bytes(20 * COUNTED_BYTES), 1024))
        MeteredProtocol.go_on.set()
        connection.shutdown(socket.SHUT_WR)
        answers(connection)

    assert sent > COUNTED_BYTES * 2
    assert sum(MeteredProtocol.turns) > sent
    assert max(MeteredProtocol.turns) <= 256 * 1024 * (1 + CHUNKS_OF_A_TURN // 256)


def fill(connection: socket.socket, data: bytes) -> int:
    """Sends as much as the other side's buffers take while nothing is read."""
    connection.settimeout(0.3)
    sent = 0
    with suppress(TimeoutError):
        while sent < len(data):
            sent += connection.send(data[sent : sent + COUNTED_BYTES])
    connection.settimeout(30)
    return sent


@pytest.mark.parametrize(("length", "size"), [(3000, 1), (4000, 2), (100_000, 50), (900_000, 200), (1_000_000, 16_384)])
def test_chunks_that_a_client_sends_are_accepted(workspace: Workspace, length: int, size: int) -> None:
    body = json.dumps({"name": "Support"}).encode().ljust(length)

    with connected(workspace) as connection:
        connection.sendall(head(workspace.agents, workspace.key) + chunks(body, size))

        assert connection.recv(65_536).startswith(b"HTTP/1.1 201")


def test_each_message_of_a_connection_has_its_own_chunks(workspace: Workspace) -> None:
    body = json.dumps({"name": "Support"}).encode().ljust(FREE_CHUNKS - 1)

    with connected(workspace) as connection:
        for _ in range(3):
            connection.sendall(head(workspace.agents, workspace.key) + chunks(body, 1))
            assert connection.recv(65_536).startswith(b"HTTP/1.1 201")
