"""Limits on the calls in progress: to one server, from one workspace, in one process.

There is no queue: a call beyond a limit is refused before it costs anything, so a slow server holds no more than its
share of the capacity.

The fewer places of the process are free, the fewer of them one workspace may hold. So a few workspaces with slow calls
do not fill the process, whatever they do, and the next workspace finds room.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

RETRY_AFTER_SECONDS = 1  # each call that ends makes room

Which = Literal["server", "workspace", "share", "process"]

_TEXTS = {
    "server": "Too many calls to this server are in progress.",
    "workspace": "Too many calls from this workspace are in progress.",
    "share": "Plugboard is busy, and this workspace has its share of the calls in progress.",
    "process": "Too many calls are in progress.",
}


class LimitReached(Exception):
    """The call was not made; the message is for its caller."""

    def __init__(self, which: Which, retry_after: int = RETRY_AFTER_SECONDS) -> None:
        super().__init__(f"{_TEXTS[which]} Try again in {retry_after} s.")
        self.which = which
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class InFlight:
    calls: int
    counters: int
    """Servers and workspaces that are counted: those with calls in progress."""


class Bulkheads:
    """Counts the calls in progress. Not thread-safe; use on the event loop only."""

    def __init__(self, per_server: int = 64, per_workspace: int = 256, per_process: int = 1024) -> None:
        self._per_server = per_server
        self._per_workspace = per_workspace
        self._per_process = per_process
        self._calls = 0
        # Without an entry for anything that has no call in progress.
        self._by_server: dict[tuple[str, str], int] = {}
        self._by_workspace: dict[str, int] = {}

    def enter(self, partition: str, server_id: str) -> Permit:
        """A refused call (`LimitReached`) is not counted."""
        server = (partition, server_id)
        to_server = self._by_server.get(server, 0)
        from_workspace = self._by_workspace.get(partition, 0)
        if to_server >= self._per_server:
            raise LimitReached("server")
        if from_workspace >= self._per_workspace:
            raise LimitReached("workspace")
        if self._calls >= self._per_process:
            raise LimitReached("process")
        if from_workspace and from_workspace >= self._share():
            raise LimitReached("share")
        self._by_server[server] = to_server + 1
        self._by_workspace[partition] = from_workspace + 1
        self._calls += 1
        return Permit(self, server)

    def _share(self) -> int:
        """The calls that one workspace may have in progress now: half of the free places, times the free fraction.

        Under a plain fraction of what is free, about twenty workspaces fill the process; under this rule, about a
        hundred.
        """
        free = self._per_process - self._calls
        return free * free // (2 * self._per_process)

    def in_flight(self) -> InFlight:
        return InFlight(self._calls, len(self._by_server) + len(self._by_workspace))

    def free(self, server: tuple[str, str]) -> None:
        """Release the room of a call; a `Permit` calls this once."""
        partition, _ = server
        self._calls -= 1
        if left := self._by_server[server] - 1:
            self._by_server[server] = left
        else:
            del self._by_server[server]
        if left := self._by_workspace[partition] - 1:
            self._by_workspace[partition] = left
        else:
            del self._by_workspace[partition]


class Permit:
    """The room for one call, held until it leaves or its `with` ends."""

    __slots__ = ("_bulkheads", "_server")

    def __init__(self, bulkheads: Bulkheads, server: tuple[str, str]) -> None:
        self._bulkheads: Bulkheads | None = bulkheads
        self._server = server

    def leave(self) -> None:
        """Idempotent."""
        bulkheads, self._bulkheads = self._bulkheads, None
        if bulkheads is not None:
            bulkheads.free(self._server)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()
