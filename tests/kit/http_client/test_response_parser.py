"""The same answer comes of the same bytes, in whichever pieces; and of any bytes comes an answer or a refusal."""

import asyncio
import gzip
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kit.http_client.response import Response, ResponseLimits
from api.kit.http_client.response_parser import ResponseParser
from api.kit.transport_errors import ConnectionFailed, MalformedResponse, ResponseTooLarge, TransportError
from api.kit.turns import Turns

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HELLO = b"5\r\nhello\r\n"
USUAL = ResponseLimits()

ParsedResponse = tuple[int, str, dict[str, str], bytes]


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    created = asyncio.new_event_loop()
    yield created
    created.close()


async def whole(answer: ResponseParser, limits: ResponseLimits) -> ParsedResponse:
    await answer.head()
    reply = Response(answer, limits, turns=Turns())
    return reply.status, reply.reason, dict(reply.headers), await reply.read()


def run_until_complete(requested: Coroutine[Any, Any, ParsedResponse]) -> ParsedResponse | type[TransportError]:
    """All has come that will: who still waits would wait for ever."""
    try:
        requested.send(None)
    except StopIteration as done:
        text: ParsedResponse = done.value
        return text
    except TransportError as error:
        return type(error)
    requested.close()
    pytest.fail("waits for what never comes")


def read(loop: asyncio.AbstractEventLoop, *pieces: bytes, limits: ResponseLimits = USUAL, to: str = "GET") -> Any:
    answer = ResponseParser(loop, limits, is_bodiless=to == "HEAD")
    for piece in pieces:
        answer.feed(piece)
    answer.connection_closed(None)
    text = run_until_complete(whole(answer, limits))
    answer.leave()
    return text


def reuse(loop: asyncio.AbstractEventLoop, *pieces: bytes, to: str = "GET") -> bool:
    answer = ResponseParser(loop, USUAL, is_bodiless=to == "HEAD")
    for piece in pieces:
        answer.feed(piece)
    answer.leave()
    return answer.is_reusable


def chunked(body: bytes, sizes: list[int], extension: bytes, trailer: bytes) -> bytes:
    parts, rest = [], body
    for size in [*sizes, len(body)]:
        part, rest = rest[:size], rest[size:]
        if part:
            parts.append(b"%x%s\r\n%s\r\n" % (len(part), extension, part))
    return b"".join([*parts, b"0\r\n", trailer, b"\r\n"])


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, ParsedResponse]:
    """The bytes of a good answer, and what they mean."""
    status = draw(st.sampled_from([200, 202, 404, 500]))
    reason = draw(st.sampled_from(["", "OK", "Not Quite"]))
    body = draw(st.binary(max_size=300))
    fields = draw(st.dictionaries(st.sampled_from(["X-A", "x-b", "Date"]), st.sampled_from(["", "1", "a b", "\xff"])))
    told = {name.lower(): value for name, value in fields.items()}
    sent = body
    if body and draw(st.booleans()):
        sent, fields["Content-Encoding"] = gzip.compress(body, mtime=0), "gzip"
    match draw(st.sampled_from(["length", "chunks", "close"])):
        case "length":
            fields["Content-Length"] = str(len(sent))
        case "chunks":
            fields["Transfer-Encoding"] = "chunked"
            sizes = draw(st.lists(st.integers(1, 50), max_size=5))
            sent = chunked(
                sent, sizes, draw(st.sampled_from([b"", b";a=b"])), draw(st.sampled_from([b"", b"X-A: 2\r\n"]))
            )
    told |= {name.lower(): value for name, value in fields.items()}
    pad, end = draw(st.sampled_from(["", " ", "\t "])), draw(st.sampled_from(["", " ", "  "]))
    head = "".join(f"{name}:{pad}{value}{end}\r\n" for name, value in fields.items()).encode("latin-1")
    before = draw(st.lists(st.sampled_from([CONTINUE, b"HTTP/1.1 103 Early\r\nX-A: 3\r\n\r\n"]), max_size=3))
    raw = b"".join([*before, f"HTTP/1.1 {status} {reason}\r\n".encode(), head, b"\r\n", sent])
    return raw, (status, reason, told, body)


