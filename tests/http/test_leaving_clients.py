"""Clients that leave before they have their response. That is nothing to be warned of."""

import logging
import socket
import struct

import pytest
from litestar.types import Receive, Scope, Send

from tests.harness import listening

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
PART = bytes(10_000)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Responds in parts, between which the client leaves. asyncio warns of the fifth write to a lost connection."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"200000")]})
    for _ in range(20):
        await send({"type": "http.response.body", "body": PART, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


@pytest.mark.parametrize("requests", [1, 2, 8])
@pytest.mark.parametrize("resets", [False, True])
def test_a_client_that_leaves_is_not_logged_as_an_error(
    requests: int, resets: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), listening(app) as url:
        host, port = url.removeprefix("http://").split(":")
        for bytes_read in (0, 1, 150_000) * 10:
            with socket.create_connection((host, int(port)), timeout=30) as connection:
                if resets:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
                connection.sendall(GET * requests)
                received = 0
                while received < bytes_read:
                    received += len(connection.recv(65_536))

    assert [record.getMessage() for record in caplog.records] == []
