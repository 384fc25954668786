"""Makes the answers: JSON, with the version as `ETag`, the next page as `Link`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from litestar import Request, Response
from litestar.enums import MediaType
from pydantic import TypeAdapter

from api.errors import PROBLEM_TYPE, AppError, Stale, problem_body
from api.http.models import View

OK, CREATED = 200, 201


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it can be stored and given again."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> Response[bytes]:
        return Response(self.body, status_code=self.status, headers=dict(self.headers), media_type=MediaType.JSON)


def one(view: View, version: int) -> Answer:
    return Answer(OK, encode(view), {"ETag": etag(version)})


def created(view: View, version: int, location: str) -> Answer:
    return Answer(CREATED, encode(view), {"ETag": etag(version), "Location": location})


def page(views: Sequence[View], kind: TypeAdapter[Any], request: Request[Any, Any, Any], cursor: str | None) -> Answer:
    """A bare array; where more follows, `Link` says how to ask for it."""
    headers = {}
    if cursor:
        asked = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
        query = urlencode([*asked, ("cursor", cursor)])
        headers["Link"] = f'<{request.scope["path"]}?{query}>; rel="next"'
    return Answer(OK, kind.dump_json(views, by_alias=True), headers)


def problem(error: AppError) -> Response[bytes]:
    return Response(problem_body(error), status_code=error.status, headers=error.headers, media_type=PROBLEM_TYPE)


def encode(view: View) -> bytes:
    return view.__pydantic_serializer__.to_json(view, by_alias=True)


def etag(version: int) -> str:
    return f'"{version}"'


def check_if_match(header: str | None, version: int) -> None:
    """RFC 9110 strong comparison: `*` and any listed tag that is the current one will do."""
    if header is None:
        return
    tags = [tag.strip() for tag in header.split(",")]
    if "*" not in tags and etag(version) not in tags:
        raise Stale
