"""What a process does of which there are many: it wants a good token, for as many callers as it is told.

`python -m tests.connections.tokens.refresh_worker <socket>` only becomes as many processes as it is asked for.
An interpreter takes a second to start, a fork of one a few milliseconds.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Client, Connection
from typing import NamedTuple

from api.connections.tokens.access_tokens import AccessToken
from api.connections.tokens.errors import NotConnected, ReconnectRequired, TokenTemporarilyUnavailable
from api.connections.tokens.policy import RefreshPolicy
from api.kit.storage.store import Change, Store
from api.main.container import Container, build_container
from api.main.settings import Settings
from api.servers.records import ServerRecords
from tests.connections.tokens.refresh_process import (
    USUAL,
    ShiftedClock,
    StoreWrapper,
    TokenDeps,
    step_of,
    with_token_refresh,
)
from tests.harness import bearer


@dataclass(frozen=True)
class RefreshOrder:
    environment: Mapping[str, str]
    """Of Plugboard: where it keeps its data, and whom it takes for the services."""

    workspace_id: str
    key: str
    server_id: str
    callers: int = 1
    ahead: float = 0.0
    """The seconds by which the clock is ahead, so that tokens expire at once."""

    was_refused: bool = False
    """The token that this process got last was not taken."""

    timing: RefreshPolicy = USUAL
    dies: str = ""
    """`before` or `after` it stores a `lease` or new `tokens`."""


class CallerResult(NamedTuple):
    """The token and its generation, or the name of what was raised."""

    token: str
    generation: int


Outcome = Counter[CallerResult]


class KillingStore(StoreWrapper):
    """A store whose process ends at one of its steps, as by a power cut: nothing is tidied up."""

    def __init__(self, store: Store, dies: str) -> None:
        super().__init__(store)
        self._dies = dies

    async def write(self, *changes: Change) -> None:
        step = step_of(changes)
        self._die_at(f"before {step}")
        await super().write(*changes)
        self._die_at(f"after {step}")

    def _die_at(self, moment: str) -> None:
        if moment == self._dies:
            os.kill(os.getpid(), signal.SIGKILL)


class Worker:
    def __init__(self) -> None:
        self._clock = ShiftedClock()
        self._assembled: dict[str, Container] = {}
        self._last: AccessToken | None = None

    async def run(self, order: RefreshOrder) -> Outcome:
        self._clock.seconds = order.ahead
        parts = await self._parts(order)
        ctx = await parts.authenticator.authenticate(bearer(order.key), order.workspace_id, "test")
        server = await ServerRecords(parts.store, ctx).get(order.server_id)
        assert server is not None
        refused = self._last if order.was_refused else None

        async def one() -> CallerResult:
            try:
                self._last = await parts.connections.tokens.get(ctx, server, refused=refused)
            except (NotConnected, ReconnectRequired, TokenTemporarilyUnavailable) as error:
                return CallerResult(type(error).__name__, -1)
            return CallerResult(self._last.token, self._last.generation)

        return Counter(await asyncio.gather(*(one() for _ in range(order.callers))))

    async def _parts(self, order: RefreshOrder) -> Container:
        known = f"{sorted(order.environment.items())} {order.timing} {order.dies}"
        if known not in self._assembled:
            parts = await build_container(Settings.from_environment(order.environment), self._clock)
            self._assembled[known] = with_token_refresh(
                parts, order.timing, equipped=partial(_with_killing_store, order.dies)
            )
        return self._assembled[known]


def _with_killing_store(dies: str, deps: TokenDeps) -> TokenDeps:
    return replace(deps, store=KillingStore(deps.store, dies)) if dies else deps


def work(orders: Connection) -> None:
    worker = Worker()
    with asyncio.Runner() as runner:
        orders.send(os.getpid())
        try:
            while True:
                orders.send(runner.run(worker.run(orders.recv())))
        except (EOFError, ConnectionError):  # the pool has closed the connection
            os._exit(0)


def main(address: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended processes are reaped without waiting
    with Client(address) as orders:
        try:
            while True:
                for _ in range(orders.recv()):
                    if os.fork() == 0:
                        orders.close()
                        work(Client(address))
        except EOFError:
            return


if __name__ == "__main__":
    # what is sent has its type by the name that others know
    from tests.connections.tokens import refresh_worker

    refresh_worker.main(sys.argv[1])
