"""A server that keeps nothing between requests (2026-07-28): each request says all there is to say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from integrations.client import Http
from integrations.errors import Unreadable
from integrations.mcp import wire
from integrations.mcp.answers import Outcome, posted
from integrations.mcp.connection import MODERN_VERSION, Era
from integrations.mcp.mirror import standard_headers

META = "io.modelcontextprotocol/"
WANTS_INPUT = "The server wants to ask a person something before it answers, and nobody is there to be asked."


class Modern:
    is_open = True

    def __init__(self, http: Http, url: str, numbers: Iterator[int], era: Era) -> None:
        self._http, self._url, self._numbers = http, url, numbers
        self.era = era

    async def send(self, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Outcome:
        number, asked = next(self._numbers), _with_meta(params or {})
        sent = {**headers, **standard_headers(MODERN_VERSION, method, asked)}
        outcome = await posted(self._http, self._url, sent, number, wire.request(number, method, asked))
        return _completed(outcome)

    async def close(self) -> None:
        """There is nothing to close."""


def _with_meta(params: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's own `_meta` stays, but it cannot speak for us."""
    own = params.get("_meta")
    ours = {
        f"{META}protocolVersion": MODERN_VERSION,
        f"{META}clientInfo": wire.CLIENT_INFO,
        f"{META}clientCapabilities": {},
    }
    return {**params, "_meta": {**(own if isinstance(own, dict) else {}), **ours}}


def _completed(outcome: Outcome) -> Outcome:
    match outcome.result:
        case {"resultType": "complete"}:
            return outcome
        case {"resultType": "input_required"}:
            return outcome.failed(Unreadable(WANTS_INPUT))
        case {"resultType": _}:
            return outcome.failed(Unreadable("The result is of a type that is not known."))
        case _:
            return outcome
