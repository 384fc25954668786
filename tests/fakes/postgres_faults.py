"""A proxy before a PostgreSQL server that loses commits or the answers to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from enum import Enum, auto

CHUNK = 65_536
COMMIT = b"COMMIT\0"


class CommitFault(Enum):
    PASSES = auto()
    LOST_REQUEST = auto()
    """The commit never arrives, and both sides notice that the connection is gone."""

    LOST_ANSWER = auto()
    """The server commits, and its answer never arrives."""

    HELD = auto()
    """The commit never arrives; only the client notices, so the transaction stays open."""


class FaultyPostgres:
    """Each commit meets the next of the faults given; when they are used up, it passes."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._refuses_later = False
        self._refuses = False
        self._faults: Iterable[CommitFault] = ()
        self._open: set[asyncio.StreamWriter] = set()
        self._held: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.commits = 0
        self.connections = 0
        self.second_connection = asyncio.Event()

    def put(self, *faults: CommitFault) -> None:
        self._faults = iter(faults)

    def refuse_after_a_fault(self) -> None:
        """Accepts no connection once a commit has met a fault."""
        self._refuses_later = True

    def release(self) -> None:
        """Ends the transactions that are held open."""
        while self._held:
            self._held.pop().transport.abort()

    def cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.connections == 2:
            self.second_connection.set()
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        if self._refuses:
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._open |= {writer, back}
        is_lost = asyncio.Event()
        answers = asyncio.create_task(self._answers(there, writer, back, is_lost))
        with suppress(ConnectionError):
            await self._requests(reader, writer, back, is_lost)
        await answers

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        back: asyncio.StreamWriter,
        is_lost: asyncio.Event,
    ) -> None:
        while chunk := await reader.read(CHUNK):
            match self._fault(chunk):
                case CommitFault.LOST_REQUEST:
                    back.transport.abort()
                    writer.transport.abort()
                    return
                case CommitFault.HELD:
                    self._held.append(back)
                    writer.transport.abort()
                    return
                case CommitFault.LOST_ANSWER:
                    is_lost.set()
            back.write(chunk)
            await back.drain()
        back.transport.abort()

    async def _answers(
        self,
        there: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        back: asyncio.StreamWriter,
        is_lost: asyncio.Event,
    ) -> None:
        with suppress(ConnectionError):
            while (chunk := await there.read(CHUNK)) and not is_lost.is_set():
                writer.write(chunk)
                await writer.drain()
        if back not in self._held:
            back.transport.abort()
        writer.transport.abort()
        self._open -= {writer, back}

    def _fault(self, chunk: bytes) -> CommitFault:
        if COMMIT not in chunk:
            return CommitFault.PASSES
        self.commits += 1
        fault = next(iter(self._faults), CommitFault.PASSES)
        self._refuses = self._refuses_later and fault is not CommitFault.PASSES
        return fault

    async def finish(self) -> None:
        self.release()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def faulty_postgres(port: int) -> AsyncIterator[FaultyPostgres]:
    wire = FaultyPostgres(port)
    server = await asyncio.start_server(wire.connected, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        server.close()
        await wire.finish()
