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
from integrations.mcp.respondent import OF_ONE_ROUND, Respondent, inputs

META = "io.modelcontextprotocol/"
MAX_ROUNDS = 10
_MAY_ASK_BACK = frozenset({"tools/call", "prompts/get", "resources/read"})


class Modern:
    is_open = True

    def __init__(self, http: Http, url: str, numbers: Iterator[int], respondent: Respondent, era: Era) -> None:
        self._http, self._url, self._numbers = http, url, numbers
        self._respondent = respondent
        self.era = era

    async def send(self, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Outcome:
        """A server that asks back has put the request aside: with the answers it is made again."""
        outcome = await self._sent(method, params or {}, headers)
        lasting = {name: value for name, value in (params or {}).items() if name not in OF_ONE_ROUND}
        for _ in range(MAX_ROUNDS):
            if not _asks_back(method, outcome):
                break
            try:
                answers = await inputs(self._respondent, outcome.value())
            except Unreadable as error:
                return outcome.failed(error)
            outcome = await self._sent(method, lasting | answers, headers)
        return _completed(outcome)

    async def close(self) -> None:
        """There is nothing to close."""

    async def _sent(self, method: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> Outcome:
        number, asked = next(self._numbers), _with_meta(params, self._respondent.capabilities)
        sent = {**headers, **standard_headers(MODERN_VERSION, method, asked)}
        return await posted(self._http, self._url, sent, number, wire.request(number, method, asked))


def _with_meta(params: Mapping[str, Any], capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's own `_meta` stays, but it cannot speak for us."""
    own = params.get("_meta")
    ours = {
        f"{META}protocolVersion": MODERN_VERSION,
        f"{META}clientInfo": wire.CLIENT_INFO,
        f"{META}clientCapabilities": capabilities,
    }
    return {**params, "_meta": {**(own if isinstance(own, dict) else {}), **ours}}


def _asks_back(method: str, outcome: Outcome) -> bool:
    match outcome.result:
        case {"resultType": "input_required"}:
            return method in _MAY_ASK_BACK
        case _:
            return False


def _completed(outcome: Outcome) -> Outcome:
    match outcome.result:
        case {"resultType": "complete"}:
            return outcome
        case {"resultType": "input_required"}:
            return outcome.failed(Unreadable("The server asks back where it may not, or without an end."))
        case {"resultType": _}:
            return outcome.failed(Unreadable("The result is of a type that is not known."))
        case _:
            return outcome
