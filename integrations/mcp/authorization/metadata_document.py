"""Fetches a metadata document and reads its members by type."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from integrations.errors import StatusRefused, UnreadableResponse
from integrations.http_port import Http, HttpReply
from integrations.mcp.session import MODERN_VERSION

MAX_BYTES = 262_144
MAX_TEXT, MAX_TEXTS, MAX_NUMBER = 2048, 500, 1e12
HEADERS: Mapping[str, str] = {"Accept": "application/json", "MCP-Protocol-Version": MODERN_VERSION}


class MetadataDocument:
    """A member of another type than it should have is as good as none."""

    def __init__(self, members: Mapping[str, object]) -> None:
        self._members = members

    def text(self, name: str) -> str | None:
        found = self._members.get(name)
        return found if isinstance(found, str) and 0 < len(found) <= MAX_TEXT else None

    def texts(self, name: str) -> tuple[str, ...] | None:
        found = self._members.get(name)
        if not isinstance(found, list):
            return None
        return tuple(text for text in found[:MAX_TEXTS] if isinstance(text, str) and 0 < len(text) <= MAX_TEXT)

    def is_set(self, name: str) -> bool:
        return self._members.get(name) is True

    def number(self, name: str) -> float | None:
        match self._members.get(name):
            case bool():
                return None
            case int() | float() as found if 0 <= found <= MAX_NUMBER:
                return float(found)
            case _:
                return None


async def fetch_document(http: Http, url: str) -> MetadataDocument | None:
    """None where there is none: a page, a redirect, a refusal. `Refused` where the server cannot say so just now."""
    try:
        async with http.request("GET", url, HEADERS) as reply:
            if is_trouble(reply.status):
                raise StatusRefused(reply.status, reply.reason, dict(reply.headers))
            return await parse_document(reply) if reply.status == HTTPStatus.OK else None
    except UnreadableResponse:
        return None


async def parse_document(reply: HttpReply) -> MetadataDocument:
    try:
        return MetadataDocument(msgspec.json.decode(await _body(reply), type=dict[str, object]))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UnreadableResponse("The answer is not a JSON object.") from error


def is_trouble(status: int) -> bool:
    """Of the server's own, and passing: it says nothing about what is there."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


async def _body(reply: HttpReply) -> bytes:
    body = bytearray()
    async for chunk in reply.chunks():
        body += chunk
        if len(body) > MAX_BYTES:
            raise UnreadableResponse("The answer has more bytes than are accepted.")
    return bytes(body)
