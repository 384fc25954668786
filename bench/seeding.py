"""Fills a data directory as if the product had stored all of it, in bulk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from api.access.context import Caller, Scope, WorkspaceContext, partition_of
from api.access.repository import revision_key
from api.audit.service import Event
from api.kit.clock import rfc3339
from api.kit.ids import new_id
from api.kit.secret import Secret
from api.kit.snapshots import Memory, Snapshot
from api.kit.sqlite import COLUMNS
from api.kit.store import Change, Present, Put
from api.kit.vault import Place, Sealing
from api.parts import DATABASE, Parts, assemble
from api.servers.repository import Server, Servers, record_of
from api.settings import Settings
from api.workspaces.service import setup_context

CREDENTIAL = Secret("Bearer not-a-credential")
A_WORKSPACE = 500  # servers in each of the workspaces that others are spread over


@dataclass(frozen=True, slots=True)
class Seeded:
    """The workspace to ask about, and what is in it."""

    data: Path
    workspace_id: str
    key: str
    server_ids: list[str]

    def path(self, server_id: str = "") -> str:
        servers = f"/api/workspaces/{self.workspace_id}/mcp-servers"
        return f"{servers}/{server_id}" if server_id else servers


async def seed(data: Path, own: int, elsewhere: int = 0) -> Seeded:
    """`own` servers in one workspace and `elsewhere` spread over others."""
    parts = await assemble(Settings(data_dir=data))
    try:
        filled = await _fill(parts, data, own)
        for _ in range(elsewhere // A_WORKSPACE):
            await _fill(parts, data, A_WORKSPACE)
        return filled
    finally:
        await parts.close()


async def _fill(parts: Parts, data: Path, count: int) -> Seeded:
    founded = await parts.workspaces.found(setup_context(), "Bench", lambda _: ())
    workspace_id = founded.workspace.id
    partition = partition_of(workspace_id)
    caller = Caller("setup", "setup", Scope.ADMIN, Secret(b""))
    context = WorkspaceContext(workspace_id, caller, Snapshot(partition, 1, Memory(parts.store)), "bench")
    sealing = await parts.vault.sealing(partition)
    servers = [_server(parts, workspace_id, sealing, number) for number in range(count)]
    _write(data / DATABASE, _changes(parts, context, servers))
    return Seeded(data, workspace_id, founded.key.reveal_text(), [server.id for server in servers])


def _server(parts: Parts, workspace_id: str, sealing: Sealing, number: int) -> Server:
    now = parts.clock.now()
    server_id = new_id("server", workspace_id, now)
    return Server(
        id=server_id,
        name=f"Weather {number}",
        slug=f"weather-{number}",
        description="Forecasts and warnings for any place.",
        url=f"https://api-{number}.weather.example.com/mcp",
        auth_type="header",
        service_type="external",
        enabled=True,
        timeout_seconds=30,
        exposure="both",
        created_at=rfc3339(now),
        updated_at=rfc3339(now),
        sealed={"headerValue": sealing.seal(Place(record_of(server_id), "headerValue"), CREDENTIAL).text},
    )


def _changes(parts: Parts, context: WorkspaceContext, servers: Iterable[Server]) -> Iterator[Change]:
    kept = Servers(parts.store, context)
    for server in servers:
        event = Event("server.created", server.id, server.name, tuple(sorted(server.sealed)))
        yield from kept.add(server)
        yield from parts.journal.records(context.workspace_id, context, event)
    yield Put(revision_key(context.partition), {}, Present())


def _write(path: Path, changes: Iterable[Change]) -> None:
    encode = msgspec.json.Encoder().encode
    rows = (
        (*change.key, change.version, change.expires_at, encode(change.data))
        for change in changes
        if isinstance(change, Put)
    )
    connection = sqlite3.connect(path)
    with connection:
        connection.executemany(f"INSERT OR REPLACE INTO items ({COLUMNS}) VALUES (?, ?, ?, ?, ?)", rows)  # noqa: S608
    connection.close()
