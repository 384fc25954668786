"""Bytes that arrive on an idle connection, and that the event loop has not read when the next request begins."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from api.kit.egress.policy import CheckedUrl, check_url
from api.kit.http_client.client import HttpClient
from tests.kit.http_client.upstream_client import LOOPBACK

PATIENCE = 10.0


@dataclass
class PushyServer:
    """Answers a request on each of two connections. Between them it sends something on the first one."""

    url: str
    may_push: threading.Event = field(default_factory=threading.Event)
    has_pushed: threading.Event = field(default_factory=threading.Event)


@contextmanager
def pushing(unasked: bytes) -> Iterator[PushyServer]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        server = PushyServer(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        thread = threading.Thread(target=_serve, args=(listening, server, unasked), daemon=True)
        thread.start()
        yield server
        thread.join(PATIENCE)


def _serve(listening: socket.socket, server: PushyServer, unasked: bytes) -> None:
    first, _ = listening.accept()
    with first:
        _answer(first, b"first")
        server.may_push.wait(PATIENCE)
        first.sendall(unasked)
        if not unasked:
            first.shutdown(socket.SHUT_WR)
        server.has_pushed.set()
        second, _ = listening.accept()
        with second:
            _answer(second, b"second")


def _answer(connection: socket.socket, body: bytes) -> None:
    connection.settimeout(PATIENCE)
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


@pytest.mark.parametrize("unasked", [b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nunasked", b"\r", b""])
async def test_a_connection_with_unread_bytes_is_not_used_again(unasked: bytes) -> None:
    """The test holds the event loop until the bytes are there. Without any the server has closed its side."""
    with pushing(unasked) as server:
        out, target = HttpClient(LOOPBACK), check_url(server.url, LOOPBACK)
        assert await body(out, target) == b"first"
        server.may_push.set()
        assert server.has_pushed.wait(PATIENCE)

        assert await body(out, target) == b"second"
        await out.close()


async def body(out: HttpClient, target: CheckedUrl) -> bytes:
    async with out.request("GET", target, {}, pool="a", seconds=PATIENCE) as reply:
        return await reply.read()
