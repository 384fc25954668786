"""What is written and read on a connection, how fast, and what is left of it."""

import asyncio
import gc
import ssl
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest

from api.kit.egress.policy import CheckedUrl, EgressPolicy, check_url
from api.kit.egress.resolver import Resolver
from api.kit.http_client.client import Exchange, HttpClient
from api.kit.http_client.response import ResponseLimits
from api.kit.transport_errors import AddressBlocked, ConnectionFailed, TransportTimeout
from tests.fakes.raw_upstream import closing_after, dripping, pouring, raw, responding, silent, upstream
from tests.kit.http_client.upstream_client import LOOPBACK, client_and_upstream

ENDLESS = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.fixture(params=[pytest.param("asyncio", marks=pytest.mark.slow), "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@asynccontextmanager
async def serving(
    server: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[tuple[HttpClient, CheckedUrl]]:
    created, out = await asyncio.start_server(server, "127.0.0.1", 0), HttpClient(LOOPBACK)
    try:
        yield out, check_url(f"http://127.0.0.1:{created.sockets[0].getsockname()[1]}/", LOOPBACK)
    finally:
        created.close()
        await out.close()


async def body(out: HttpClient, target: CheckedUrl, seconds: float = 5, sent: bytes = b"") -> bytes:
    async with out.request("POST", target, {}, sent, pool="a", seconds=seconds) as reply:
        return await reply.read()


@pytest.mark.requirement("EGR-12")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "a\r\nY: b"),
        ("X", "a\nY: b"),
        ("X", "a\rY: b"),
        ("X", "a\0"),
        ("X", "\r\n"),
        ("X", "日"),
        ("X\r\nY", "a"),
        ("X Y", "a"),
        ("X:", "a"),
        ("", "a"),
        ("Ü", "a"),
    ],
)
async def test_a_header_cannot_inject_a_line(name: str, value: str) -> None:
    async with client_and_upstream(responding()) as (out, target, there):
        for _ in range(2):
            with pytest.raises(AddressBlocked):
                async with out.request("GET", target, {name: value}, pool="a", seconds=5):
                    pass

        assert there.connections == 0


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/a HTTP/1.1"), ("GET", "/\r\nX: y"), ("GET /", "/"), ("GE\nT", "/"), ("", "/")]
)
async def test_an_ambiguous_request_line_is_refused(method: str, path: str) -> None:
    async with client_and_upstream(responding()) as (out, target, there):
        odd = CheckedUrl("", "http", "127.0.0.1", there.port, path, target.address)
        with pytest.raises(AddressBlocked):
            async with out.request(method, odd, {}, pool="a", seconds=5):
                pass

        assert there.connections == 0


@pytest.mark.parametrize(("method", "text"), [("POST", "0"), ("PUT", "0"), ("GET", None), ("DELETE", None)])
async def test_a_content_length_is_sent_where_a_body_is_expected(method: str, text: str | None) -> None:
    async with client_and_upstream(responding()) as (out, target, there):
        async with out.request(method, target, {"X": "\xfc"}, pool="a", seconds=5):
            pass

        assert there.requests[0].headers.get("content-length") == text
        assert there.requests[0].headers["x"] == "\xfc"


async def test_a_response_that_precedes_the_end_of_the_request_is_accepted() -> None:
    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno")
        left.set_result(writer)

    left = asyncio.get_running_loop().create_future()
    async with serving(hasty) as (out, target):
        assert await body(out, target, sent=b"x" * 50_000_000) == b"no"
        assert not any(pool._free for pool in out._pools.values())
        (await left).transport.abort()


async def test_a_long_body_is_sent_at_the_pace_of_the_upstream() -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        met.set()
        await go_on.wait()
        arrived.append(await reader.readexactly(size))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await asyncio.sleep(0)
        writer.close()

    size, arrived, met, go_on = 50_000_000, list[bytes](), asyncio.Event(), asyncio.Event()
    async with serving(slow) as (out, target):
        asking = asyncio.ensure_future(body(out, target, sent=b"x" * size + b"end"))
        await asyncio.wait_for(met.wait(), 5)
        for _ in range(1000):
            await asyncio.sleep(0)
        connection = next(iter(next(iter(out._pools.values()))._open))
        assert connection._unsent
        go_on.set()
        assert await asking == b"ok"

    assert arrived[0].endswith(b"xxx")


