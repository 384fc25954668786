"""Serves an ASGI app in a thread of this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from litestar.types import ASGIApp

from api.http.server.protocol import LimitedHttpProtocol

PATIENCE_SECONDS = 60.0
ANY_PORT = ("127.0.0.1", 0)


@contextmanager
def listening(
    app: ASGIApp, http: type[LimitedHttpProtocol] = LimitedHttpProtocol, address: tuple[str, int] = ANY_PORT
) -> Iterator[str]:
    """Serves an app in a thread, usually on a free port of 127.0.0.1, and stops it gracefully."""
    config = uvicorn.Config(
        app,
        host=address[0],
        port=address[1],
        loop="uvloop",
        http=http,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=int(PATIENCE_SECONDS),  # on a busy machine a test can pause for more than five seconds
    )
    server = uvicorn.Server(config)
    started = threading.Event()
    thread = threading.Thread(target=_run, args=(server, started), daemon=True)
    thread.start()
    assert started.wait(PATIENCE_SECONDS), "the server did not start"
    assert server.started, "the server could not start"
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://{address[0]}:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive(), "the server did not stop"


def _run(server: uvicorn.Server, started: threading.Event) -> None:
    try:
        asyncio.run(_serve(server, started))
    finally:
        started.set()


async def _serve(server: uvicorn.Server, started: threading.Event) -> None:
    serving = asyncio.create_task(server.serve())
    while not (server.started or serving.done()):  # noqa: ASYNC110  # uvicorn tells nobody when it listens
        await asyncio.sleep(0.005)
    started.set()
    await serving
