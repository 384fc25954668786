"""The stream of a session on which a server sends its own requests (Streamable HTTP)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from integrations.errors import UpstreamError
from integrations.http_port import Http, HttpReply
from integrations.mcp import jsonrpc
from integrations.mcp.exchange import STREAM, OnRequest, is_stream, is_success
from integrations.mcp.session import Wait
from integrations.mcp.sse import EventStream

PATIENCE_SECONDS = 2.0
SHORTEST_RETRY_MS, LONGEST_RETRY_MS = 1000, 60_000


class Listener:
    """A task that reads the stream and resumes it when it ends. For a server without such a stream it ends."""

    def __init__(self, http: Http, url: str, headers: Mapping[str, str], wait: Wait, on_request: OnRequest) -> None:
        self._http, self._url, self._headers = http, url, headers
        self._wait, self._on_request = wait, on_request
        self._is_ready = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def wait_until_open(self, patience: float = PATIENCE_SECONDS) -> None:
        """Wait until the stream is open, since earlier requests are lost; give up after `patience` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._is_ready.wait()

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.shield(asyncio.gather(self._task, return_exceptions=True))

    async def _run(self) -> None:
        last_id: str | None = None
        try:
            while stream := await self._read_stream(last_id):
                last_id = stream.last_id or last_id
                await self._wait(min(max(stream.retry_ms or 0, SHORTEST_RETRY_MS), LONGEST_RETRY_MS) / 1000)
        finally:
            self._is_ready.set()

    async def _read_stream(self, last_id: str | None) -> EventStream | None:
        """Read a stream to its end; None if there is no stream."""
        headers = {**self._headers, "Accept": STREAM} | ({} if last_id is None else {"Last-Event-ID": last_id})
        stream: EventStream | None = None
        with suppress(UpstreamError):
            async with self._http.request("GET", self._url, headers, lasting=True) as reply:
                if is_success(reply) and is_stream(reply):
                    stream = EventStream()
                    self._is_ready.set()
                    await self._handle_messages(reply, stream)
        return stream

    async def _handle_messages(self, reply: HttpReply, stream: EventStream) -> None:
        async for chunk in reply.chunks():
            for event in stream.feed(chunk):
                for message in jsonrpc.parse_messages(event.data) if event.name == "message" else ():
                    if isinstance(message, jsonrpc.ServerRequest):
                        await self._on_request(message)