@pytest.mark.requirement("EGR-17")
async def test_reading_pauses_while_the_caller_does_not_consume() -> None:
    async with (
        client_and_upstream(pouring(ENDLESS, b"x" * 65_536)) as (out, target, there),
        out.request(
            "GET", target, {}, pool="a", seconds=5, limits=ResponseLimits(wire=30_000_000, decoded=30_000_000)
        ) as reply,
    ):
        chunks, taken = reply.chunks(), 0
        tracemalloc.start()
        while taken < 20_000_000:
            taken += len(await anext(chunks))
            for _ in range(10):
                await asyncio.sleep(0)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert len(there.requests) == 1
    assert peak < 8_000_000


async def test_a_body_without_a_length_is_complete_only_after_an_orderly_close() -> None:
    async with client_and_upstream(closing_after(ENDLESS, b"hello")) as (out, target, _):
        assert await body(out, target) == b"hello"
    async with client_and_upstream(raw(ENDLESS + b"hello")) as (out, target, there):
        async with out.request("GET", target, {}, pool="a", seconds=0.1) as reply:
            await asyncio.wait_for(there.disconnected.wait(), 5)
            with pytest.raises(TransportTimeout):
                await reply.read()
        async with out.request("GET", target, {}, pool="a", seconds=5) as reply:
            await out.close()
            with pytest.raises(ConnectionFailed):
                await reply.read()


async def test_nothing_is_read_after_a_release() -> None:
    async with client_and_upstream(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")) as (out, target, _):
        async with out.request("GET", target, {}, pool="a", seconds=5) as reply:
            pass
        with pytest.raises(ConnectionFailed):
            await reply.read()


async def test_errors_are_translated_for_the_caller() -> None:
    class Own(Exception):
        pass

    async with client_and_upstream(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")) as (out, target, _):
        for call in (reading, streaming):
            with pytest.raises(Own) as caught:
                await call(out.request("GET", target, {}, pool="a", seconds=0.1, translate=lambda _: Own()))
            assert isinstance(caught.value.__cause__, TransportTimeout)
        closed = CheckedUrl("", "http", "127.0.0.2", 1, "/", ip_address("127.0.0.2"))
        with pytest.raises(Own) as caught:
            await reading(out.request("GET", closed, {}, pool="a", seconds=5, translate=lambda _: Own()))
        assert isinstance(caught.value.__cause__, ConnectionFailed)


async def reading(exchange: Exchange) -> None:
    async with exchange as reply:
        await reply.read()


async def streaming(exchange: Exchange) -> None:
    async with exchange as reply:
        async for _ in reply.chunks():
            pass


@pytest.mark.requirement("REL-13")
@pytest.mark.parametrize("stage", ["name", "dial", "handshake", "head", "body", "write"])
async def test_a_thousand_cancelled_requests_leave_no_state(stage: str) -> None:
    answer = dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", pause=1) if stage == "body" else silent()
    loop, scheme = asyncio.get_running_loop(), "https" if stage == "handshake" else "http"
    async with upstream(answer) as there:
        out = HttpClient(LOOPBACK, names=Resolver(lambda _: ["127.0.0.1"]), trust=ssl.create_default_context())
        target = check_url(there.url(host="api.example.com", scheme=scheme), EgressPolicy.parse("api.example.com"))
        await cancelled_requests(out, target, stage, 20)
        tasks, files = len(asyncio.all_tasks(loop)), open_files()
        await cancelled_requests(out, target, stage, 1000)
        await out.close()

        gc.collect()
        assert len(asyncio.all_tasks(loop)) <= tasks
        assert open_files() <= files + 4
        assert not any(pool.busy for pool in out._pools.values())


TURNS = {"name": 1, "dial": 8, "handshake": 30, "head": 40, "body": 60, "write": 60}


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def cancelled_requests(out: HttpClient, target: CheckedUrl, stage: str, count: int) -> None:
    for first in range(0, count, 20):
        sent = b"x" * 3_000_000 if stage == "write" and first == 0 else b""
        asking = [asyncio.ensure_future(body(out, target, sent=sent)) for _ in range(20)]
        for _ in range(TURNS[stage]):
            await asyncio.sleep(0)
        for item in asking:
            item.cancel()
        results = await asyncio.gather(*asking, return_exceptions=True)
        assert {type(result) for result in results} == {asyncio.CancelledError}
        for _ in range(40):
            await asyncio.sleep(0)
