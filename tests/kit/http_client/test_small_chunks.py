"""An upstream that sends its body in tiny chunks holds nothing up, and one that sends short events is read."""

import asyncio

import pytest

from api.kit.egress.policy import CheckedUrl, check_url
from api.kit.http_client.client import HttpClient
from api.kit.http_client.response import ENDLESS, ResponseLimits
from api.kit.transport_errors import ResponseTooLarge
from tests.cpu_time import longest_turn
from tests.fakes.raw_upstream import closing_after, raw, upstream_in_thread
from tests.fuzz.stall_work import slowness
from tests.kit.http_client.upstream_client import LOOPBACK, client_and_upstream

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
LONGEST_TURN = 0.05
"""Of CPU, as `tests/fuzz` allows."""
USUAL = ResponseLimits()


def in_chunks(body: bytes, size: int) -> bytes:
    parts = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


async def body(out: HttpClient, target: CheckedUrl, limits: ResponseLimits = USUAL) -> bytes:
    async with out.request("POST", target, {}, b"", pool="a", seconds=20, limits=limits) as reply:
        return await reply.read()


async def streamed(out: HttpClient, target: CheckedUrl, most: int) -> int:
    read = 0
    async with out.request("POST", target, {}, b"", pool="a", seconds=20, limits=ENDLESS) as reply:
        async for piece in reply.chunks():
            read += len(piece)
            if read >= most:
                break
    return read


@pytest.mark.parametrize("size", [1, 3])
async def test_many_bodies_in_tiny_chunks_at_once_hold_nothing_up(size: int) -> None:
    answer = CHUNKED + in_chunks(b" " * 400_000, size) + END
    with upstream_in_thread(raw(answer)) as there:
        out, target = HttpClient(LOOPBACK), check_url(there.url(), LOOPBACK)
        try:
            turns = [
                await longest_turn(asyncio.gather(*(body(out, target) for _ in range(16)), return_exceptions=True))
                for _ in range(3)
            ]
        finally:
            await out.close()

    assert min(turns) < LONGEST_TURN * slowness()


@pytest.mark.slow
async def test_many_streams_in_tiny_chunks_at_once_hold_nothing_up() -> None:
    answer = CHUNKED + in_chunks(b" " * 200_000, 1)
    with upstream_in_thread(raw(answer)) as there:
        out, target = HttpClient(LOOPBACK), check_url(there.url(), LOOPBACK)
        try:
            turns = [
                await longest_turn(asyncio.gather(*(streamed(out, target, 200_000) for _ in range(16))))
                for _ in range(3)
            ]
        finally:
            await out.close()

    assert min(turns) < LONGEST_TURN * slowness()


async def test_a_long_body_in_chunks_of_one_byte_is_refused() -> None:
    async with client_and_upstream(raw(CHUNKED + in_chunks(b" " * 100_000, 1) + END)) as (out, target, _):
        with pytest.raises(ResponseTooLarge, match="exceeds the size limit"):
            await body(out, target)


@pytest.mark.parametrize(("size", "events"), [(20, 100_000), (1, 20_000), (5000, 1000), (300_000, 9)])
async def test_a_body_in_usual_chunks_is_read_whole(size: int, events: int) -> None:
    sent = b"".join(b"%020d" % number for number in range(size * events // 20))
    async with client_and_upstream(raw(CHUNKED + in_chunks(sent, size) + END)) as (out, target, _):
        assert await body(out, target) == sent
        assert await body(out, target) == sent


async def test_what_a_closed_connection_had_sent_is_read_whole() -> None:
    async with client_and_upstream(closing_after(CHUNKED + in_chunks(b"x" * 60_000, 1) + END)) as (out, target, _):
        assert await body(out, target) == b"x" * 60_000


async def test_a_stream_of_tiny_chunks_may_last() -> None:
    async with client_and_upstream(raw(CHUNKED + in_chunks(b":\n\n" * 100_000, 3))) as (out, target, _):
        assert await streamed(out, target, 300_000) >= 300_000
