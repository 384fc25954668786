"""Limits of a connection before authentication."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from litestar.types import Receive, Scope, Send

from api.http.server.protocol import MAX_WAITING_REQUESTS, LimitedHttpProtocol
from tests.harness import Workspace, listening
from tests.toolbox.toolbox_client import wait_until


@contextmanager
def connected(workspace: Workspace) -> Iterator[socket.socket]:
    host, port = workspace.plugboard.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        yield connection


class ImpatientProtocol(LimitedHttpProtocol):
    head_seconds = 0.2
    send_seconds = 0.2


class LoneProtocol(ImpatientProtocol):
    max_connections = 1


class SmallProtocol(LimitedHttpProtocol):
    max_connections = 3
    surplus_seconds = 0.2


async def slow_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Takes longer to answer than a head may take to come."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    if scope["path"] == "/":
        await asyncio.sleep(2 * ImpatientProtocol.head_seconds)
    body = bytes(int(scope["query_string"] or b"0"))
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


@contextmanager
def connected_to_the_impatient() -> Iterator[socket.socket]:
    with listening(slow_app, ImpatientProtocol) as url, connection_to(url) as connection:
        yield connection


@contextmanager
def connection_to(url: str) -> Iterator[socket.socket]:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        yield connection


def answers(connection: socket.socket) -> bytes:
    """All that comes until the other side ends it."""
    text = b""
    try:
        while piece := connection.recv(65_536):
            text += piece
    except ConnectionResetError:
        pass
    return text


def test_bytes_after_a_body_are_not_headers(workspace: Workspace) -> None:
    request = (
        f"GET {workspace.servers} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        f"0\r\nAuthorization: Bearer {workspace.key}\r\n\r\n"
    )
    with connected(workspace) as connection:
        connection.sendall(request.encode())

        assert answers(connection).startswith(b"HTTP/1.1 401")


def test_a_few_requests_may_be_pipelined(workspace: Workspace) -> None:
    ahead = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * (MAX_WAITING_REQUESTS - 1)
    with connected(workspace) as connection:
        connection.sendall(ahead + b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        assert answers(connection).count(b"HTTP/1.1 200") == MAX_WAITING_REQUESTS


def test_a_client_that_pipelines_thousands_is_disconnected(workspace: Workspace) -> None:
    with connected(workspace) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 5000)

        assert answers(connection).count(b"HTTP/1.1 200") <= MAX_WAITING_REQUESTS + 1
    assert workspace.admin.get("/healthz").status_code == 200


@pytest.mark.parametrize("value", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_client_with_a_slow_head_is_disconnected(value: bytes) -> None:
    with connected_to_the_impatient() as connection:
        connection.sendall(value)

        assert answers(connection) == b""


def test_a_response_may_take_longer_than_the_head_timeout() -> None:
    with connected_to_the_impatient() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        assert answers(connection).startswith(b"HTTP/1.1 200")


def test_a_second_head_has_its_own_timeout() -> None:
    with connected_to_the_impatient() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET / HTTP/1.1\r\nHost")

        assert answers(connection) == b""


@pytest.mark.parametrize("begins_no_request", [b"\n", b"\r", b"\r\n\r\n"])
def test_bytes_that_begin_no_request_keep_no_connection_open(begins_no_request: bytes) -> None:
    """A single byte after a response kept the connection for ever. The usual timeout is a minute in these tests."""
    with connected_to_the_impatient() as connection:
        connection.sendall(b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        connection.sendall(begins_no_request)

        assert answers(connection) == b""


def test_a_byte_at_a_time_does_not_extend_the_timeout() -> None:
    with connected_to_the_impatient() as connection:
        connection.sendall(b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        connection.settimeout(0.02)

        assert drips_until_closed(connection, b"\n")


def test_the_rest_of_a_body_that_was_answered_has_a_timeout() -> None:
    with connected_to_the_impatient() as connection:
        connection.sendall(b"POST /quick HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\na")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        connection.settimeout(0.02)

        assert drips_until_closed(connection, b"b")


def test_a_connection_whose_timeout_runs_is_usable_for_the_next_request() -> None:
    with connected_to_the_impatient() as connection:
        for _ in range(3):
            connection.sendall(b"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("header", [b"", b"Connection: close\r\n"])
def test_a_client_that_does_not_read_its_response_is_disconnected(header: bytes) -> None:
    with listening(slow_app, LoneProtocol) as url, connection_to(url) as connection:
        connection.sendall(b"GET /large?30000000 HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")

        assert not is_served(url)  # a second connection, beside the one that nobody reads
        wait_until(lambda: is_served(url))


def test_a_client_that_reads_slowly_gets_all_of_its_response() -> None:
    """In pieces that take several periods, each with progress."""
    with connected_to_the_impatient() as connection:
        connection.sendall(b"GET /large?30000000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received, pause = 0, threading.Event()
        while piece := connection.recv(1_000_000):
            received += len(piece)
            pause.wait(0.02)

    assert received > 30_000_000


def test_a_connection_beyond_the_limit_gets_a_503() -> None:
    with listening(slow_app, SmallProtocol) as url, ExitStack() as stack:
        kept = [stack.enter_context(connection_to(url)) for _ in range(3)]
        for connection in kept:
            connection.sendall(b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        with connection_to(url) as surplus:
            surplus.sendall(b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n")
            head, _, body = answers(surplus).partition(b"\r\n\r\n")
        with connection_to(url) as silent:
            assert answers(silent) == b""
        kept.pop().close()

        assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"\r\nRetry-After: 1\r\n" in head
        assert json.loads(body)["code"] == "unavailable"
        assert json.loads(body)["detail"].startswith("This process has as many connections as it accepts.")
        wait_until(lambda: is_served(url))


def is_served(url: str) -> bool:
    with connection_to(url) as connection:
        connection.sendall(b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n")
        return connection.recv(1000).startswith(b"HTTP/1.1 200")


def drips_until_closed(connection: socket.socket, drip: bytes, most: int = 1000) -> bool:
    """Whether the other side ends the connection although a byte arrives from time to time."""
    for _ in range(most):
        try:
            connection.sendall(drip)
            if connection.recv(1000) == b"":
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False
