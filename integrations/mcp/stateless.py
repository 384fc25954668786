"""A session without state (2026-07-28): each request carries all that the server needs."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping
from typing import Any

from integrations.errors import UnreadableResponse
from integrations.http_port import Http
from integrations.mcp import jsonrpc
from integrations.mcp.exchange import RpcOutcome, post
from integrations.mcp.header_mirroring import standard_headers
from integrations.mcp.server_requests import OF_ONE_ROUND, Respondent, inputs
from integrations.mcp.session import MODERN_VERSION, Era

META = "io.modelcontextprotocol/"
MAX_ROUNDS = 10
UNANSWERABLE = "The server requested input where it may not, or too many times."
_MAY_ASK_BACK = frozenset({"tools/call", "prompts/get", "resources/read"})


class StatelessSession:
    is_open = True

    def __init__(self, http: Http, url: str, numbers: Iterator[int], respondent: Respondent, era: Era) -> None:
        self._http, self._url, self._numbers = http, url, numbers
        self._respondent = respondent
        self._meta = {
            f"{META}protocolVersion": MODERN_VERSION,
            f"{META}clientInfo": jsonrpc.CLIENT_INFO,
            f"{META}clientCapabilities": respondent.capabilities,
        }
        self.era = era

    async def send(self, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str]) -> RpcOutcome:
        """A server that requests input has not executed the request, which is sent again with the answers."""
        outcome = await self._post(method, params or {}, headers)
        if not _asks_back(method, outcome):
            return _completed(outcome)
        lasting = {name: value for name, value in (params or {}).items() if name not in OF_ONE_ROUND}
        for _ in range(MAX_ROUNDS):
            if not _asks_back(method, outcome):
                break
            try:
                answers = await inputs(self._respondent, outcome.value())
            except UnreadableResponse as error:
                error.sent = False  # the server waits for the inputs
                return outcome.failed(error)
            outcome = await self._post(method, lasting | answers, headers)
        return _completed(outcome)

    async def close(self) -> None:
        """Nothing to close."""

    def _post(self, method: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> Awaitable[RpcOutcome]:
        number, params = next(self._numbers), self._with_meta(params)
        headers = {**headers, **standard_headers(MODERN_VERSION, method, params)}
        return post(self._http, self._url, headers, number, jsonrpc.request(number, method, params))

    def _with_meta(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The caller's own `_meta` stays, but it cannot speak for us."""
        own = params.get("_meta")
        return {**params, "_meta": {**own, **self._meta} if isinstance(own, dict) else self._meta}


def _asks_back(method: str, outcome: RpcOutcome) -> bool:
    result = outcome.result
    return isinstance(result, dict) and result.get("resultType") == "input_required" and method in _MAY_ASK_BACK


def _completed(outcome: RpcOutcome) -> RpcOutcome:
    match outcome.result:
        case {"resultType": "complete"}:
            return outcome
        case {"resultType": "input_required"}:
            return outcome.failed(UnreadableResponse(UNANSWERABLE, sent=False))
        case {"resultType": _}:
            return outcome.failed(UnreadableResponse("The result has an unknown type."))
        case _:
            return outcome
