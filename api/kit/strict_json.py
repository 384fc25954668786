"""Is this text JSON that everyone reads the same way? The one parser for what comes from outside."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

import msgspec

MAX_DEPTH = 64
MAX_MEMBERS = 1000  # of one object; checking each of a hundred thousand would hold up everybody else


MAX_MEMBERS_IN_ALL = 2**40  # more than any text that is read can hold
_NOT_PLAIN = object()
_NEEDS_A_CLOSER_LOOK = re.compile(rb'"[ \t\r\n]+:|[0-9]{16}|\\u')


class InvalidJson(ValueError):
    """The text is not JSON, or is JSON that two readers could take for different things."""


def parse_json(raw: bytes) -> object:
    """Strict: UTF-8 without a mark, no key twice, no NaN, nothing beyond a double, no half characters, not too deep."""
    plain = _plain(raw)
    return _parse_strictly(raw) if plain is _NOT_PLAIN else plain


def _plain(raw: bytes) -> object:
    """Five times as quick, for text in which nothing can be wrong that the quick parser lets through.

    That is a key twice: where each key is written with its colon behind it, there are as many of those as keys. Long
    numbers and escapes go the long way too.
    """
    if _NEEDS_A_CLOSER_LOOK.search(raw):
        return _NOT_PLAIN
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the long way says what is wrong
        return _NOT_PLAIN
    return value if _keys(value) == raw.count(b'":') else _NOT_PLAIN


def _keys(value: object, depth: int = 0) -> int:
    """How many there are; too few where anything is too deep or too wide."""
    if not isinstance(value, dict | list):
        return 0
    if depth >= MAX_DEPTH or (isinstance(value, dict) and len(value) > MAX_MEMBERS):
        return -MAX_MEMBERS_IN_ALL
    keys = 0
    if isinstance(value, dict):
        keys, value = len(value), value.values()
    for each in value:
        if isinstance(each, dict | list):
            keys += _keys(each, depth + 1)
    return keys


def _parse_strictly(raw: bytes) -> object:
    try:
        text = raw.decode("utf-8")
        value = _decoder.decode(text)
    except UnicodeDecodeError as error:
        raise InvalidJson("The body is not UTF-8.") from error
    except RecursionError as error:
        raise InvalidJson(_TOO_DEEP) from error
    except InvalidJson:
        raise
    except ValueError as error:
        raise InvalidJson(_where(error)) from error
    _check(value)
    return value


_TOO_DEEP = f"The JSON is nested more than {MAX_DEPTH} levels deep."


def _where(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"The body is not JSON: line {error.lineno}, column {error.colno}."
    return "The body is not JSON: a number is too long."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_MEMBERS:
        raise InvalidJson(f"An object has more than {MAX_MEMBERS} members.")
    made = dict(pairs)
    if len(made) != len(pairs):
        raise InvalidJson("An object has the same key twice.")
    return made


def _constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not a JSON number.")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidJson("A number is too large.")
    return number


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)


def _check(value: object) -> None:
    """Walks without recursion, so that no depth can exhaust the stack."""
    open_values = [(value, 1)]
    while open_values:
        current, depth = open_values.pop()
        if isinstance(current, str):
            _check_text(current)
        elif isinstance(current, dict | list):
            if depth > MAX_DEPTH:
                raise InvalidJson(_TOO_DEEP)
            inside = [*current, *current.values()] if isinstance(current, dict) else current
            open_values += [(each, depth + 1) for each in inside]


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidJson("A string holds half of a surrogate pair.") from error
