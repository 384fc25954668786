"""Reads the body of a request: the one decoder for everything that callers send."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from pydantic import ValidationError

from api.errors import BadRequest, ContentTooLarge, FieldError, UnsupportedMediaType, ValidationFailed
from api.http.dependencies import AnyRequest, resolve
from api.http.models import PATTERN_MESSAGES, RequestModel
from api.kit.deadline import Deadline, Ticker
from api.kit.strict_json import InvalidJson, parse_json

MAX_BODY_BYTES = 1_048_576
# A sender who is cut off in the middle sees a broken connection instead of our answer, so a body that is too large is
# read to its end, up to here.
DRAIN_BYTES = 32 * MAX_BODY_BYTES
BODY_SECONDS = 30.0
MAX_NAME_LENGTH = 64

InputType = TypeVar("InputType", bound=RequestModel)


async def read_body(request: AnyRequest, model: type[InputType]) -> InputType:
    return validate(model, await read_json(request))


def query_bool(request: AnyRequest, name: str) -> bool:
    """A yes-or-no in the query; left out it means no."""
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise ValidationFailed.at(name, "Must be `true` or `false`.")
    return bool(text == "true")


async def read_json(request: AnyRequest) -> object:
    if _media_type(request.scope["headers"]) != b"application/json":
        raise UnsupportedMediaType
    try:
        with Deadline(resolve(request, Ticker), BODY_SECONDS):
            raw = await _read(request.receive)
    except TimeoutError:
        raise BadRequest(f"The body took longer than {BODY_SECONDS:.0f} seconds to come.") from None
    try:
        value = parse_json(raw)
    except InvalidJson as error:
        raise BadRequest(str(error)) from error
    request.scope["state"]["body"] = value
    return value


def _media_type(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Where it is given twice, the first: as everywhere else a header is asked for."""
    for name, value in headers:
        if name == b"content-type":
            return value.partition(b";")[0].strip().lower()
    return b""


async def _read(receive: Callable[[], Awaitable[Any]]) -> bytes:
    chunks, size, more = [], 0, True
    while more and size <= DRAIN_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("The body ended early.")
        chunk, more = message.get("body", b""), message.get("more_body", False)
        size += len(chunk)
        if size <= MAX_BODY_BYTES:
            chunks.append(chunk)
    if size > MAX_BODY_BYTES:
        raise ContentTooLarge(f"A body may have at most {MAX_BODY_BYTES} bytes.")
    return b"".join(chunks)


def validate(model: type[InputType], value: object) -> InputType:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid(error) from None


def invalid(error: ValidationError) -> ValidationFailed:
    found = [FieldError(_path(each["loc"]), _message(each)) for each in error.errors(include_input=False)]
    return ValidationFailed("See `errors` for what to change.", errors=found[:20])


def _path(location: tuple[int | str, ...]) -> str:
    """Names that callers chose stand in it too. One longer than any of ours may be a secret in the wrong place."""
    return ".".join("…" if len(str(part)) > MAX_NAME_LENGTH else str(part) for part in location)


_PLAIN = {
    "extra_forbidden": "There is no such field.",
    "missing": "This field is required.",
    "model_type": "Must be a JSON object.",
    "model_attributes_type": "Must be a JSON object.",
    "dict_type": "Must be a JSON object.",
    "too_long": "This is too long.",
    "too_short": "This is too short.",
}


def _message(error: Any) -> str:
    plain = _PLAIN.get(error["type"]) or PATTERN_MESSAGES.get(error.get("ctx", {}).get("pattern"))
    return plain or str(error["msg"]).removeprefix("Value error, ")