@st.composite
def in_pieces(draw: st.DrawFn) -> tuple[list[bytes], ParsedResponse]:
    raw, text = draw(answers())
    cuts = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=12)))
    return [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)], text


@st.composite
def damaged(draw: st.DrawFn) -> list[bytes]:
    pieces, _ = draw(in_pieces())
    raw = bytearray(b"".join(pieces))
    for _ in range(draw(st.integers(1, 4))):
        at, to = sorted((draw(st.integers(0, len(raw))), draw(st.integers(0, len(raw)))))
        raw[at:to] = draw(st.one_of(st.binary(max_size=5), st.just(bytes(raw[at:to]) * 2)))
    return [bytes(raw[: len(raw) // 2]), bytes(raw[len(raw) // 2 :])]


@given(in_pieces())
def test_a_response_is_parsed_equally_in_any_pieces(
    loop: asyncio.AbstractEventLoop, case: tuple[list[bytes], ParsedResponse]
) -> None:
    pieces, text = case

    assert read(loop, *pieces) == text


@given(answers())
def test_a_response_is_parsed_equally_byte_by_byte(
    loop: asyncio.AbstractEventLoop, case: tuple[bytes, ParsedResponse]
) -> None:
    raw, text = case

    assert read(loop, *[raw[at : at + 1] for at in range(len(raw))]) == text


@given(damaged())
def test_a_damaged_response_is_parsed_or_refused(loop: asyncio.AbstractEventLoop, pieces: list[bytes]) -> None:
    outcome = read(loop, *pieces)

    assert isinstance(outcome, tuple) or issubclass(outcome, TransportError)


@pytest.mark.parametrize(
    "raw",
    [
        OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        OK + b"Content-Length: 2, 2\r\n\r\nok",
        OK + b"Content-Length: +2\r\n\r\nok",
        OK + b"Content-Length:\r\n\r\nok",
        OK + b"Content-Length : 2\r\n\r\nok",
        OK + b"Content-Length: 99999999999999999999999\r\n\r\nok",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + HELLO,
        OK + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n" + HELLO,
        OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + HELLO,
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + HELLO,
        OK + b"Transfer-Encoding: chunked\t\r\n\r\n" + HELLO,
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n\r\n" + HELLO,
        OK + b"Transfer-Encoding: xchunked\r\n\r\n" + HELLO,
        OK + b"Transfer-Encoding: identity\r\n\r\nhello",
        OK + b"X: a\r\n b\r\n\r\n",
        OK + b"X: a\nY: b\r\n\r\n",
        OK + b"X: a\rY: b\r\n\r\n",
        OK + b"X: a\0b\r\n\r\n",
        OK + b": a\r\n\r\n",
        b"HTTP/1.1 200 OK\n\nhello",
        b"HTTP/1.1 099 Low\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nx",
        CHUNKED + b"5\nhello\r\n0\r\n\r\n",
        CHUNKED + b"5\r\nhello!\r\n0\r\n\r\n",
        CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
        CHUNKED + b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    ],
)
def test_an_ambiguous_response_is_refused(loop: asyncio.AbstractEventLoop, raw: bytes) -> None:
    assert read(loop, raw) is MalformedResponse


@pytest.mark.parametrize("raw", [b"", OK, OK + b"Content-Length: 3\r\n\r\nok", CHUNKED + b"5\r\nhel", CHUNKED + HELLO])
def test_a_response_that_ends_early_is_truncated(loop: asyncio.AbstractEventLoop, raw: bytes) -> None:
    assert read(loop, raw) is ConnectionFailed


@pytest.mark.requirement("EGR-17")
@pytest.mark.parametrize("spare", [0, 1])
@pytest.mark.parametrize("before", [b"", CONTINUE])
def test_the_size_of_a_head_is_limited_to_the_byte(loop: asyncio.AbstractEventLoop, before: bytes, spare: int) -> None:
    head = before + OK + b"X:" + b" " * 500 + b"y\r\n\r\n"
    outcome = read(loop, head + b"body" * 1000, limits=ResponseLimits(head=len(head) - 1 + spare))

    assert outcome is ResponseTooLarge if not spare else outcome[3] == b"body" * 1000


@pytest.mark.requirement("EGR-17")
@pytest.mark.parametrize(("heads", "passes"), [(16, True), (17, False)])
def test_the_number_of_interim_responses_is_limited(loop: asyncio.AbstractEventLoop, heads: int, passes: bool) -> None:
    outcome = read(loop, CONTINUE * heads + OK + b"Content-Length: 0\r\n\r\n")

    assert (outcome[0] == 200) if passes else outcome is ResponseTooLarge


@pytest.mark.requirement("EGR-17")
@pytest.mark.parametrize(("fields", "passes"), [(128, True), (129, False)])
def test_the_number_of_header_fields_is_limited(loop: asyncio.AbstractEventLoop, fields: int, passes: bool) -> None:
    outcome = read(loop, OK + b"X: y\r\n" * (fields - 1) + b"Content-Length: 0\r\n\r\n")

    assert (outcome[0] == 200) if passes else outcome is ResponseTooLarge


@pytest.mark.requirement("EGR-17")
def test_bytes_outside_the_body_are_counted_too(loop: asyncio.AbstractEventLoop) -> None:
    limits = ResponseLimits(wire=1000)
    answer = ResponseParser(loop, limits, is_bodiless=False)
    answer.feed(CHUNKED)
    fed = 0
    while answer.error is None and fed < 100_000_000:
        answer.feed(b"1;" + b"x" * 65_000 + b"\r\ny\r\n")
        fed += 65_000
    answer.leave()

    assert isinstance(answer.error, ResponseTooLarge)
    assert fed < 5_000_000


@pytest.mark.parametrize(
    ("raw", "to"),
    [
        (OK + b"Content-Length: 5\r\n\r\n", "HEAD"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "GET"),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "GET"),
    ],
)
def test_some_responses_have_no_body_despite_their_headers(
    loop: asyncio.AbstractEventLoop, raw: bytes, to: str
) -> None:
    assert read(loop, raw, to=to)[3] == b""
    assert reuse(loop, raw, to=to)
    assert not reuse(loop, raw + b"hello", to=to)


@pytest.mark.parametrize(
    ("pieces", "passes"),
    [
        ([OK + b"Content-Length: 2\r\n\r\nok"], True),
        ([CHUNKED + HELLO + b"0\r\nX: y\r\n\r\n"], True),
        ([OK + b"Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n"], False),
        ([OK + b"Content-Length: 2\r\n\r\nok", b"H"], False),
        ([OK + b"Content-Length: 2\r\n\r\nok!"], False),
        ([OK + b"Content-Length: 2\r\n\r\no"], False),
        ([OK + b"Content-Length: 2\r\nConnection: close\r\n\r\nok"], False),
        ([b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"], False),
        ([b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok"], True),
        ([OK + b"\r\nok"], False),
    ],
)
def test_a_connection_is_reusable_after_a_complete_response_without_trailing_bytes(
    loop: asyncio.AbstractEventLoop, pieces: list[bytes], passes: bool
) -> None:
    assert reuse(loop, *pieces) is passes


def test_an_abandoned_response_ends(loop: asyncio.AbstractEventLoop) -> None:
    answer = ResponseParser(loop, USUAL, is_bodiless=False)
    answer.feed(OK + b"Content-Length: 9\r\n\r\nabc")
    answer.leave()

    assert run_until_complete(whole(answer, USUAL)) is ConnectionFailed


def test_a_body_of_many_tiny_pieces_is_refused_without_chunks_too(loop: asyncio.AbstractEventLoop) -> None:
    """Each piece that is kept takes many times the memory of its bytes."""
    limits = ResponseLimits(chunks=1000)
    body = [b"ab"] * 5000

    assert read(loop, OK + b"Content-Length: 10000\r\n\r\n", *body, limits=limits) is ResponseTooLarge
    assert read(loop, OK + b"Content-Length: 10000\r\n\r\n", b"".join(body), limits=limits)[3] == b"".join(body)
