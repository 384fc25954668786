"""A session with a server that answers JSON-RPC to a POST without a handshake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from integrations.http_port import Http
from integrations.mcp import jsonrpc
from integrations.mcp.exchange import RpcOutcome, post
from integrations.mcp.session import Era


class PlainSession:
    era = Era("plain")
    is_open = True

    def __init__(self, http: Http, url: str, numbers: Iterator[int]) -> None:
        self._http, self._url, self._numbers = http, url, numbers

    async def send(self, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str]) -> RpcOutcome:
        number = next(self._numbers)
        outcome = await post(self._http, self._url, headers, number, jsonrpc.request(number, method, params))
        if outcome.error or isinstance(outcome.result, dict):
            return outcome
        return outcome._replace(result={"result": outcome.result})  # JSON-RPC alone allows any value

    async def close(self) -> None:
        """Nothing to close."""
