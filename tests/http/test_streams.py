"""Requests that come slowly, break off or are no HTTP."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from tests.harness import Workspace
from tests.http.operations_on_workspace import PopulatedWorkspace

PATIENCE_SECONDS = 20.0
MEGABYTE = 1_048_576


@contextmanager
def connected(workspace: Workspace) -> Iterator[socket.socket]:
    host, _, port = workspace.plugboard.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as connection:
        yield connection


def head(workspace: Workspace, *lines: str, method: str = "POST") -> bytes:
    values = [
        f"{method} {workspace.servers} HTTP/1.1",
        "Host: plugboard.example.com",
        f"Authorization: Bearer {workspace.key}",
        "Content-Type: application/json",
        "Connection: close",
        *lines,
    ]
    return "\r\n".join([*values, "", ""]).encode("latin-1")


def answer(connection: socket.socket) -> bytes:
    """All that comes until the server closes."""
    received = b""
    while chunk := connection.recv(65_536):
        received += chunk
    return received


def one_answer(connection: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"}"):
        received += connection.recv(65_536)
    return received


def is_healthy(workspace: Workspace) -> bool:
    return workspace.admin.get(workspace.servers).status_code == 200


def test_a_body_sent_byte_by_byte_is_read(workspace: Workspace) -> None:
    body = b'{"name":"Slow","authType":"none","url":"https://a.example.com/mcp"}'
    with connected(workspace) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head(workspace, f"Content-Length: {len(body)}"))
        for byte in body:
            connection.sendall(bytes([byte]))
        assert answer(connection).startswith(b"HTTP/1.1 201 ")

    assert [item["name"] for item in workspace.admin.get(workspace.servers).json()] == ["Slow"]


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        (["Content-Length: 1000"], b'{"name":"Half"'),
        (["Content-Length: 1000"], b""),
        (["Content-Length: 67"], b'{"name":"Half","authType":"none","url":"https://a.example.com/mcp"'),
        (["Transfer-Encoding: chunked"], b'e\r\n{"name":"Half"\r\n'),
        (["Transfer-Encoding: chunked"], b'42\r\n{"name":"Half","authType":"none","url":"https://a.example.com/mcp"}'),
        (["Content-Length: 20000000"], b" " * 3 * MEGABYTE),
    ],
    ids=["half", "nothing", "all but a byte", "half in chunks", "a last chunk missing", "too large"],
)
def test_a_client_that_disconnects_while_sending_changes_nothing(
    workspace: Workspace, lines: list[str], part: bytes
) -> None:
    for _ in range(20):
        with connected(workspace) as connection:
            connection.sendall(head(workspace, *lines) + part)

    assert is_healthy(workspace)
    assert workspace.admin.get(workspace.servers).json() == []


def test_a_client_that_disconnects_before_the_response_does_no_harm(world: PopulatedWorkspace) -> None:
    for _ in range(50):
        with connected(world.workspace) as connection:
            connection.sendall(head(world.workspace, method="GET"))

    assert is_healthy(world.workspace)


def test_a_stalled_client_delays_no_other(world: PopulatedWorkspace) -> None:
    with connected(world.workspace) as waiting:
        waiting.sendall(head(world.workspace, "Content-Length: 1000") + b"{")

        assert is_healthy(world.workspace)


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: -5"],
        ["Content-Length: x"],
        ["Content-Length: 2", "Content-Length: 3"],
        ["Content-Length: 2", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked, identity"],
        ["X-Header: a\x00b"],
        ["X-Header: a\nX-Request-Id: smuggled-1"],
        ["X Header: a"],
        [": a"],
    ],
    ids=lambda lines: " and ".join(lines).encode("unicode_escape").decode(),
)
def test_an_ambiguous_request_is_refused(world: PopulatedWorkspace, lines: list[str]) -> None:
    with connected(world.workspace) as connection:
        connection.sendall(head(world.workspace, *lines) + b"{}")
        received = answer(connection)

    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"smuggled" not in received
    assert is_healthy(world.workspace)


def test_two_authorization_headers_are_refused(world: PopulatedWorkspace) -> None:
    with connected(world.workspace) as connection:
        connection.sendall(head(world.workspace, "Authorization: Bearer other", method="GET"))

        assert answer(connection).startswith(b"HTTP/1.1 401 ")


def test_413_reaches_a_client_that_reads_only_after_sending(workspace: Workspace) -> None:
    size = 10 * MEGABYTE
    with connected(workspace) as connection:
        connection.sendall(head(workspace, f"Content-Length: {size}"))
        connection.sendall(b"x" * size)

        assert answer(connection).startswith(b"HTTP/1.1 413 ")


def test_the_connection_stays_usable_after_a_413(workspace: Workspace) -> None:
    headers = {"Content-Type": "application/json"}

    assert workspace.admin.post(workspace.servers, content=b"x" * 10 * MEGABYTE, headers=headers).status_code == 413
    assert is_healthy(workspace)


def test_an_endless_body_is_cut_off(workspace: Workspace) -> None:
    chunk = b"100000\r\n" + b" " * MEGABYTE + b"\r\n"
    with connected(workspace) as connection:
        connection.sendall(head(workspace, "Transfer-Encoding: chunked"))
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            connection.sendall(chunk * 80)

    assert is_healthy(workspace)


def test_20_concurrent_large_bodies_delay_no_other_request(world: PopulatedWorkspace) -> None:
    statuses: list[int] = []

    def send() -> None:
        with httpx2.Client(trust_env=False, timeout=PATIENCE_SECONDS) as client:
            headers = {"Authorization": f"Bearer {world.workspace.key}", "Content-Type": "application/json"}
            url = world.workspace.plugboard.url + world.workspace.servers
            statuses.append(client.post(url, content=b"x" * 2 * MEGABYTE, headers=headers).status_code)

    threads = [threading.Thread(target=send) for _ in range(20)]
    for thread in threads:
        thread.start()
    assert is_healthy(world.workspace)
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert statuses == [413] * 20


def test_an_endless_head_is_cut_off(world: PopulatedWorkspace) -> None:
    with connected(world.workspace) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            connection.sendall((b"X-Header: " + b"x" * 10_000 + b"\r\n") * 4000)

    assert is_healthy(world.workspace)


@pytest.mark.parametrize("part", [b"X-Header: " + b"x" * 10_000 + b"\r\n", b"x" * 10_000], ids=["many", "one"])
def test_endless_trailers_are_cut_off(world: PopulatedWorkspace, part: bytes) -> None:
    with connected(world.workspace) as connection:
        connection.sendall(
            b"POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-First: "
        )
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            connection.sendall(part * 4000)

    assert is_healthy(world.workspace)


def test_a_long_chunked_body_does_not_count_as_head(workspace: Workspace) -> None:
    body = b'{"name":"Long","authType":"none","url":"https://a.example.com/mcp"}'.ljust(MEGABYTE)
    with connected(workspace) as connection:
        connection.sendall(head(workspace, "Transfer-Encoding: chunked"))
        for start in range(0, len(body), 4096):
            connection.sendall(b"1000\r\n" + body[start : start + 4096] + b"\r\n")
        connection.sendall(b"0\r\nX-Trailer: yes\r\n\r\n")

        assert answer(connection).startswith(b"HTTP/1.1 201 ")


@pytest.mark.parametrize("part", [b"X-Header: " + b"x" * 7_000 + b"\r\n", b"x" * 7_000], ids=["many", "one"])
def test_a_head_that_is_too_long_gets_a_response(world: PopulatedWorkspace, part: bytes) -> None:
    with connected(world.workspace) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nX-First: ")
        for _ in range(10):
            connection.sendall(part)

        assert answer(connection).startswith(b"HTTP/1.1 431 ")


def test_each_head_on_a_connection_is_counted_separately(world: PopulatedWorkspace) -> None:
    with connected(world.workspace) as connection:
        for _ in range(4):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
            connection.sendall(b"X-Header: " + b"x" * 40_000 + b"\r\n\r\n")
            assert one_answer(connection).startswith(b"HTTP/1.1 200 ")


def test_a_long_body_does_not_count_as_head(workspace: Workspace) -> None:
    body = b'{"name":"Long","authType":"none","url":"https://a.example.com/mcp"}'.ljust(MEGABYTE)
    with connected(workspace) as connection:
        connection.sendall(head(workspace, f"Content-Length: {len(body)}"))
        for start in range(0, len(body), 10_000):
            connection.sendall(body[start : start + 10_000])

        assert answer(connection).startswith(b"HTTP/1.1 201 ")
