"""Cursor pagination: the page that a request asks for, and the `Link` to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from litestar import Request
from pydantic import TypeAdapter

from api.errors import BadCursor, ValidationFailed
from api.http.models import ResponseModel
from api.http.operations import Parameter
from api.http.responses import StoredResponse, page
from api.kit.cursors import MAX_CURSOR, CursorSigner, InvalidCursor

DEFAULT_LIMIT, MAX_LIMIT = 50, 100
PAGE = ("limit", "cursor")
PAGES = (
    'The body is an array. If there are more, a `Link` header with `rel="next"` has the URL of the next page. '
    "A page ends early where objects are large, and a request looks at a bounded number of objects: so a page may be "
    "short, with filters also empty, and still have a next one."
)

PAGING = (
    Parameter(
        "limit",
        "The maximum number of items in the response.",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    ),
    Parameter(
        "cursor",
        "The start of the page, from the `Link` header of the previous page.",
        {"type": "string", "minLength": 1, "maxLength": MAX_CURSOR},
    ),
)


@dataclass(frozen=True, slots=True)
class Paging:
    """The page that a request asks for. Its cursor is valid only for this list of this workspace with these filters."""

    request: Request[Any, Any, Any]
    cursors: CursorSigner
    limit: int
    after: str | None

    @classmethod
    def of(cls, request: Request[Any, Any, Any], cursors: CursorSigner) -> Paging:
        query = request.query_params
        cursor = query.get("cursor")
        try:
            after = None if cursor is None else cursors.read(_list_of(request), cursor)
        except InvalidCursor as error:
            raise BadCursor from error
        return cls(request, cursors, _limit(query.get("limit")), after)

    @property
    def one_more(self) -> int:
        """The number of items to read, one more than the limit, to know whether another page follows."""
        return self.limit + 1

    def answer(self, views: Sequence[ResponseModel], kind: TypeAdapter[Any], last: str | None) -> StoredResponse:
        """`last` is where the next page begins, or None."""
        cursor = self.cursors.make(_list_of(self.request), last) if last else None
        return page(views, kind, self.request, cursor)


def _list_of(request: Request[Any, Any, Any]) -> str:
    """The path and the filters."""
    filters = sorted(item for item in request.query_params.multi_items() if item[0] not in PAGE)
    return str(request.scope["path"]) + (f"?{urlencode(filters)}" if filters else "")


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_LIMIT)) and 1 <= int(text) <= MAX_LIMIT):
        raise ValidationFailed.at("limit", f"Must be a whole number from 1 to {MAX_LIMIT}.")
    return int(text)
