"""A session over HTTP+SSE (2024-11-05): requests by POST, responses on one long stream."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin, urlsplit

from integrations.errors import Unreachable, UnreadableResponse, UpstreamError
from integrations.http_port import Http, HttpReply
from integrations.mcp import jsonrpc
from integrations.mcp.exchange import ACCEPT, STREAM, RpcOutcome, is_stream, is_success, refusal
from integrations.mcp.session import INITIALIZED, Era, initialize, negotiated_era
from integrations.mcp.sse import EventStream, SseMessage

ENDPOINT_SECONDS = 5.0
ENDED = "The server ended its stream."


class LegacySseSession:
    """A session with one response stream, which a task reads for all waiting requests."""

    era = Era("sse")

    def __init__(self, http: Http, url: str, numbers: Iterator[int]) -> None:
        self._http, self._url, self._numbers = http, url, numbers
        loop = asyncio.get_running_loop()
        self._endpoint: asyncio.Future[str | UpstreamError] = loop.create_future()
        self._waiting: dict[int, asyncio.Future[RpcOutcome]] = {}
        self._reader = loop.create_task(self._read())

    @classmethod
    async def open(cls, http: Http, url: str, numbers: Iterator[int]) -> LegacySseSession:
        session = cls(http, url, numbers)
        is_ready = False
        try:
            await session._initialize()
            is_ready = True
        finally:
            if not is_ready:
                await session.close()
        return session

    @property
    def is_open(self) -> bool:
        return not self._reader.done()

    async def send(self, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str]) -> RpcOutcome:
        number = next(self._numbers)
        return await self._request(number, jsonrpc.request(number, method, params), headers)

    async def close(self) -> None:
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.shield(asyncio.gather(self._reader, return_exceptions=True))

    async def _initialize(self) -> None:
        number = next(self._numbers)
        await self._wait_for_endpoint()
        self.era = negotiated_era("sse", await self._request(number, initialize(number, {}), {}))
        await self._post(INITIALIZED, {})

    async def _wait_for_endpoint(self) -> None:
        """Wait briefly: servers of later versions open a stream too, but never name an endpoint on it."""
        try:
            async with asyncio.timeout(ENDPOINT_SECONDS):
                endpoint = await asyncio.shield(self._endpoint)
        except TimeoutError as error:
            raise UnreadableResponse("The server's stream did not name an endpoint.", sent=False) from error
        if isinstance(endpoint, UpstreamError):
            raise endpoint

    async def _request(self, number: int, body: bytes, headers: Mapping[str, str]) -> RpcOutcome:
        if not self.is_open:
            return RpcOutcome(0, error=Unreachable(ENDED, sent=False))
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            return await self._post(body, headers) or await self._waiting[number]
        finally:
            del self._waiting[number]

    async def _post(self, body: bytes, headers: Mapping[str, str]) -> RpcOutcome | None:
        """Send a request. None if the server accepted it; its response arrives on the stream."""
        endpoint = await asyncio.shield(self._endpoint)
        if isinstance(endpoint, UpstreamError):
            raise endpoint
        async with self._http.request("POST", endpoint, {**ACCEPT, **headers}, body) as reply:
            if is_success(reply):
                return None
            return RpcOutcome(reply.status, dict(reply.headers), error=await refusal(reply))

    async def _read(self) -> None:
        ended: UpstreamError = Unreachable(ENDED)
        try:
            async with self._http.request("GET", self._url, {"Accept": STREAM}, lasting=True) as reply:
                if not is_success(reply):
                    raise await refusal(reply)
                if not is_stream(reply):
                    raise UnreadableResponse("The response is not an event stream.")
                await self._listen(reply)
        except UpstreamError as error:
            ended = error
        finally:
            self._end(ended)

    async def _listen(self, reply: HttpReply) -> None:
        stream = EventStream()
        async for chunk in reply.chunks():
            for event in stream.feed(chunk):
                await self._handle_event(event)

    async def _handle_event(self, event: SseMessage) -> None:
        if event.name == "endpoint":
            self._set_endpoint(event.data)
        elif event.name == "message":
            for message in jsonrpc.parse_messages(event.data):
                await self._handle_message(message)

    def _set_endpoint(self, endpoint: str) -> None:
        """Set the endpoint once, and only at the origin that the credentials belong to."""
        try:
            url = urljoin(self._url, endpoint)
            is_same = urlsplit(url)[:2] == urlsplit(self._url)[:2]
        except ValueError as error:
            raise UnreadableResponse("The server's endpoint is not a URL.") from error
        if not is_same:
            raise UnreadableResponse("The server's endpoint has a different origin.")
        if not self._endpoint.done():
            self._endpoint.set_result(url)

    async def _handle_message(self, message: jsonrpc.Message) -> None:
        match message:
            case jsonrpc.RpcResponse():
                for number, waiting in self._waiting.items():
                    if message.id == number and not waiting.done():
                        waiting.set_result(RpcOutcome(200, result=message.result, error=message.error))
            case jsonrpc.ServerRequest():
                with suppress(UpstreamError):
                    await self._post(jsonrpc.reply_to(message), {})
            case jsonrpc.Notification():
                pass

    def _end(self, error: UpstreamError) -> None:
        if not self._endpoint.done():
            self._endpoint.set_result(error)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(RpcOutcome(0, error=error))
