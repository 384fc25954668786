import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kit.strict_json import MAX_DEPTH, MAX_VALUES, InvalidJson, parse_json
from tests.cpu_time import cpu_seconds
from tests.fuzz.stall_work import slowness

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
documents = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30)


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@given(documents)
def test_json_values_are_parsed(document: Any) -> None:
    assert parse_json(json.dumps(document).encode()) == document
    assert parse_json(json.dumps(document, ensure_ascii=False).encode()) == document


@given(st.binary())
def test_any_bytes_are_parsed_or_refused(raw: bytes) -> None:
    try:
        value = parse_json(raw)
    except InvalidJson:
        return
    assert parse_json(json.dumps(value).encode()) == value


@pytest.mark.requirement("AUT-16")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON: line 1, column 1"),
        ('{"a":1}\n{"b":2}', "not JSON: line 2, column 1"),
        ("{'a':1}", "not JSON: line 1, column 2"),
        ("[1,]", "not JSON"),
        ('"a\nb"', "not JSON"),
        ('"\\x41"', "not JSON"),
        ("01", "not JSON"),
        ("+1", "not JSON"),
        (".5", "not JSON"),
        ("1.", "not JSON"),
        ("0x1", "not JSON"),
        ("1_000", "not JSON"),
        ("\u0661", "not JSON"),
        ("\u00a01", "not JSON"),
        ("\ufeff{}", "not JSON"),
        ("True", "not JSON"),
        ("NaN", "NaN is not a JSON number"),
        ("[Infinity]", "Infinity is not a JSON number"),
        ('{"a":-Infinity}', "-Infinity is not a JSON number"),
        ("1e999", "too large"),
        ("-1e999", "too large"),
        ("1.0" + "0" * 400 + "e400", "too large"),
        ("9" * 5000, "a number is too long"),
        ("-" + "9" * 5000, "a number is too long"),
        ('{"a":1,"a":1}', "same key twice"),
        ('{"a":1,"\\u0061":1}', "same key twice"),
        ('[{"a":{"b":1,"b":2}}]', "same key twice"),
        ('"\\ud800"', "half of a surrogate"),
        ('{"\\udc00":1}', "half of a surrogate"),
        ('["a",["\\udc00\\ud800"]]', "half of a surrogate"),
    ],
)
def test_ambiguous_json_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidJson, match=reason):
        parse_json(text.encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1"])
def test_only_utf_8_without_a_byte_order_mark_is_accepted(encoding: str) -> None:
    with pytest.raises(InvalidJson):
        parse_json('{"a":"ä"}'.encode(encoding))


@pytest.mark.requirement("AUT-16")
def test_nesting_is_limited_to_64_levels() -> None:
    assert parse_json(nested(MAX_DEPTH))
    assert MAX_DEPTH == 64
    for depth in (65, 500, 10_000):
        with pytest.raises(InvalidJson, match="64 levels"):
            parse_json(nested(depth))


def test_objects_and_lists_both_count_as_levels() -> None:
    assert parse_json(b'{"a":[' * 32 + b"]}" * 32)
    with pytest.raises(InvalidJson, match="64 levels"):
        parse_json(b'{"a":[' * 33 + b"]}" * 33)


def test_a_wide_document_is_not_deep() -> None:
    assert len(list(parse_json(b"[" + b"[]," * 10_000 + b"[]]"))) == 10_001  # type: ignore[call-overload]


def test_complete_surrogate_pairs_are_valid_text() -> None:
    assert parse_json(b'"\\ud83d\\ude00"') == "\U0001f600"


def test_a_number_that_underflows_to_zero_is_accepted() -> None:
    assert parse_json(b"[1e-999, -0.0, 0]") == [0.0, 0.0, 0]


@pytest.mark.requirement("ENC-13")
@pytest.mark.parametrize(
    "text", ['{"a":"canary"', '{"canary":1,"canary":2}', '"canary\\ud800"', "canary", '"canary\n"']
)
def test_a_refusal_does_not_repeat_the_text(text: str) -> None:
    with pytest.raises(InvalidJson) as caught:
        parse_json(text.encode())

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"{}," * (MAX_VALUES - 2) + b"{}]",
        b"[" + b"[ ]," * (MAX_VALUES - 2) + b"[]]",
        b"[" + b'"a,[{",' * (MAX_VALUES - 2) + b'""]',
        b"[" + b'"\\\\",' * (MAX_VALUES - 2) + b'""]',
        b"[" + b'"\\",\\"",' * (MAX_VALUES - 2) + b'""]',
        b"[" + b'{"a": 1},' * (MAX_VALUES // 2 - 1) + b"0]",
        b'"' + b",[{" * MAX_VALUES + b'"',
    ],
)
def test_the_number_of_values_is_limited(text: bytes) -> None:
    assert parse_json(text) == json.loads(text)
    with pytest.raises(InvalidJson, match="at most 20000 values"):
        parse_json(b"[" + text + b"," * (MAX_VALUES - 1) + b"]")


def test_one_value_beyond_the_limit_is_refused() -> None:
    with pytest.raises(InvalidJson, match="at most 20000 values"):
        parse_json(b"[" + b"{ }," * (MAX_VALUES - 1) + b"{}]")


def test_100000_open_lists_are_refused() -> None:
    with pytest.raises(InvalidJson):
        parse_json(nested(100_000))


def test_the_digits_of_a_number_are_limited() -> None:
    assert parse_json(b"7" * 1000) == int("7" * 1000)
    assert parse_json(b'"' + b"7" * 1001 + b'"') == "7" * 1001
    with pytest.raises(InvalidJson, match="a number is too long"):
        parse_json(b"7" * 1001)


@pytest.mark.parametrize("text", ['{"a":"\\":","a":1}', '{"a":":","a":1}', '{"a" :{"b\\"":1, "b\\"" : 2}}'])
def test_a_repeated_key_is_found_beside_texts_that_look_like_keys(text: str) -> None:
    with pytest.raises(InvalidJson, match="same key twice"):
        parse_json(text.encode())


@pytest.mark.parametrize("text", ['{"a":"\\":","b":":"}', '{"\\\\":1,":":2,"\\":":[":"]}'])
def test_texts_that_look_like_keys_are_accepted(text: str) -> None:
    assert parse_json(text.encode()) == json.loads(text)


def of_a_megabyte(entry: bytes) -> bytes:
    return b'["\\u0061",' + entry * ((1_048_576 - 20) // len(entry)) + b"0]"


@pytest.mark.parametrize("entry", [b"{},", b"[],", b'{"a":1},', b'"",', b'"\\u0061",', b"1.5,", b"7" * 900 + b","])
def test_a_body_of_one_megabyte_takes_little_time(entry: bytes) -> None:
    """With room for a busy machine: without a limit on values the shapes took 300 to 700 ms."""
    assert cpu_seconds(lambda: parse_or_refuse(of_a_megabyte(entry))) < 0.06


@pytest.mark.parametrize("number", [b"1e300", b"2e-320", b"9007199254740993.0", b"1.7976931348623157e308"])
def test_numbers_that_are_hard_to_convert_take_little_time(number: bytes) -> None:
    """Without a hook for them the decoder took 10 µs for each."""
    raw = b"[" + b",".join([number] * (MAX_VALUES - 10)) + b"]"

    assert parse_json(raw)[0] == float(number)  # type: ignore[index]
    assert cpu_seconds(lambda: parse_json(raw)) < 0.06 * slowness()


def parse_or_refuse(raw: bytes) -> None:
    with suppress(InvalidJson):
        parse_json(raw)
