"""A workspace whose servers are connected at a fake provider: by a person with a browser, for an agent that calls."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2

from api.access.context import partition_of
from api.access.peppers import SYSTEM
from api.connections.repository import PREFIX as GRANTS
from api.connections.revocation.job import PREFIX
from api.kit.clock import Clock
from api.kit.storage.store import Always, Delete, Item
from api.main.container import Container, build_container
from demo.oauth_provider.server import Tenant
from tests.conformance.browser import Browser
from tests.harness import PATIENCE_SECONDS, Plugboard, Workspace

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class WorkspaceOwner:
    workspace: Workspace

    @classmethod
    def at(cls, plugboard: Plugboard) -> WorkspaceOwner:
        return cls(plugboard.make_workspace())

    def in_another(self, plugboard: Plugboard) -> WorkspaceOwner:
        """The same workspace, as another process serves it."""
        mine = self.workspace
        return WorkspaceOwner(Workspace(plugboard, mine.id, mine.key, plugboard.caller(mine.key)))

    @property
    def admin(self) -> httpx2.Client:
        return self.workspace.admin

    def service(self, name: str, **changed: Any) -> str:
        fields = {"name": name.title(), "serviceType": name, "authType": "oauth", "url": None, "config": {}}
        server_id: str = self.workspace.make_server(**{**fields, **changed})["id"]
        return server_id

    def remote(self, tenant: Tenant, **changed: Any) -> str:
        fields = {"name": "Remote", "slug": "remote", "url": tenant.mcp_url, "authType": "oauth", "config": {}}
        server_id: str = self.workspace.make_server(**{**fields, **changed})["id"]
        return server_id

    def path(self, server: str, more: str = "") -> str:
        return f"{self.workspace.servers}/{server}{more}"

    def connect(self, server: str) -> Mapping[str, str]:
        """The parameters of the last page."""
        response = self.admin.get(self.path(server, "/oauth/authorize"))
        assert response.status_code == 200, response.text
        plugboard = self.workspace.plugboard
        return Browser(plugboard.settings.public_url, plugboard.url).connect(response.json()["authUrl"])

    def connected(self, server: str) -> str:
        assert self.connect(server) == {"connected": server}
        return server

    def disconnect(self, server: str) -> Json:
        return _read(self.admin.post(self.path(server, "/oauth/disconnect")))

    def connect_client(self, server: str) -> Json:
        """For a server that needs no consent."""
        return _read(self.admin.post(self.path(server, "/oauth/connect")))

    def status(self, server: str) -> Json:
        return _read(self.admin.get(self.path(server, "/oauth/status")))

    def shown(self, server: str) -> Json:
        return _read(self.admin.get(self.path(server)))

    def check(self, server: str) -> Json:
        return _read(self.admin.post(self.path(server, "/check")))

    def delete(self, server: str, **how: Any) -> httpx2.Response:
        return self.admin.delete(self.path(server), **how)

    def agent(self, *servers: str) -> str:
        agent_id: str = self.workspace.make_agent(enabledMcpServerIds=list(servers))["id"]
        return agent_id

    def call(self, agent: str, tool: str, **args: Any) -> Json:
        body = {"toolName": f"mcp_remote_{tool}", "args": args}
        return _read(self.admin.post(f"{self.workspace.agents}/{agent}/tool-calls", json=body))

    def whoami(self, agent: str) -> Json:
        """Whose token went along, as the remote server tells."""
        result = self.call(agent, "whoami")
        assert result["isError"] is False, result
        body: Json = json.loads(result["text"])
        return body

    def audited(self, *actions: str) -> list[tuple[str, str]]:
        """Those of the actions that were done, oldest first, and by whom."""
        return [(item["action"], item["actor"]["type"]) for item in reversed(self.audit()) if item["action"] in actions]

    def audit(self) -> list[Json]:
        """The records of the workspace, newest first."""
        records: list[Json] = _read(self.admin.get(self.workspace.audit, params={"limit": 100}))
        return records


def failure_kind(result: Json) -> str:
    assert result["isError"] is True, result
    kind: str = result["error"]["kind"]
    return kind


def in_another_process(
    plugboard: Plugboard, work: Callable[[Container], Awaitable[T]], clock: Clock | None = None
) -> T:
    """Runs work in a new container on the same database."""

    async def worked() -> T:
        parts = await build_container(plugboard.settings, clock)
        try:
            return await work(parts)
        finally:
            await parts.close()

    return asyncio.run(worked())


def revocation_jobs(plugboard: Plugboard) -> list[Item]:
    """What is still to be revoked."""
    return in_another_process(plugboard, lambda parts: parts.store.query(SYSTEM, PREFIX))


def stored_grants(owner: WorkspaceOwner) -> int:
    """How many the workspace has in the store."""
    partition = partition_of(owner.workspace.id)
    return len(in_another_process(owner.workspace.plugboard, lambda parts: parts.store.query(partition, GRANTS)))


def clear_revocation_jobs(plugboard: Plugboard) -> None:
    """What a test that failed has left would be worked on in those that follow."""

    async def work(parts: Container) -> None:
        for item in await parts.store.query(SYSTEM, PREFIX):
            await parts.store.write(Delete(item.key, Always()))

    in_another_process(plugboard, work)


def wait_until(holds: Callable[[], object], patience: float = 20.0) -> None:
    """For what happens in the background, after the answer."""
    deadline, pause = time.monotonic() + patience, threading.Event()
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        pause.wait(0.01)


class ThreadedCall:
    """`with InThread(work):` runs it in a thread and waits for its end. Its failure is raised."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._failed: list[BaseException] = []

    def __enter__(self) -> None:
        self._thread = threading.Thread(target=self._done)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "it is not done"
        if self._failed:
            raise self._failed[0]

    def _done(self) -> None:
        try:
            self._work()
        except AssertionError as failed:
            self._failed.append(failed)


def _read(response: httpx2.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()
