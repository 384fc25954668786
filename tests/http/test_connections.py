"""Limits of a connection before authentication."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from litestar.types import Receive, Scope, Send

from api.http.server.protocol import MAX_WAITING_REQUESTS, LimitedHttpProtocol
from tests.harness import Workspace, listening


@contextmanager
def connected(workspace: Workspace) -> Iterator[socket.socket]:
    host, port = workspace.plugboard.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        yield connection


class ImpatientProtocol(LimitedHttpProtocol):
    head_seconds = 0.2


async def slow_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Takes longer to answer than a head may take to come."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    await asyncio.sleep(2 * ImpatientProtocol.head_seconds)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


@contextmanager
def connected_to_the_impatient() -> Iterator[socket.socket]:
    with listening(slow_app, ImpatientProtocol) as url:
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
