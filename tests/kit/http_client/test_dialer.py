"""Nothing is dialled that was not judged."""

import asyncio
import contextlib
import itertools
import socket
import ssl
from ipaddress import ip_address

import pytest

from api.kit.deadline import Ticker
from api.kit.egress.policy import CheckedUrl, EgressPolicy, check_url
from api.kit.egress.resolver import Resolver
from api.kit.http_client.client import HttpClient
from api.kit.http_client.connection import HttpConnection
from api.kit.http_client.dialer import Dialer
from api.kit.transport_errors import AddressBlocked, ConnectionFailed, TransportError
from tests.corpus.urls import LEADING_INSIDE, LeadingInside
from tests.fakes.connect_recorder import connections_except
from tests.fakes.raw_upstream import closing_after, responding, upstream

ONE = EgressPolicy.parse("127.0.0.2/32")  # stands for the public internet; 127.0.0.1 for what is inside


@pytest.fixture(params=[pytest.param("asyncio", marks=pytest.mark.slow), "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


async def get(out: HttpClient, target: CheckedUrl) -> TransportError | None:
    try:
        async with out.request("GET", target, {}, pool="a", seconds=5) as reply:
            await reply.read()
    except TransportError as error:
        return error
    return None


def named(url: str) -> CheckedUrl:
    return check_url(url, EgressPolicy.parse("api.example.com"))


@pytest.mark.requirement("EGR-07")
@pytest.mark.requirement("EGR-03")
async def test_a_name_that_alternates_between_public_and_private_addresses_never_connects_privately() -> None:
    turns = itertools.cycle([["127.0.0.2"], ["127.0.0.1"]])
    async with upstream(closing_after(b"HTTP/1.1 204 No Content\r\n\r\n")) as canary:
        out = HttpClient(ONE, names=Resolver(lambda _: next(turns)))
        target = named(canary.url(host="api.example.com"))
        errors = [await get(out, target) for _ in range(1000)]
        await out.close()

    assert canary.connections == 0
    assert sum(isinstance(error, AddressBlocked) for error in errors) == 500


@pytest.mark.requirement("EGR-07")
async def test_a_new_connection_checks_its_address_again() -> None:
    turns = iter([["127.0.0.1"], ["127.0.0.2"]])
    async with upstream(closing_after(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as there:
        out = HttpClient(EgressPolicy.parse("127.0.0.1/32"), names=Resolver(lambda _: next(turns)))
        target = named(there.url(host="api.example.com"))
        first = await get(out, target)
        await asyncio.wait_for(there.disconnected.wait(), 5)
        second = await get(out, target)
        await out.close()

    assert first is None
    assert isinstance(second, ConnectionFailed)
    assert there.connections == 1


@pytest.mark.requirement("EGR-04")
@pytest.mark.parametrize("answers", list(itertools.permutations(["127.0.0.2", "127.0.0.1", "127.0.0.2"])))
async def test_one_forbidden_address_refuses_the_name(answers: tuple[str, ...]) -> None:
    async with upstream(responding()) as canary:
        out = HttpClient(ONE, names=Resolver(lambda _: answers))
        error = await get(out, named(canary.url(host="api.example.com")))
        await out.close()

    assert isinstance(error, AddressBlocked)
    assert canary.connections == 0


@pytest.mark.requirement("EGR-03")
@pytest.mark.parametrize("case", LEADING_INSIDE, ids=lambda case: case.url)
async def test_a_name_with_forbidden_addresses_gets_no_connection(case: LeadingInside) -> None:
    async with upstream(responding()) as canary:
        out = HttpClient(EgressPolicy(), names=Resolver(lambda _: case.answers))
        error = await get(out, check_url(f"{case.url.rstrip('/')}:{canary.port}/", EgressPolicy()))
        await out.close()

    assert isinstance(error, AddressBlocked if case.answers else ConnectionFailed)
    assert error is not None
    assert not error.sent
    assert canary.connections == 0


@pytest.mark.requirement("EGR-03")
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]
)
async def test_an_address_in_the_url_is_checked_without_a_resolver(host: str) -> None:
    async with upstream(responding()) as canary:
        out = HttpClient(ONE)
        error = await get(out, CheckedUrl("", "http", host, canary.port, "/", ip_address(host)))
        await out.close()

    assert isinstance(error, AddressBlocked)
    assert canary.connections == 0


@pytest.mark.requirement("EGR-05")
async def test_the_dialer_checks_addresses_that_no_other_part_checked() -> None:
    names = Resolver()
    dialling = Dialer(EgressPolicy(), names, ssl.create_default_context())
    async with upstream(responding()) as canary:
        with pytest.raises(AddressBlocked):
            await dialling.dial(named(canary.url(host="api.example.com")), ip_address("127.0.0.1"))

    assert canary.connections == 0


@pytest.mark.requirement("EGR-21")
async def test_at_most_four_addresses_of_a_name_are_dialled() -> None:
    async with upstream(responding()) as there:
        closed = named(there.url(host="api.example.com"))
    out = HttpClient(
        EgressPolicy.parse("127.0.0.0/8"), names=Resolver(lambda _: [f"127.0.0.{n}" for n in range(2, 30)])
    )
    with connections_except() as dialled:
        error = await get(out, closed)
    await out.close()

    assert isinstance(error, ConnectionFailed)
    assert [address for address, port in dialled if port == closed.port] == [f"127.0.0.{n}" for n in range(2, 6)]


async def test_the_next_address_is_tried_after_a_refused_connection() -> None:
    async with upstream(responding()) as there:
        out = HttpClient(EgressPolicy.parse("127.0.0.0/8"), names=Resolver(lambda _: ["127.0.0.9", "127.0.0.1"]))
        error = await get(out, named(there.url(host="api.example.com")))
        await out.close()

    assert error is None
    assert there.connections == 1


@pytest.mark.requirement("EGR-21")
async def test_the_next_address_is_tried_after_a_connect_timeout() -> None:
    loop, names = asyncio.get_running_loop(), Resolver(lambda _: ["127.0.0.9", "127.0.0.1"])
    async with upstream(responding()) as there:
        dialling = Dialer(EgressPolicy.parse("127.0.0.0/8"), names, ssl.create_default_context(), patience=0.2)
        with socket.create_server(("127.0.0.9", there.port), backlog=0) as full, contextlib.ExitStack() as callers:
            for _ in range(4):  # connections are not accepted, so the backlog fills
                caller = callers.enter_context(socket.socket())
                caller.setblocking(False)
                caller.connect_ex(full.getsockname())
            connection = await dialling.connect(
                named(there.url(host="api.example.com")), lambda: HttpConnection(Ticker(loop), lambda _: None)
            )
        assert connection.is_usable
        connection.abort()
        await connection.gone
