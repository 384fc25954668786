from typing import Any

import pytest

from integrations.errors import UnreadableResponse
from integrations.mcp.header_mirroring import BadAnnotation, annotated_paths, argument_headers, encode_value
from integrations.mcp.jsonrpc import RpcResponse, parse_messages
from integrations.mcp.sse import EventStream, SseMessage
from tests.cpu_time import cpu_seconds
from tests.fuzz.stall_work import slowness

TEXT = (
    b"\xef\xbb\xbf: hello\r\nid: 1\r\ndata: a\r\ndata:b\r\n\r\n"
    b"event: x\rdata: \xe0\xb8\x81\r\r"
    b"retry: 20\nretry: soon\nid: 2\ndata\n\nid: \x00\n\ndata: lost"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_stream_reads_the_same_however_it_is_cut(size: int) -> None:
    stream = EventStream()

    pieces = [TEXT[at : at + size] for at in range(0, len(TEXT), size)]
    results = [event for piece in [b"", *pieces] for event in stream.feed(piece)]

    assert results == [SseMessage("message", "a\nb"), SseMessage("x", "ก")]
    assert (stream.last_id, stream.retry_ms) == ("2", 20)


@pytest.mark.parametrize("text", [b"data: 12345678901", b": 1\n: 2\n: 3\n: 4\n: 5\n", b"data: 12345\ndata: 6\n"])
def test_an_event_that_is_too_long_is_unreadable(text: bytes) -> None:
    with pytest.raises(UnreadableResponse, match="too long"):
        list(EventStream(10).feed(text))


def test_a_stream_that_is_not_utf_8_is_unreadable() -> None:
    with pytest.raises(UnreadableResponse, match="UTF-8"):
        list(EventStream().feed(b"data: \xff\n\n"))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"<html>",
        b"1",
        b"[1]",
        b"{}",
        b'{"result": 1}',
        b'{"result": NaN, "id": 1}',
        b'{"result": 1, "id": null}',
        b'{"result": {}, "id": [1]}',
        b'{"error": {}, "id": 1}',
        b'{"error": {"code": 1, "message": "x"}, "id": true}',
        b'{"error": "no", "id": 1}',
        b'{"result": "\xff", "id": 1}',
        b"[" * 100_000,
        b"[" + b'{"method":"a"},' * 1000 + b'{"method":"a"}]',
    ],
)
def test_an_invalid_message_is_unreadable(text: bytes) -> None:
    with pytest.raises(UnreadableResponse):
        parse_messages(text)


def test_an_error_without_an_id_answers_the_request_and_a_result_does_not() -> None:
    (refused,) = parse_messages(b'{"error": {"code": -1, "message": "x"}, "id": null}')

    assert isinstance(refused, RpcResponse)
    assert refused.is_for(7)
    assert not RpcResponse(8, {}).is_for(7)


def test_several_messages_may_arrive_in_a_list() -> None:
    assert len(parse_messages(b'[{"method": "a"}, {"method": "b", "id": 1}, {"result": {}, "id": 1}]')) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("us-west1", "us-west1"),
        ("", ""),
        ("a b\tc", "a b\tc"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ],
)
def test_any_text_is_encoded_for_a_header_as_specified(text: str, expected: str) -> None:
    assert encode_value(text) == expected


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_annotated_arguments_are_located_by_name_and_rendered_as_text() -> None:
    flag, number = {"type": "boolean", "x-mcp-header": "Flag"}, {"type": ["integer", "null"], "x-mcp-header": "N"}
    paths = annotated_paths(schema(a=schema(flag=flag), n=number, gone={"type": "string", "x-mcp-header": "Gone"}))

    assert argument_headers(paths, {"a": {"flag": True}, "n": 42}) == {"Mcp-Param-Flag": "true", "Mcp-Param-N": "42"}
    assert argument_headers(paths, {"a": {"flag": False}, "n": -7.0}) == {
        "Mcp-Param-Flag": "false",
        "Mcp-Param-N": "-7",
    }
    assert argument_headers(paths, {"a": 1, "n": None}) == {}
    assert argument_headers(paths, None) == {}


X = {"type": "string", "x-mcp-header": "X"}


@pytest.mark.parametrize(
    "wrong",
    [
        X,
        schema(a={"type": "string", "x-mcp-header": ""}),
        schema(a={"type": "string", "x-mcp-header": 1}),
        schema(a={"type": "string", "x-mcp-header": "a b"}),
        schema(a={"type": "string", "x-mcp-header": "a\r\nb"}),
        schema(a={"type": "number", "x-mcp-header": "X"}),
        schema(a={"type": ["string", "array"], "x-mcp-header": "X"}),
        schema(a={"x-mcp-header": "X"}),
        schema(a=X, b=X | {"x-mcp-header": "x"}),
        schema(a={"type": "array", "items": X}),
        schema(a={"type": "array", "items": schema(b=X)}),
        {"anyOf": [schema(a=X)]},
        {"then": schema(a=X)},
        {"$defs": {"a": X}},
    ],
)
def test_an_invalid_annotation_is_detected(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadAnnotation):
        annotated_paths(wrong)


@pytest.mark.parametrize(
    "harmless", [None, [], True, schema(**{"x-mcp-header": {"type": "string"}}), schema(a={"default": X, "enum": [X]})]
)
def test_a_lookalike_of_an_annotation_is_ignored(harmless: object) -> None:
    assert annotated_paths(harmless) == {}


def test_a_schema_may_be_very_deep() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"items": deep}

    assert annotated_paths(deep) == {}


@pytest.mark.parametrize("lines", [b"\n", b"\r", b"\r\n", b":\n", b"id\n\n", b"data\n"])
def test_a_long_stream_is_parsed_in_little_time(lines: bytes) -> None:
    """A millisecond for each 16 kB of line ends, which took 0.6 s for 4 MB."""

    def parse() -> None:
        stream = EventStream()
        for _ in range(64):
            assert not list(stream.feed(lines * (16_384 // len(lines))))

    assert cpu_seconds(parse) < (0.064 if lines.isspace() else 1.28) * slowness()


def test_events_are_limited_and_the_stream_is_not() -> None:
    stream = EventStream(10)

    assert len([event for _ in range(100) for event in stream.feed(b"data: 123\n\ndata: 456\n\n")]) == 200
    with pytest.raises(UnreadableResponse, match="too long"):
        list(stream.feed(b"data: 12345"))
