"""Writes and parses JSON-RPC messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from integrations.errors import RpcErrorResponse, UnreadableResponse
from integrations.json_object import Json, finite_float

CLIENT_INFO: Mapping[str, str] = {"name": "Plugboard", "version": "0.1.0"}
METHOD_NOT_FOUND = -32601
MAX_MESSAGES_AT_ONCE = 1000
FREE_OF_JUDGEMENT = 4_096
FREE_OF_COUNT = 262_144
MAX_MEMORY = 16_000_000
MAX_COSTLY_NUMBERS = 1_000
"""The usual decoder takes 10 µs for some of them. Beyond, one is used that takes at most 1 µs, but for every float."""
_FEWER = 8  # times, the values that it takes
MAX_MARKED = 65_536
"""The most strings with commas or brackets in an answer that has as many of these as values that are too many."""
_CONTAINER, _VALUE = 200, 60  # bytes in memory, where `[],` is three as text
_NO_MARKS = bytes(set(range(256)) - set(b'[{,"'))
_SIGNS_AND_SPACES = b"+- \t\r\n"
_ENDS_AS_COMMAS = bytes.maketrans(b"[]{}:.E", b",,,,,,e")
_DIGITS_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_LONG_BEFORE_POINT = b"0" * 16 + b"."
_UNKNOWN_METHOD = re.compile(
    r"(unknown|unsupported|unrecogni[sz]ed|no such|invalid) method|method.{0,80}not", re.IGNORECASE | re.DOTALL
)

_encode = msgspec.json.Encoder().encode
_decode_usual = msgspec.json.Decoder().decode
_decode_any_number = msgspec.json.Decoder(float_hook=finite_float).decode


class RpcResponse(NamedTuple):
    """`id` is None where an error is about a request whose id was not understood."""

    id: int | str | None
    result: object = None
    error: RpcErrorResponse | None = None

    def is_for(self, number: int) -> bool:
        return self.id == number or (self.id is None and self.error is not None)


class ServerRequest(NamedTuple):
    """A request of the server's own."""

    id: int | str
    method: str
    params: Mapping[str, Any] = MappingProxyType({})


class Notification(NamedTuple):
    """A notification."""

    method: str


Message = RpcResponse | ServerRequest | Notification


def request(number: int, method: str, params: Mapping[str, Any] | None) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return _encode(message if params is None else {**message, "params": params})


def notification(method: str) -> bytes:
    return _encode_message({"method": method})


def reply_to(request: ServerRequest, result: Json | None = None) -> bytes:
    """A ping is always answered; other requests only with what the client has declared."""
    if request.method == "ping":
        result = {}
    if result is not None:
        return _encode_message({"id": request.id, "result": result})
    return _encode_message({"id": request.id, "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}})


def parse_messages(text: bytes | str) -> list[Message]:
    """One message, or several in a list, as 2025-03-26 allows."""
    decoded = _decode(text)
    if not isinstance(decoded, list):
        return [_message(decoded)]
    if len(decoded) > MAX_MESSAGES_AT_ONCE:
        raise UnreadableResponse("The answer has too many messages at once.")
    return [_message(member) for member in decoded]


def says_unknown_method(error: object) -> bool:
    """Servers without a handshake say this of `initialize`, many of them with a code of their own."""
    return isinstance(error, RpcErrorResponse) and bool(
        error.code == METHOD_NOT_FOUND or _UNKNOWN_METHOD.search(str(error)[:1000])
    )


def _encode_message(members: Mapping[str, Any]) -> bytes:
    return _encode({"jsonrpc": "2.0", **members})


def _decode(text: bytes | str) -> object:
    decode = _decode_usual if len(text) <= FREE_OF_JUDGEMENT else _decoder_of(text)
    try:
        return decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise UnreadableResponse("The answer is not JSON.") from error
    except RecursionError as error:
        raise UnreadableResponse("The answer is nested too deeply.") from error


def _decoder_of(text: bytes | str) -> Callable[[bytes | str], object]:
    """Of a text whose length says little about the time that it takes."""
    raw = text.encode() if isinstance(text, str) else text
    is_costly = _has_many_costly_numbers(raw)
    fewer = _FEWER if is_costly else 1
    if len(raw) > FREE_OF_COUNT // fewer and _is_too_much(raw, MAX_MEMORY // fewer):
        raise UnreadableResponse("The answer holds more values than are accepted.")
    return _decode_any_number if is_costly else _decode_usual


def _has_many_costly_numbers(text: bytes) -> bool:
    """With an exponent, or with sixteen digits before the point. What looks like them in strings counts too."""
    exponents = text.translate(_ENDS_AS_COMMAS, b"0123456789" + _SIGNS_AND_SPACES).count(b",e,")
    if 2 * exponents > MAX_COSTLY_NUMBERS:  # two in a row share a comma
        return True
    if text.count(b".") <= MAX_COSTLY_NUMBERS:
        return False
    return text.translate(_DIGITS_AS_ZEROS).count(_LONG_BEFORE_POINT) > MAX_COSTLY_NUMBERS


def _is_too_much(text: bytes, most: int) -> bool:
    """What stands in strings is looked at only where it matters."""
    if weight(text) <= most:
        return False
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in text else text
    marks = plain.translate(None, _NO_MARKS)
    if _VALUE * (marks.count(b'"') // 2) > most:
        return True
    marks = marks.replace(b'""', b"")  # of strings without other marks, or of two strings as if they were one
    return marks.count(b'"') // 2 > MAX_MARKED or weight(b"".join(marks.split(b'"')[::2])) > most


def weight(text: bytes) -> int:
    """How much memory its values take, at most."""
    return _CONTAINER * (text.count(b"[") + text.count(b"{")) + _VALUE * text.count(b",")


def _message(message: object) -> Message:
    if not isinstance(message, dict):
        raise UnreadableResponse("The answer is not a JSON-RPC message.")
    if "result" in message and "method" not in message and isinstance(message.get("id"), int | str):
        return RpcResponse(_id(message), message["result"])
    match message:
        case {"method": str(method), "id": int(number) | str(number)} if not isinstance(number, bool):
            params = message.get("params")
            return ServerRequest(number, method, params if isinstance(params, dict) else {})
        case {"method": str(method)}:
            return Notification(method)
        case {"error": dict(error)}:
            return RpcResponse(_id(message), error=_error(error))
        case _:
            raise UnreadableResponse("The answer is not a JSON-RPC message.")


def _id(message: Mapping[str, Any]) -> int | str | None:
    number = message.get("id")
    if number is None or (isinstance(number, int | str) and not isinstance(number, bool)):
        return number
    raise UnreadableResponse("The answer has an invalid id.")


def _error(error: Json) -> RpcErrorResponse:
    match error:
        case {"code": int(code), "message": str(message)}:
            return RpcErrorResponse(code, message, error.get("data"))
        case _:
            raise UnreadableResponse("The answer is an error without a code or a message.")
