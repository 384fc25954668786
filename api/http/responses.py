"""JSON responses, with the version as `ETag` and the next page as `Link`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from litestar import Request, Response
from litestar.types import HTTPResponseStartEvent, Receive, Scope, Send
from pydantic import TypeAdapter

from api.errors import PROBLEM_TYPE, AppError, problem_body
from api.http.models import ResponseModel

OK, CREATED = 200, 201
JSON = "application/json"


class BytesResponse(Response[bytes]):
    """A response whose body is bytes. Rendering and copying in Litestar would cost more than the rest of a request."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str], media_type: str = JSON) -> None:
        # Litestar's initialiser is not called: the methods below use nothing of what it prepares.
        self.content, self.status_code = body, status
        encoded = [(b"content-type", media_type.encode("latin-1")), (b"content-length", b"%d" % len(body))]
        for name, value in headers.items():
            encoded.append((name.lower().encode("latin-1"), value.encode("latin-1")))
        self._start: HTTPResponseStartEvent = {"type": "http.response.start", "status": status, "headers": encoded}

    def to_asgi_response(self, *_: object, **__: object) -> BytesResponse:  # type: ignore[override]
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # the names count
        await send(self._start)
        await send({"type": "http.response.body", "body": self.content, "more_body": False})


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response that can be stored and sent again."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> Response[bytes]:
        return BytesResponse(self.status, self.body, self.headers)


def item(view: ResponseModel, version: int) -> StoredResponse:
    return StoredResponse(OK, encode(view), {"ETag": etag(version)})


def created(view: ResponseModel, version: int, location: str) -> StoredResponse:
    return StoredResponse(CREATED, encode(view), {"ETag": etag(version), "Location": location})


def page(
    views: Sequence[ResponseModel], kind: TypeAdapter[Any], request: Request[Any, Any, Any], cursor: str | None
) -> StoredResponse:
    """A bare array; `Link` has the URL of the next page, if there is one."""
    headers = {}
    if cursor:
        parameters = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
        query = urlencode([*parameters, ("cursor", cursor)])
        headers["Link"] = f'<{request.scope["path"]}?{query}>; rel="next"'
    return StoredResponse(OK, kind.dump_json(views, by_alias=True), headers)


def problem(error: AppError) -> BytesResponse:
    return BytesResponse(error.status, problem_body(error), error.headers, PROBLEM_TYPE)


def encode(view: ResponseModel) -> bytes:
    return view.__pydantic_serializer__.to_json(view, by_alias=True)


def etag(version: int) -> str:
    return f'"{version}"'
