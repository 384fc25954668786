"""Fetching of metadata documents, and typed access to their members."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from integrations.errors import StatusRefused, UnreadableResponse
from integrations.http_port import Http, HttpReply
from integrations.json_object import finite_float
from integrations.mcp.session import MODERN_VERSION

MAX_BYTES = 262_144
MAX_TEXT, MAX_TEXTS, MAX_NUMBER = 2048, 500, 1e12
_decode = msgspec.json.Decoder(dict[str, object], float_hook=finite_float).decode
HEADERS: Mapping[str, str] = {"Accept": "application/json", "MCP-Protocol-Version": MODERN_VERSION}


class MetadataDocument:
    """A JSON object in which a member of the wrong type counts as missing."""

    def __init__(self, members: Mapping[str, object]) -> None:
        self._members = members

    def text(self, name: str) -> str | None:
        value = self._members.get(name)
        return value if isinstance(value, str) and 0 < len(value) <= MAX_TEXT else None

    def texts(self, name: str) -> tuple[str, ...] | None:
        values = self._members.get(name)
        if not isinstance(values, list):
            return None
        return tuple(text for text in values[:MAX_TEXTS] if isinstance(text, str) and 0 < len(text) <= MAX_TEXT)

    def is_set(self, name: str) -> bool:
        return self._members.get(name) is True

    def number(self, name: str) -> float | None:
        match self._members.get(name):
            case bool():
                return None
            case int() | float() as value if 0 <= value <= MAX_NUMBER:
                return float(value)
            case _:
                return None


async def fetch_document(http: Http, url: str) -> MetadataDocument | None:
    """The document, or None if there is none. Raises `StatusRefused` for a temporary failure."""
    try:
        async with http.request("GET", url, HEADERS) as reply:
            if is_temporary_failure(reply.status):
                raise StatusRefused(reply.status, reply.reason, dict(reply.headers))
            return await parse_document(reply) if reply.status == HTTPStatus.OK else None
    except UnreadableResponse:
        return None


async def parse_document(reply: HttpReply) -> MetadataDocument:
    try:
        return MetadataDocument(_decode(await _body(reply)))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UnreadableResponse("The response is not a JSON object.") from error


def is_temporary_failure(status: int) -> bool:
    """Whether a status is a temporary failure, which says nothing about the resource."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


async def _body(reply: HttpReply) -> bytes:
    body = bytearray()
    async for chunk in reply.chunks():
        body += chunk
        if len(body) > MAX_BYTES:
            raise UnreadableResponse("The response exceeds the size limit.")
    return bytes(body)
