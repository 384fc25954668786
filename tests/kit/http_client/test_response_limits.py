"""An upstream can take neither more time nor more memory than it was given."""

import asyncio
import gzip
import time
import tracemalloc
import zlib

import pytest

from api.kit.egress.policy import CheckedUrl, check_url
from api.kit.http_client.client import HttpClient
from api.kit.http_client.response import STREAMED_PIECE, ResponseLimits
from api.kit.transport_errors import (
    ConnectionFailed,
    MalformedResponse,
    ResponseTooLarge,
    TransportError,
    TransportTimeout,
)
from tests.fakes.bombs import gzipped_zeros
from tests.fakes.raw_upstream import Responder, dripping, pouring, raw, responding, silent
from tests.kit.http_client.upstream_client import LOOPBACK, client_and_upstream

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
USUAL = ResponseLimits()
ENDLESS = HEAD + b"\r\n"


@pytest.fixture(params=[pytest.param("asyncio", marks=pytest.mark.slow), "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


async def body(
    out: HttpClient, target: CheckedUrl, seconds: float = 5, limits: ResponseLimits = USUAL, sent: bytes = b""
) -> bytes:
    async with out.request("POST", target, {}, sent, pool="a", seconds=seconds, limits=limits) as reply:
        return await reply.read()


async def failure(responder: Responder, seconds: float = 5, limits: ResponseLimits = USUAL) -> TransportError:
    async with client_and_upstream(responder) as (out, target, there):
        with pytest.raises(TransportError) as caught:
            await body(out, target, seconds, limits)
        if isinstance(caught.value, TransportTimeout):
            await asyncio.wait_for(there.disconnected.wait(), 1)
    return caught.value


@pytest.mark.requirement("REL-12")
@pytest.mark.parametrize(
    "responder",
    [
        pytest.param(silent(), id="silent"),
        pytest.param(dripping(HEAD + b"X: "), id="a head byte by byte"),
        pytest.param(dripping(HEAD + b"Content-Length: 9999\r\n\r\n"), id="a body byte by byte"),
        pytest.param(dripping(CHUNKED, b"1\r\nx\r\n"), id="chunks byte by byte"),
        pytest.param(dripping(ENDLESS, b": still here\n\n"), id="endless events"),
        pytest.param(raw(HEAD + b"Content-Length: 9\r\n\r\nabc"), id="a body that stops"),
    ],
)
async def test_the_deadline_covers_every_phase_of_a_request(responder: Responder) -> None:
    begun = time.monotonic()
    error = await failure(responder, 0.3)

    assert isinstance(error, TransportTimeout)
    assert error.sent
    assert time.monotonic() - begun < 0.3 + 1


@pytest.mark.requirement("REL-12")
async def test_chunks_are_delivered_on_arrival_until_the_deadline() -> None:
    async with (
        client_and_upstream(dripping(ENDLESS, b"data: 1\n\n")) as (out, target, _),
        out.request("GET", target, {}, pool="a", seconds=0.3) as reply,
    ):
        chunks = reply.chunks()
        assert (await anext(chunks)).startswith(b"data: 1\n\n")
        with pytest.raises(TransportTimeout):
            [chunk async for chunk in chunks]


@pytest.mark.requirement("REL-12")
async def test_an_upstream_that_does_not_read_times_out() -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left.set_result((reader, writer))

    left = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(deaf, "127.0.0.1", 0)
    out = HttpClient(LOOPBACK)
    target = check_url(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", LOOPBACK)
    with pytest.raises(TransportTimeout):
        await body(out, target, 0.3, sent=b"x" * 50_000_000)
    reader, writer = await left
    try:
        arrived = len(await asyncio.wait_for(reader.read(), 1))
    except ConnectionError:
        arrived = 0
    assert arrived < 50_000_000
    writer.transport.abort()
    server.close()
    await out.close()


@pytest.mark.requirement("EGR-17")
@pytest.mark.parametrize(
    "responder",
    [
        pytest.param(responding(b"x" * 1001), id="long"),
        pytest.param(pouring(ENDLESS, b"x" * 100), id="endless"),
        pytest.param(pouring(CHUNKED, b"64\r\n" + b"x" * 100 + b"\r\n"), id="endless chunks"),
        pytest.param(responding(gzip.compress(b"x" * 1001, mtime=0), Content_Encoding="gzip"), id="decoded"),
        pytest.param(responding(zlib.compress(b"x" * 1001), Content_Encoding="deflate"), id="deflated"),
        pytest.param(responding(b"x", X="x" * 1000), id="head"),
        pytest.param(responding(b"x", X="x" * 20_000), id="field"),
        pytest.param(responding(b"x", **{f"X{n}": "" for n in range(50)}), id="fields"),
        pytest.param(pouring(HEAD, b"X: y\r\n"), id="endless head"),
        pytest.param(pouring(HEAD + b"X: ", b"y" * 1000), id="endless field"),
        pytest.param(pouring(CHUNKED + b"1;", b"y" * 10_000), id="endless extension"),
        pytest.param(pouring(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="endless heads"),
    ],
)
async def test_a_response_over_the_limit_is_cut_off(responder: Responder) -> None:
    error = await failure(responder, limits=ResponseLimits(head=300, wire=1000, decoded=1000))

    assert isinstance(error, (ResponseTooLarge, MalformedResponse, ConnectionFailed))
    assert error.sent


@pytest.mark.requirement("EGR-17")
@pytest.mark.parametrize("size", [999, 1000])
async def test_a_response_at_the_limit_is_accepted(size: int) -> None:
    async with client_and_upstream(responding(b"x" * size)) as (out, target, _):
        assert len(await body(out, target, limits=ResponseLimits(wire=1000, decoded=1000))) == size


@pytest.mark.requirement("EGR-18")
@pytest.mark.parametrize(
    ("encoding", "encoded"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("X-GZIP", gzip.compress(b"hello", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("identity", b"hello"),
    ],
)
async def test_an_unrequested_content_encoding_is_decoded(encoding: str, encoded: bytes) -> None:
    async with client_and_upstream(responding(encoded, Content_Encoding=encoding)) as (out, target, _):
        assert await body(out, target) == b"hello"


@pytest.mark.requirement("EGR-18")
@pytest.mark.parametrize(
    ("encoding", "encoded"),
    [
        ("br", b"x"),
        ("zstd", b"x"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x", mtime=0), mtime=0)),
        ("gzip", b"no gzip"),
        ("gzip", gzip.compress(b"x" * 100, mtime=0)[:-4]),
        ("gzip", gzip.compress(b"x", mtime=0) + b"more"),
        ("gzip", gzip.compress(b"x", mtime=0) * 2),
    ],
)
async def test_an_unknown_content_encoding_is_an_error(encoding: str, encoded: bytes) -> None:
    assert isinstance(await failure(responding(encoded, Content_Encoding=encoding)), MalformedResponse)


@pytest.mark.parametrize("encoded", [b"", gzip.compress(b"", mtime=0)])
async def test_an_empty_body_may_have_a_content_encoding(encoded: bytes) -> None:
    async with client_and_upstream(responding(encoded, Content_Encoding="gzip")) as (out, target, _):
        assert await body(out, target) == b""


@pytest.mark.requirement("EGR-17")
async def test_a_decompression_bomb_uses_little_memory() -> None:
    bomb = gzipped_zeros(200)
    async with client_and_upstream(responding(bomb, Content_Encoding="gzip")) as (out, target, _):
        tracemalloc.start()
        with pytest.raises(ResponseTooLarge):
            await body(out, target, limits=ResponseLimits(decoded=1_000_000_000))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert peak < 32_000_000


@pytest.mark.parametrize("start", [b"SSH-2.0-OpenSSH_9\r\n", b"HTTP/1.1 999999 OK\r\n\r\n", b"HTTP/1.1 101 Go\r\n\r\n"])
async def test_a_response_that_is_not_http_is_malformed(start: bytes) -> None:
    assert isinstance(await failure(raw(start)), MalformedResponse)


@pytest.mark.requirement("EGR-19")
async def test_an_unread_body_is_not_drained() -> None:
    async with client_and_upstream(pouring(HEAD.replace(b"200", b"302") + b"\r\n", b"x" * 1000)) as (
        out,
        target,
        there,
    ):
        async with out.request("GET", target, {}, pool="a", seconds=5) as reply:
            assert reply.status == 302
        await asyncio.wait_for(there.disconnected.wait(), 1)


@pytest.mark.requirement("REL-13")
@pytest.mark.parametrize(
    "responder", [silent(), dripping(HEAD + b"Content-Length: 9999\r\n\r\n")], ids=["head", "body"]
)
async def test_a_cancelled_request_closes_its_connection_at_once(responder: Responder) -> None:
    async with client_and_upstream(responder) as (out, target, there):
        asking = asyncio.ensure_future(body(out, target))
        await asyncio.wait_for(there.request_received.wait(), 5)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(there.disconnected.wait(), 0.1)
        assert not any(pool.busy for pool in out._pools.values())


async def test_other_tasks_run_between_the_pieces_of_a_stream() -> None:
    """Sixteen streams at once, each of a megabyte, have a single piece in a turn of the loop."""
    pieces, most = 0, 0

    async def read(out: HttpClient, target: CheckedUrl) -> None:
        nonlocal pieces
        async with out.request("GET", target, {}, pool="a", seconds=20) as reply:
            is_first = True  # which waits for no turn: most responses are short
            async for piece in reply.chunks():
                assert len(piece) <= STREAMED_PIECE
                pieces += len(piece) == STREAMED_PIECE and not is_first
                is_first = False

    megabyte = raw(HEAD + b"Content-Length: 1048576\r\n\r\n" + bytes(1_048_576))
    async with client_and_upstream(megabyte) as (out, target, _):
        streams = [asyncio.create_task(read(out, target)) for _ in range(16)]
        while not all(stream.done() for stream in streams):
            before = pieces
            await asyncio.sleep(0)
            most = max(most, pieces - before)
        await asyncio.gather(*streams)

    assert pieces > 16 * 32
    assert most <= 4
