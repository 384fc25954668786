"""A key has to be valid when something is written, not only when the request's head arrives."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api.kit.clock import rfc3339
from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.harness import Workspace, served

BODY = json.dumps({"name": "Backdoor", "scope": "admin"}).encode()


class DelayedBody:
    """A request whose head and first bytes are sent, and whose rest comes when `finish` is called."""

    def __init__(self, connection: socket.socket, rest: bytes) -> None:
        self._connection = connection
        self._rest = rest

    def finish(self) -> int:
        self._connection.sendall(self._rest)
        status_line = self._connection.makefile("rb").readline()
        return int(status_line.split()[1])


@contextmanager
def delayed_body(workspace: Workspace, key: str) -> Iterator[DelayedBody]:
    host, port = workspace.plugboard.url.removeprefix("http://").split(":")
    head = (
        f"POST {workspace.api_keys} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\nExpect: 100-continue\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # the guard has let it in and the body is awaited
        connection.sendall(BODY[:5])
        yield DelayedBody(connection, BODY[5:])


@pytest.mark.requirement("AUT-04")
def test_a_key_revoked_while_the_body_arrives_creates_nothing(any_workspace: Workspace) -> None:
    thief = any_workspace.make_key("admin")
    with delayed_body(any_workspace, thief["apiKey"]) as request:
        any_workspace.admin.delete(f"{any_workspace.api_keys}/{thief['id']}")

        assert request.finish() == 401

    assert "Backdoor" not in [key["name"] for key in any_workspace.admin.get(any_workspace.api_keys).json()]


@pytest.mark.requirement("AUT-04")
def test_a_key_that_expires_while_the_body_arrives_creates_nothing(tmp_path: Path) -> None:
    clock = StillClock()
    with served(Settings(data_dir=tmp_path), clock) as plugboard:
        workspace = plugboard.make_workspace()
        brief = workspace.make_key("admin", expiresAt=rfc3339(clock.now() + 60))
        with delayed_body(workspace, brief["apiKey"]) as request:
            clock.advance(61)

            assert request.finish() == 401


def test_a_slow_body_does_not_affect_a_valid_key(workspace: Workspace) -> None:
    with delayed_body(workspace, workspace.key) as request:
        workspace.make_server()

        assert request.finish() == 201
