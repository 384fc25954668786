"""Requests whose targets and bodies are read within limits, and whose bodies are decoded as strict JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from litestar import Request
from litestar.datastructures import MultiDict

from api.errors import AppError, BadRequest, ContentTooLarge, UnsupportedMediaType, UriTooLong, ValidationFailed
from api.kit.deadline import Deadline, Ticker
from api.kit.strict_json import InvalidJson, TooManyValues, parse_json

AnyRequest = Request[Any, Any, Any]

MAX_BODY_BYTES = 1_048_576
# A client that is cut off sees a broken connection instead of the response, so a body that is too large is read to its
# end, up to this size.
DRAIN_BYTES = 32 * MAX_BODY_BYTES
BODY_SECONDS = 30.0
MAX_PATH = 4096
MAX_QUERY = 16_384
"""In bytes: all filters and the cursor of a list fit, also in a script whose characters take twelve bytes each."""
MAX_PARAMETERS = 50
BYTES_OF_A_CHARACTER = 4
"""Of a text with any character outside of ASCII, at most."""
SHORT_PATH = MAX_PATH // BYTES_OF_A_CHARACTER
"""In characters: a shorter one has few enough bytes in any script."""
SHORT_QUERY = MAX_PARAMETERS
"""In bytes: a shorter one has few enough parameters."""
MERGE_PATCH = "application/merge-patch+json"
_MEDIA_TYPES = {False: (b"application/json",), True: (b"application/json", MERGE_PATCH.encode())}
"""Of a body, and of one of PATCH."""


class ApiRequest(AnyRequest):
    """Litestar calls `body()` and `json()` for a handler with a `data` parameter; both are stricter here."""

    _raw: bytes | None = None
    _parameters: MultiDict[Any] | None = None

    @property
    def query_params(self) -> MultiDict[Any]:
        """Litestar would keep the parsed queries of a thousand requests, also of those without a key."""
        if self._parameters is None:
            text = self.scope["query_string"].decode("latin-1")
            self._parameters = MultiDict(parse_qsl(text, keep_blank_values=True))
        return self._parameters

    async def body(self) -> bytes:
        if self._raw is None:
            self._raw = await self._read_body()
        return self._raw

    async def json(self) -> Any:
        try:
            value = parse_json(await self.body())
        except TooManyValues as error:
            raise ContentTooLarge(str(error)) from error
        except InvalidJson as error:
            raise BadRequest(str(error)) from error
        self.scope["state"]["body"] = value
        return value

    async def _read_body(self) -> bytes:
        if _media_type(self.scope["headers"]) not in _MEDIA_TYPES[self.method == "PATCH"]:
            raise UnsupportedMediaType
        ticker: Ticker = self.app.state["ticker"]
        try:
            with Deadline(ticker, BODY_SECONDS).enforce():
                raw = await _read(self.receive)
        except TimeoutError:
            raise BadRequest(f"Timed out reading the request body ({BODY_SECONDS:.0f} s).") from None
        if not raw:
            raise BadRequest("The body is empty.")
        return raw


def target_refusal(scope: Mapping[str, Any]) -> AppError | None:
    """The reason against a path or a query that no route takes. Parsing, routing and caches cost with its length."""
    path, query = scope["path"], scope["query_string"]
    if len(path) > SHORT_PATH and (len(path) > MAX_PATH or not path.isascii()):
        return UriTooLong(f"A path may have at most {MAX_PATH} characters.")
    if not query:
        return None
    if len(query) > MAX_QUERY:
        return UriTooLong(f"A query may have at most {MAX_QUERY} characters.")
    if query.count(b"&") >= MAX_PARAMETERS:
        return ValidationFailed(f"A query may have at most {MAX_PARAMETERS} parameters.")
    return None


def query_bool(request: AnyRequest, name: str) -> bool:
    """A boolean in the query; absent means false."""
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise ValidationFailed.at(name, "Must be `true` or `false`.")
    return bool(text == "true")


def _media_type(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The first `Content-Type`, as with every other header that is sent twice."""
    for name, value in headers:
        if name == b"content-type":
            return value.partition(b";")[0].strip().lower()
    return b""


async def _read(receive: Callable[[], Awaitable[Any]]) -> bytes:
    chunks, size, more = [], 0, True
    while more and size <= DRAIN_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("The connection closed before the end of the body.")
        chunk, more = message.get("body", b""), message.get("more_body", False)
        size += len(chunk)
        if size <= MAX_BODY_BYTES:
            chunks.append(chunk)
    if size > MAX_BODY_BYTES:
        raise ContentTooLarge(f"A body may have at most {MAX_BODY_BYTES} bytes.")
    return b"".join(chunks)
