import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from api.kit.egress.policy import CheckedUrl, EgressPolicy, check_url
from api.kit.egress.resolver import Lookup, Resolver
from api.kit.http_client.client import HttpClient
from api.kit.transport_errors import AddressBlocked, ConnectionFailed, TransportError, TransportTimeout
from tests.fakes.raw_upstream import closing_after, echoing, raw, responding, upstream

HERE = EgressPolicy.parse("127.0.0.0/8")
KEPT = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture(params=[pytest.param("asyncio", marks=pytest.mark.slow), "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@asynccontextmanager
async def outbound(
    egress: EgressPolicy = HERE, lookup: Lookup = lambda _: ["127.0.0.1"], **more: int
) -> AsyncIterator[HttpClient]:
    created = HttpClient(egress, names=Resolver(lookup), **more)
    try:
        yield created
    finally:
        await created.close()


def at(url: str) -> CheckedUrl:
    return check_url(url, EgressPolicy.parse("127.0.0.0/8, api.example.com, ::1"))


async def text(
    out: HttpClient, target: CheckedUrl, pool: str = "a", method: str = "GET", body: bytes = b"", **headers: str
) -> str:
    async with out.request(method, target, headers, body, pool=pool, seconds=5) as reply:
        return (await reply.read()).decode()


@pytest.mark.parametrize("has_idle_connection", [False, True])
async def test_a_request_without_time_left_is_not_sent(has_idle_connection: bool) -> None:
    async with upstream(echoing()) as there, outbound() as out:
        if has_idle_connection:
            await text(out, at(there.url("/")))
        with pytest.raises(TransportTimeout) as failure:
            async with out.request("GET", at(there.url("/late")), {}, pool="a", seconds=0):
                pass
        assert await text(out, at(there.url("/next")))

    assert not failure.value.sent


async def test_a_request_arrives_unchanged() -> None:
    async with upstream(echoing()) as there, outbound() as out:
        told = await text(
            out, at(there.url("/a/../b/%2e?x=1&y=%20")), method="POST", body=b'{"a":1}', Authorization="k"
        )

    head, _, body = told.partition("\n\n")
    assert head.splitlines()[0] == "POST /a/../b/%2e?x=1&y=%20 HTTP/1.1"
    assert body == '{"a":1}'
    assert sorted(head.splitlines()[1:]) == [
        "accept-encoding: identity",
        "authorization: k",
        "content-length: 7",
        f"host: 127.0.0.1:{there.port}",
    ]


async def test_a_response_has_status_reason_and_lower_case_headers() -> None:
    answer = raw(b"HTTP/1.1 404 Not Here\r\nX-One: 1\r\nX-One: 2\r\nContent-Length: 0\r\n\r\n")
    async with (
        upstream(answer) as there,
        outbound() as out,
        out.request("GET", at(there.url()), {}, pool="a", seconds=5) as reply,
    ):
        assert (reply.status, reply.reason, reply.headers["x-one"]) == (404, "Not Here", "1, 2")
        assert await reply.read() == b""


@pytest.mark.requirement("EGR-18")
async def test_callers_cannot_set_connection_headers() -> None:
    theirs = {"accept-encoding": "br", "HOST": "elsewhere", "Expect": "100-continue", "Connection": "close"}
    async with upstream(echoing()) as there, outbound() as out:
        told = await text(out, at(there.url()), **theirs)

    assert told.splitlines()[1:3] == [f"host: 127.0.0.1:{there.port}", "accept-encoding: identity"]
    assert not {"elsewhere", "br", "100-continue", "close"} & set(told.split())


@pytest.mark.requirement("EGR-06")
async def test_the_host_header_keeps_the_name() -> None:
    async with upstream(echoing()) as there, outbound() as out:
        told = await text(out, at(there.url(host="api.example.com")))

    assert f"host: api.example.com:{there.port}" in told


@pytest.mark.requirement("EGR-08")
async def test_a_redirect_is_returned_and_not_followed() -> None:
    async with upstream(responding()) as canary:
        away = responding(b"", "302 Found", Location=canary.url(), Set_Cookie="a=b")
        async with (
            upstream(away) as there,
            outbound() as out,
            out.request("GET", at(there.url()), {}, pool="a", seconds=5) as reply,
        ):
            assert reply.status == 302

    assert canary.connections == 0


async def test_cookies_are_not_stored() -> None:
    async with upstream(responding(Set_Cookie="id=1; Path=/")) as there, outbound() as out:
        for _ in range(2):
            await text(out, at(there.url()))

    assert [visit.headers.get("cookie") for visit in there.requests] == [None, None]


@pytest.mark.requirement("EGR-09")
async def test_environment_variables_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    async with upstream(responding(b"canary")) as canary, upstream(responding(b"there")) as there:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, canary.url())
        async with outbound() as out:
            assert await text(out, at(there.url())) == "there"

    assert canary.connections == 0


async def test_a_pool_reuses_its_connection() -> None:
    async with upstream(responding()) as there, outbound() as out:
        for _ in range(5):
            await text(out, at(there.url()), method="POST", body=b"x")

    assert there.connections == 1


@pytest.mark.requirement("REL-18")
async def test_no_connection_carries_two_credentials() -> None:
    async with upstream(responding()) as there, outbound(max_pools=8) as out:
        for _ in range(13):  # fewer at once than the other side lets wait before it has accepted them
            asks = [
                text(out, at(there.url()), pool=f"pool {number}", Authorization=f"credential {number}")
                for _ in range(4)
                for number in range(20)
            ]
            await asyncio.gather(*asks)

    seen: dict[int, set[str]] = {}
    for visit in there.requests:
        seen.setdefault(visit.connection, set()).add(visit.headers["authorization"])
    assert len(there.requests) == 1040
    assert {len(credentials) for credentials in seen.values()} == {1}


async def test_the_number_of_idle_pools_is_limited() -> None:
    async with upstream(responding()) as there, outbound(max_pools=3) as out:
        for number in range(10):
            await text(out, at(there.url()), pool=str(number))
        await asyncio.wait_for(there.disconnected.wait(), 5)

        assert len(out._pools) == 3


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_no_request_is_sent_twice(method: str) -> None:
    answers: Iterator[bytes] = iter([KEPT])

    async def once_then_cut(_: object, writer: asyncio.StreamWriter) -> None:
        answer = next(answers, b"")
        writer.write(answer)
        if not answer:
            writer.close()

    async with upstream(once_then_cut) as there, outbound() as out:
        await text(out, at(there.url()))
        with pytest.raises(ConnectionFailed) as caught:
            await text(out, at(there.url()), method=method)

    assert caught.value.sent
    assert (len(there.requests), there.connections) == (2, 1)


async def test_a_truncated_body_is_an_error() -> None:
    async with upstream(closing_after(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")) as there, outbound() as out:
        with pytest.raises(ConnectionFailed) as caught:
            await text(out, at(there.url()))

    assert caught.value.sent


@pytest.mark.requirement("EGR-16")
async def test_denied_unknown_and_refused_destinations_have_the_same_error() -> None:
    def unknown(_: str) -> list[str]:
        raise OSError("Name or service not known")

    async with upstream(responding()) as there:
        closed = there.url(host="api.example.com")
    errors: list[TransportError] = []
    for egress, lookup in ((EgressPolicy(), lambda _: ["127.0.0.1"]), (HERE, unknown), (HERE, lambda _: ["127.0.0.1"])):
        async with outbound(egress, lookup) as out:
            with pytest.raises(ConnectionFailed) as caught:
                await text(out, at(closed))
        errors.append(caught.value)

    assert {str(error) for error in errors} == {"The upstream could not be reached."}
    assert len({error.cause for error in errors}) == 3
    assert not any(error.sent for error in errors)
    assert [type(error) for error in errors] == [AddressBlocked, ConnectionFailed, ConnectionFailed]


@pytest.mark.parametrize("size", [0, 1_000_000, 1_000_001, 3_000_000])
async def test_a_body_of_any_size_arrives_complete(size: int) -> None:
    async with upstream(responding()) as there, outbound() as out:
        await text(out, at(there.url()), method="POST", body=b"x" * size)

    assert len(there.requests[0].body) == size
