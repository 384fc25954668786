"""A strict JSON parser for data from outside: it refuses text that two readers could understand differently.

Its time is bounded: it counts the values of a large text before it makes any of them.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import NoReturn

import msgspec

MAX_DEPTH = 64
MAX_MEMBERS = 1000  # of one object
MAX_VALUES = 20_000  # of one text; more would block the event loop
MAX_DIGITS = 1000  # of one number; converting one takes time that grows with the square of its length
_BYTES_OF_A_VALUE = 2  # at least: itself and a comma, or two brackets
_QUOTES_OF_A_MEMBER = 4  # two of its key, two of its value
_WHITESPACE = b" \t\r\n"
_LONG_NUMBER = b"0" * (MAX_DIGITS + 1)
_DIGITS_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")


class InvalidJson(ValueError):
    """The text is not JSON, or is JSON that two readers could understand differently."""


class TooManyValues(InvalidJson):
    """The text holds more values than are parsed."""

    def __init__(self) -> None:
        super().__init__(f"A body may hold at most {MAX_VALUES} values.")


def parse_json(raw: bytes) -> object:
    """UTF-8 without a byte order mark; no repeated keys, NaN, infinities, lone surrogates or deep nesting."""
    decode = _decode
    if len(raw) > MAX_DIGITS:
        decode = _decode_any_number
        _check_numbers(raw)
        if len(raw) > MAX_VALUES * _BYTES_OF_A_VALUE:
            _check_value_count(raw)
    try:
        value = decode(raw)
    except RecursionError as error:
        raise InvalidJson(_TOO_DEEP) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _reason(raw) from error
    keys = _keys(value)
    # The text has at least as many `":` as keys. Texts that contain `":` themselves are rare.
    if keys != _pairs(raw) and keys != _pairs(_outside_texts(raw)):
        raise InvalidJson("An object has the same key twice.")
    return value


_TOO_DEEP = f"The JSON is nested more than {MAX_DEPTH} levels deep."


def _check_numbers(raw: bytes) -> None:
    if _has_long_number(raw) and _has_long_number(_outside_texts(raw)):
        raise InvalidJson("The body is not JSON: a number is too long.")


def _has_long_number(raw: bytes) -> bool:
    return _LONG_NUMBER in raw.translate(_DIGITS_AS_ZEROS)


def _check_value_count(raw: bytes) -> None:
    if _separators(raw) < MAX_VALUES:
        return
    if _without_escapes(raw).count(b'"') > _QUOTES_OF_A_MEMBER * MAX_VALUES:
        raise TooManyValues
    text = _outside_texts(raw).translate(None, _WHITESPACE)
    if _separators(text) - text.count(b"[]") - text.count(b"{}") >= MAX_VALUES:
        raise TooManyValues


def _separators(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def _outside_texts(raw: bytes) -> bytes:
    """The JSON with a single quote in the place of each string."""
    return b'"'.join(_without_escapes(raw).split(b'"')[::2])


def _without_escapes(raw: bytes) -> bytes:
    """The JSON without escaped backslashes and quotes, so that each quote begins or ends a string."""
    return raw.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in raw else raw


def _pairs(raw: bytes) -> int:
    return raw.translate(None, _WHITESPACE).count(b'":')


def _keys(value: object, depth: int = 0) -> int:
    """The number of keys."""
    if type(value) is not dict and type(value) is not list:
        return 0
    if depth >= MAX_DEPTH:
        raise InvalidJson(_TOO_DEEP)
    if type(value) is dict and len(value) > MAX_MEMBERS:
        raise InvalidJson(f"An object has more than {MAX_MEMBERS} members.")
    keys, members = (len(value), value.values()) if type(value) is dict else (0, value)
    for member in members:
        if type(member) is dict or type(member) is list:
            keys += _keys(member, depth + 1)
    return keys


def _reason(raw: bytes) -> InvalidJson:
    """Why the text was refused, in words that do not repeat it. Python's own parser names the line."""
    try:
        value = _decoder.decode(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return InvalidJson("The body is not UTF-8.")
    except RecursionError:
        return InvalidJson(_TOO_DEEP)
    except json.JSONDecodeError as error:
        return InvalidJson(f"The body is not JSON: line {error.lineno}, column {error.colno}.")
    except InvalidJson as error:
        return error
    return InvalidJson(_TOO_LARGE if _is_text(value) else "A string holds half of a surrogate pair.")


def _is_text(value: object) -> bool:
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def _constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not a JSON number.")


def _finite_float(text: str) -> float:
    """The decoder's own takes 10 µs for a number with a large exponent."""
    if not isfinite(number := float(text)):
        raise InvalidJson(_TOO_LARGE)
    return number


_TOO_LARGE = "A number is too large."
_decode = msgspec.json.Decoder().decode
_decode_any_number = msgspec.json.Decoder(float_hook=_finite_float).decode
_decoder = json.JSONDecoder(parse_constant=_constant)
