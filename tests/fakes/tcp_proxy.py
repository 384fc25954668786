"""A TCP proxy that can stop forwarding without closing connections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

CHUNK = 65_536


class SilencingProxy:
    """Forwards data until `silence`, then discards it."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._silent = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self.port = 0
        self.connections = 0
        """That were ever made."""

    def silence(self) -> None:
        self._silent.set()

    def restore(self) -> None:
        """Closes hanging connections and forwards again."""
        self._silent.clear()
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    def run(self, started: threading.Event) -> None:
        self._loop.run_until_complete(self._serve(started))
        self._loop.close()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self, started: threading.Event) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await self._stopped.wait()
        server.close()
        await self._cut()
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        there, back = await asyncio.open_connection(*self._target)
        self._writers |= {writer, back}
        await asyncio.gather(self._copy(reader, back), self._copy(there, writer))

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while chunk := await reader.read(CHUNK):
                if not self._silent.is_set():
                    writer.write(chunk)
                    await writer.drain()
        writer.close()
        self._writers.discard(writer)

    async def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@contextmanager
def proxy_to(url: str) -> Iterator[tuple[SilencingProxy, str]]:
    parts, started = urlsplit(url), threading.Event()
    wire = SilencingProxy(str(parts.hostname), int(parts.port or 80))
    thread = threading.Thread(target=wire.run, args=(started,), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield wire, f"http://127.0.0.1:{wire.port}"
    finally:
        wire.stop()
        thread.join(10)
