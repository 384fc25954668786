"""Processes of one version are replaced by those of the other, and back, while clients write."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from tests.e2e.process import until
from tests.harness import Workspace, caller
from tests.upgrades.predecessor import predecessor
from tests.upgrades.two_versions import NEW, OLD, TwoVersions, next_page, two_versions

AT_LEAST = 15


@dataclass
class Writer:
    """A client behind a proxy: it repeats a request at another process, with the same `Idempotency-Key`."""

    both: TwoVersions
    workspace: Workspace
    written: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def writing(self) -> Iterator[None]:
        thread = threading.Thread(target=self._write)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def wait_for_more(self) -> None:
        target = len(self.written) + AT_LEAST
        until(lambda: len(self.written) >= target or self.refused)

    def _write(self) -> None:
        while not self._ended.is_set():
            name = f"Agent {len(self.written)}"
            processes = [running.url for running in self.both.running.values()]
            turn = len(self.written) % len(processes)
            for url in (*processes[turn:], *processes[:turn]):
                if self._is_written(url, name):
                    break

    def _is_written(self, url: str, name: str) -> bool:
        """False if the process is gone."""
        headers = {"Idempotency-Key": name.replace(" ", "-")}
        with caller(url, self.workspace.key) as client:
            try:
                response = client.post(self.workspace.agents, json={"name": name}, headers=headers)
            except httpx2.TransportError:
                return False
        (self.written if response.status_code == 201 else self.refused).append(name)
        return True


def names(workspace: Workspace) -> list[str]:
    place: str | None = f"{workspace.agents}?limit=100"
    result: list[str] = []
    while place:
        response = workspace.admin.get(place)
        result += [agent["name"] for agent in response.json()]
        place = next_page(response)
    return result


def started(both: TwoVersions, version: str, all_processes: ExitStack) -> ExitStack:
    """A process of the version. Closing the result stops it."""
    process = all_processes.enter_context(ExitStack())
    process.enter_context(both.serving(version))
    return process


@pytest.mark.slow
def test_nothing_is_lost_refused_or_made_twice_while_processes_are_replaced(tmp_path: Path) -> None:
    old = predecessor(tmp_path / "predecessor")
    with two_versions(tmp_path, old, {}) as both, ExitStack() as all_processes:
        before = started(both, OLD, all_processes)
        workspace = both.make_workspace(OLD)
        writer = Writer(both, workspace)
        with writer.writing():
            for version in (NEW, OLD):
                after = started(both, version, all_processes)
                writer.wait_for_more()
                before.close()
                writer.wait_for_more()
                before = after
        stored = names(both.same(workspace, OLD))

    assert writer.refused == []
    assert sorted(stored) == sorted(writer.written)
    assert len(writer.written) >= 4 * AT_LEAST
