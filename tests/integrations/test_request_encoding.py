"""What cannot be sent is refused before anything is sent, and what cannot be read is read as nothing."""

from __future__ import annotations

import gc
import json
import math
from typing import Any

import pytest

from integrations import request_encoding

LARGE = 100_000
AT = "https://api.example.com"
HALF_A_CHARACTER = "\ud83d"


def nested(depth: int) -> list[Any]:
    results: list[Any] = []
    for _ in range(depth):
        results = [results]
    return results


def test_an_absent_value_is_not_sent() -> None:
    query = {"after": None, "limit": 5, "archived": False, "ids": ("a b", "c&d"), "q": "é"}

    address = request_encoding.encode_url(AT, "/things", query)
    assert address == f"{AT}/things?limit=5&archived=false&ids=a+b&ids=c%26d&q=%C3%A9"
    assert request_encoding.encode_url(AT, "/things", {"after": None}) == f"{AT}/things"


@pytest.mark.requirement("EGR-02")
@pytest.mark.parametrize(
    ("path", "query"),
    [
        pytest.param("/things/é", None, id="not ASCII"),
        pytest.param("/things/a b", None, id="a space"),
        pytest.param("/things/a\r\nX: y", None, id="a line's end"),
        pytest.param("/things", {"q": "x" * 2048}, id="too long"),
        pytest.param("/things", {"q": HALF_A_CHARACTER}, id="half a character"),
    ],
)
def test_an_invalid_url_is_not_sent(path: str, query: dict[str, object] | None) -> None:
    with pytest.raises(request_encoding.UnencodableRequest, match="Shorten them"):
        request_encoding.encode_url(AT, path, query)


@pytest.mark.parametrize("body", [HALF_A_CHARACTER, math.nan, math.inf, nested(100_000)], ids=range(4))
def test_a_value_that_is_no_json_is_not_sent(body: object) -> None:
    with pytest.raises(request_encoding.UnencodableRequest, match="cannot be written as JSON"):
        request_encoding.encode_body({"text": body}, None)


def test_a_body_has_a_content_type() -> None:
    json_type = {"Content-Type": "application/json"}
    assert request_encoding.encode_body({"text": "é"}, None) == ('{"text": "é"}'.encode(), json_type)
    form, kind = request_encoding.encode_body(None, {"text": "a b", "silent": True, "blocks": None})
    assert (form, kind["Content-Type"]) == (b"text=a+b&silent=true", "application/x-www-form-urlencoded")
    assert request_encoding.encode_body(None, None) == (b"", {})


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[" * 100_000, b'{"a": '], ids=range(5))
def test_an_unreadable_body_is_none(body: bytes) -> None:
    assert request_encoding.decode_json(body) is None


def test_a_large_response_is_parsed_and_the_garbage_collector_stays_on() -> None:
    many = [[] for _ in range(LARGE)]

    assert request_encoding.decode_json(json.dumps(many).encode()) == many
    assert request_encoding.decode_json(b"[" * LARGE) is None
    assert gc.isenabled()
