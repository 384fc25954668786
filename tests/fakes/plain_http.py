"""The port `Http` on httpx2, for tests of what is built upon it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2
from litestar.types import ASGIApp

from integrations.errors import Unreachable, UpstreamTimeout
from integrations.mcp import Era, McpClient
from integrations.mcp.server_requests import NOBODY, Respondent
from tests.harness import NO_TLS, listening


class PlainReply:
    def __init__(self, response: httpx2.Response) -> None:
        self.status, self.reason = response.status_code, response.reason_phrase
        self.headers: Mapping[str, str] = response.headers
        self._answer = response

    async def read(self) -> bytes:
        return await self._answer.aread()

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.aiter_bytes():
            yield chunk


class PlainHttp:
    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        lasting: bool = False,  # noqa: ARG002  the port has it
    ) -> AsyncIterator[PlainReply]:
        try:
            async with self._client.stream(method, url, headers=dict(headers), content=body) as response:
                yield PlainReply(response)
        except httpx2.TimeoutException as error:
            raise UpstreamTimeout("The request took too long.") from error
        except httpx2.TransportError as error:
            raise Unreachable("The server could not be reached.") from error


@asynccontextmanager
async def plain_http(patience: float = 20.0) -> AsyncIterator[PlainHttp]:
    async with httpx2.AsyncClient(verify=NO_TLS, timeout=patience, trust_env=False) as client:
        yield PlainHttp(client)


@asynccontextmanager
async def client_of(
    server: ASGIApp, era: Era | None = None, waits: list[float] | None = None, respondent: Respondent = NOBODY
) -> AsyncIterator[McpClient]:
    """A client of a server on 127.0.0.1. What it would wait is written down, and not waited."""

    async def wait(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    with listening(server) as url:
        async with plain_http() as http:
            client = McpClient(http, f"{url}/mcp", era, wait=wait, respondent=respondent)
            try:
                yield client
            finally:
                await client.close()
