"""The floors for calls and lists: bare ASGI and bare Litestar apps that pass requests through unread."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn
from litestar import Litestar, MediaType, Request, get, post

from api.main.asgi import tune_garbage_collector
from bench import upstream
from bench.upstream import read_body, send_response

CALLS, TOOLS, BYTES = "/tool-calls", "/tools/", "/bytes"
ALL_TOOLS = "tools.json"
ASGI, LITESTAR = "asgi", "litestar"
SERVED: dict[str, Any] = {
    "loop": "uvloop",
    "http": "httptools",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "ws": "none",
}


class UpstreamClient:
    """One pooled session. The upstream requests are prepared once: nothing is read from the incoming request."""

    def __init__(self, port: int) -> None:
        self._url = f"http://{upstream.HOST}:{port}{upstream.PATH}"
        self._call, self._list = upstream.call_request(), upstream.list_request()
        self._session: aiohttp.ClientSession | None = None

    async def call(self) -> bytes:
        return await self._post(0, *self._call)

    async def tools(self, servers: int) -> bytes:
        lists = await asyncio.gather(*(self._post(number, *self._list) for number in range(servers)))
        return b"[" + b",".join(lists) + b"]"

    async def _post(self, number: int, body: bytes, headers: dict[str, str]) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        async with self._session.post(self._url.format(number), data=body, headers=headers) as reply:
            return await reply.read()


class AsgiFloor:
    def __init__(self, passing: UpstreamClient, all_tools: bytes) -> None:
        self._passing = passing
        self._all_tools = all_tools

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path: str = scope["path"]
        body = await read_body(receive)
        if path == BYTES:
            await send_response(send, 200, self._all_tools)
        elif path == CALLS and body:
            await send_response(send, 200, await self._passing.call())
        else:
            await send_response(send, 200, await self._passing.tools(int(path.removeprefix(TOOLS))))


def litestar_floor(passing: UpstreamClient) -> Litestar:
    @post(CALLS, media_type=MediaType.JSON, status_code=200)
    async def call(request: Request[Any, Any, Any]) -> bytes:
        await request.body()
        return await passing.call()

    @get(TOOLS + "{servers:int}", media_type=MediaType.JSON)
    async def tools(servers: int) -> bytes:
        return await passing.tools(servers)

    return Litestar([call, tools], openapi_config=None, logging_config=None)


def main(port: str, kind: str, upstream_port: str, directory: str) -> None:
    passing, all_tools = UpstreamClient(int(upstream_port)), (Path(directory) / ALL_TOOLS).read_bytes()
    app = litestar_floor(passing) if kind == LITESTAR else AsgiFloor(passing, all_tools)
    tune_garbage_collector()
    uvicorn.run(app, host=upstream.HOST, port=int(port), lifespan="off", **SERVED)


if __name__ == "__main__":
    main(*sys.argv[1:])
