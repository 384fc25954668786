"""Which connection a request goes over, and what becomes of those that are kept."""

import asyncio

import pytest

from api.kit.egress.policy import CheckedUrl, check_url
from api.kit.http_client.client import HttpClient
from api.kit.http_client.pool import MAX_CONNECTIONS
from api.kit.transport_errors import ConnectionFailed, TransportTimeout
from tests.fakes.raw_upstream import ReceivedRequest, closing_after, raw, responding, silent, upstream
from tests.kit.http_client.upstream_client import LOOPBACK, client_and_upstream

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"


@pytest.fixture(params=[pytest.param("asyncio", marks=pytest.mark.slow), "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


async def text(out: HttpClient, target: CheckedUrl, method: str = "GET", seconds: float = 5, name: str = "") -> str:
    async with out.request(method, target, {"X-Name": name}, pool="a", seconds=seconds) as reply:
        return (await reply.read()).decode()


class CountingUpstream:
    """Responds when released, and signals when a pool's limit of requests has arrived."""

    def __init__(self) -> None:
        self.full, self.go_on = asyncio.Event(), asyncio.Event()
        self._count = 0

    async def __call__(self, visit: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        self._count += 1
        if self._count == MAX_CONNECTIONS:
            self.full.set()
        await self.go_on.wait()
        await responding()(visit, writer)


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.requirement("REL-14")
async def test_an_idle_connection_that_was_closed_is_replaced_without_loss() -> None:
    async with client_and_upstream(closing_after(OK + b"\r\nok")) as (out, target, there):
        for count in range(1, 4):
            assert await text(out, target, "POST") == "ok"
            await asyncio.wait_for(there.disconnected.wait(), 5)
            there.disconnected.clear()
            assert (len(there.requests), there.connections) == (count, count)


async def test_unsolicited_bytes_on_an_idle_connection_are_not_used() -> None:
    async def again(visit: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        await responding(visit.headers["x-name"].encode())(visit, writer)
        await heard.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")

    heard = asyncio.Event()
    async with client_and_upstream(again) as (out, target, there):
        assert await text(out, target, name="one") == "one"
        heard.set()
        await asyncio.wait_for(there.disconnected.wait(), 5)
        assert await text(out, target, name="two") == "two"


@pytest.mark.parametrize(
    "response",
    [
        OK + b"\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
        OK + b"\r\nok\0",
        OK + b"Connection: close\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
)
async def test_some_responses_end_their_connection(response: bytes) -> None:
    async with client_and_upstream(raw(response)) as (out, target, there):
        assert [await text(out, target), await text(out, target)] == ["ok", "ok"]

        assert there.connections == 2


@pytest.mark.parametrize(
    ("method", "response"),
    [
        ("HEAD", OK + b"\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
        ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Late: 1\r\n\r\n"),
        ("GET", b"HTTP/1.1 103 Early\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
async def test_a_response_without_a_body_leaves_its_connection_reusable(method: str, response: bytes) -> None:
    async with client_and_upstream(raw(response)) as (out, target, there):
        assert [await text(out, target, method) for _ in range(3)] == [""] * 3

        assert there.connections == 1


@pytest.mark.requirement("EGR-19")
@pytest.mark.parametrize(("length", "connections"), [(2, 1), (3, 2)])
async def test_an_unread_body_keeps_its_connection_only_if_it_is_complete(length: int, connections: int) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode()
    async with client_and_upstream(raw(head + b"ok")) as (out, target, there):
        for _ in range(2):
            async with out.request("GET", target, {}, pool="a", seconds=5) as reply:
                assert reply.status == 200

        assert there.connections == connections


async def test_an_idle_connection_expires() -> None:
    async with client_and_upstream(responding()) as (out, target, there):
        await text(out, target)
        pool = next(iter(out._pools.values()))
        pool._free[0].idle_since -= 4
        await text(out, target)
        assert there.connections == 2

        pool._free[0].idle_since -= 4
        there.disconnected.clear()
        out._pools._sweep()
        await asyncio.wait_for(there.disconnected.wait(), 5)
        out._pools._sweep()
        assert not out._pools


async def test_open_connections_are_limited_and_waiters_are_served_in_order() -> None:
    crowd = CountingUpstream()
    async with client_and_upstream(crowd) as (out, target, there):
        first = [asyncio.ensure_future(text(out, target)) for _ in range(MAX_CONNECTIONS)]
        await asyncio.wait_for(crowd.full.wait(), 5)
        later = [asyncio.ensure_future(text(out, target, name=str(number))) for number in range(100)]
        await turns()
        assert there.connections == len(there.requests) == MAX_CONNECTIONS
        for number in range(0, 100, 2):
            later[number].cancel()
        crowd.go_on.set()
        await asyncio.gather(*first)
        results = await asyncio.gather(*later, return_exceptions=True)

        assert results.count("ok") == 50
        assert there.connections == MAX_CONNECTIONS
        assert not any(pool.busy for pool in out._pools.values())


async def test_a_free_connection_goes_to_the_longest_waiter() -> None:
    async with client_and_upstream(responding()) as (out, target, there):
        for _ in range(2):
            await text(out, target)
        pool = next(iter(out._pools.values()))
        lent = pool.take_idle()
        assert lent is not None
        pool._leased = MAX_CONNECTIONS
        order: list[int] = []

        async def ask(number: int) -> None:
            assert await text(out, target) == "ok"
            order.append(number)

        asking = [asyncio.ensure_future(ask(number)) for number in range(10)]
        await turns()
        for number in (0, 3):
            asking[number].cancel()
        pool.release(lent)
        asking[1].cancel()  # has been given it, and does not know yet
        await asyncio.gather(*asking, return_exceptions=True)
        pool._leased -= MAX_CONNECTIONS - 1

        assert order == [2, 4, 5, 6, 7, 8, 9]
        assert there.connections == 1
        assert not pool.busy


@pytest.mark.requirement("REL-12")
async def test_the_deadline_covers_the_wait_for_a_connection() -> None:
    crowd = CountingUpstream()
    async with client_and_upstream(crowd) as (out, target, there):
        held = [asyncio.ensure_future(text(out, target)) for _ in range(MAX_CONNECTIONS)]
        await asyncio.wait_for(crowd.full.wait(), 5)
        with pytest.raises(TransportTimeout) as caught:
            await text(out, target, seconds=0.1)
        for item in held:
            item.cancel()
        await asyncio.gather(*held, return_exceptions=True)

        assert not caught.value.sent
        assert len(there.requests) == MAX_CONNECTIONS
        assert not any(pool.busy for pool in out._pools.values())


async def test_a_failed_connect_frees_its_slot() -> None:
    async with upstream(responding()) as there:
        closed = check_url(there.url(), LOOPBACK)
    out = HttpClient(LOOPBACK)
    for _ in range(MAX_CONNECTIONS + 1):
        with pytest.raises(ConnectionFailed):
            await text(out, closed)
    await out.close()


async def test_a_waiter_sends_nothing_after_the_pools_are_closed() -> None:
    crowd = CountingUpstream()
    async with client_and_upstream(crowd) as (out, target, there):
        asking = [asyncio.ensure_future(text(out, target)) for _ in range(MAX_CONNECTIONS + 20)]
        await asyncio.wait_for(crowd.full.wait(), 5)
        await out.close()
        ended = await asyncio.gather(*asking, return_exceptions=True)
        late = await asyncio.gather(text(out, target), return_exceptions=True)

        assert {type(item) for item in (*ended, *late)} == {ConnectionFailed}
        assert [item.sent for item in ended if isinstance(item, ConnectionFailed)].count(False) == 20
        assert len(there.requests) == MAX_CONNECTIONS


async def test_closing_ends_requests_in_progress() -> None:
    async with client_and_upstream(silent()) as (out, target, there):
        asking = asyncio.ensure_future(text(out, target))
        await asyncio.wait_for(there.request_received.wait(), 5)
        await out.close()
        with pytest.raises(ConnectionFailed) as caught:
            await asking

        assert caught.value.sent
