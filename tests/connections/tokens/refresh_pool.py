"""Many processes on one store, each of them asked for a good token at the same moment."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

from api.main.settings import Settings
from demo.oauth_provider.server import OAuthProvider, Tenant
from tests.conftest import ROOT_KEY
from tests.connections.tokens.refresh_worker import CallerResult, Outcome, RefreshOrder
from tests.connections.workspace_owner import WorkspaceOwner
from tests.fakes.dynamodb import ACCESS, new_table
from tests.fakes.postgres import PostgresServer
from tests.harness import Plugboard, served

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 60.0
WORKER = (sys.executable, "-m", "tests.connections.tokens.refresh_worker")


@dataclass(frozen=True)
class WorkerProcess:
    """One process."""

    pid: int
    line: Connection

    def start(self, order: RefreshOrder) -> None:
        self.line.send(order)

    def outcome(self) -> Outcome:
        assert self.line.poll(PATIENCE_SECONDS), "a process does not come to an end"
        outcome: Outcome = self.line.recv()
        return outcome

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.assert_dead()

    def assert_dead(self) -> None:
        try:
            text = self.outcome()
        except (EOFError, ConnectionError):
            return
        raise AssertionError(f"it lived and got {text}")


@dataclass(frozen=True)
class WorkerListener:
    """Accepts the connections of the processes. Fails if they cannot come, because the first of them has ended."""

    listener: socket.socket
    process: subprocess.Popen[bytes]

    def accept(self) -> Connection:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                return Connection(self.listener.accept()[0].detach())
            except TimeoutError:
                status = self.process.poll()
                assert status is None, f"the process that starts the others has ended with status {status}"
        raise AssertionError("no process has connected in time")


@dataclass
class Pool:
    entrance: WorkerListener
    parent: Connection
    members: list[WorkerProcess] = field(default_factory=list)

    def take(self, count: int) -> list[WorkerProcess]:
        """So many that are alive; those that are killed are replaced."""
        self.parent.send(max(count - len(self.members), 0))
        while len(self.members) < count:
            line = self.entrance.accept()
            self.members.append(WorkerProcess(line.recv(), line))
        return self.members[:count]

    def victim(self) -> WorkerProcess:
        """One that the test is going to kill."""
        result = self.take(1)[0]
        self.members.remove(result)
        return result

    def run(self, order: RefreshOrder, processes: int) -> Outcome:
        """What all callers of all processes got."""
        return outcome_of(self.start(order, processes))

    def start(self, order: RefreshOrder, processes: int) -> list[WorkerProcess]:
        requested = self.take(processes)
        for member in requested:
            member.start(order)
        return requested

    def close(self) -> None:
        for member in self.members:
            member.line.close()
        self.parent.close()


def outcome_of(members: list[WorkerProcess]) -> Outcome:
    return sum((member.outcome() for member in members), Counter[CallerResult]())


@contextmanager
def open_pool(command: Sequence[str] = WORKER) -> Iterator[Pool]:
    with TemporaryDirectory(prefix="pool-") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/socket")
        listener.listen()
        listener.settimeout(0.2)
        with subprocess.Popen([*command, f"{folder}/socket"], cwd=ROOT, env=os.environ | ACCESS) as process:
            entrance = WorkerListener(listener, process)
            pool = Pool(entrance, entrance.accept())
            try:
                yield pool
            finally:
                pool.close()


@dataclass(frozen=True)
class RefreshEnvironment:
    """A Plugboard on which people connect, and what other processes need to serve the same."""

    plugboard: Plugboard
    environment: Mapping[str, str]

    def scene(self, tenant: Tenant) -> RefreshCase:
        owner = WorkspaceOwner.at(self.plugboard)
        server = owner.connected(owner.remote(tenant))
        order = RefreshOrder(self.environment, owner.workspace.id, owner.workspace.key, server)
        return RefreshCase(owner, server, tenant, order)


@dataclass(frozen=True)
class RefreshCase:
    """One server, connected."""

    owner: WorkspaceOwner
    server: str
    tenant: Tenant
    order: RefreshOrder


@contextmanager
def open_environment(provider: OAuthProvider, **environment: str) -> Iterator[RefreshEnvironment]:
    known = provider.environment() | environment
    with served(Settings.from_environment(known)) as plugboard:
        yield RefreshEnvironment(plugboard, known)


@contextmanager
def on_dynamodb(provider: OAuthProvider, endpoint: str) -> Iterator[RefreshEnvironment]:
    """All that would be needed on several machines."""
    table = {"PLUGBOARD_TABLE": new_table(endpoint), "PLUGBOARD_DYNAMODB_ENDPOINT": endpoint}
    with open_environment(provider, PLUGBOARD_STORE="dynamodb", PLUGBOARD_ROOT_KEY=ROOT_KEY, **table) as stage:
        yield stage


@contextmanager
def on_postgres(provider: OAuthProvider, server: PostgresServer) -> Iterator[RefreshEnvironment]:
    database = {"PLUGBOARD_POSTGRES_URL": server.url_of(server.make_database()), "PLUGBOARD_POSTGRES_CONNECTIONS": "4"}
    with open_environment(provider, PLUGBOARD_STORE="postgres", PLUGBOARD_ROOT_KEY=ROOT_KEY, **database) as stage:
        yield stage
