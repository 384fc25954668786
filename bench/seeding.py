"""Fills a data directory as if the product had stored all of it, in bulk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from api.access.context import WorkspaceContext, partition_of
from api.access.principal import Principal, Scope
from api.access.repository import revision_key
from api.agents.agent import Agent
from api.agents.repository import AgentRepository
from api.audit.events import Action, AuditEvent
from api.kit.clock import rfc3339
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Sealer, SecretLocation
from api.kit.egress.policy import EgressPolicy
from api.kit.ids import new_id
from api.kit.storage.revision_cache import RevisionCache, Snapshot
from api.kit.storage.sqlite import COLUMNS
from api.kit.storage.store import Change, IfPresent, Put
from api.main.container import DATABASE, Container, build_container
from api.main.settings import Settings
from api.servers.credential_binding import bind_credential, credential_binding
from api.servers.repository import ServerRepository, server_key
from api.servers.server import Server
from api.workspaces.service import setup_context
from bench import upstream

CREDENTIAL = Secret(upstream.CREDENTIAL)
CALLABLE = 20  # servers that can be called, in addition to those that are only stored
SERVERS_PER_WORKSPACE = 500  # servers in each of the other workspaces


@dataclass(frozen=True, slots=True)
class Seeded:
    """The measured workspace and its content. One agent has one callable server, the other has all of them."""

    data: Path
    workspace_id: str
    key: str
    server_ids: list[str]
    agent_of_one: str = ""
    agent_of_all: str = ""

    def path(self, server_id: str = "") -> str:
        servers = f"/api/workspaces/{self.workspace_id}/mcp-servers"
        return f"{servers}/{server_id}" if server_id else servers

    def agent_path(self, agent_id: str) -> str:
        return f"/api/workspaces/{self.workspace_id}/agents/{agent_id}"


async def seed(data: Path, upstream_port: int, own: int, elsewhere: int = 0) -> Seeded:
    """`own` servers in one workspace and `elsewhere` spread over others."""
    parts = await build_container(Settings(data_dir=data, egress=EgressPolicy.parse(upstream.HOST)))
    try:
        filled = await _fill(parts, data, own, upstream_port)
        for _ in range(elsewhere // SERVERS_PER_WORKSPACE):
            await _fill(parts, data, SERVERS_PER_WORKSPACE)
        return filled
    finally:
        await parts.close()


async def _fill(parts: Container, data: Path, count: int, upstream_port: int | None = None) -> Seeded:
    founded = await parts.workspaces.create(setup_context(), "Bench", lambda _: ())
    workspace_id = founded.workspace.id
    context = _context(parts, workspace_id)
    sealing = await parts.vault.sealer(context.partition)
    servers = [_server(parts, workspace_id, number) for number in range(count)]
    called = (
        [_callable_server(parts, workspace_id, number, upstream_port) for number in range(CALLABLE)]
        if upstream_port
        else []
    )
    stored = [_sealed(server, sealing, parts.settings.egress) for server in (*servers, *called)]
    agents = [_agent(parts, workspace_id, item) for item in (called[:1], called)] if called else []
    _write(data / DATABASE, _changes(parts, context, stored, agents))
    ids = [server.id for server in servers]
    return Seeded(data, workspace_id, founded.key.reveal_text(), ids, *(agent.id for agent in agents))


def _context(parts: Container, workspace_id: str) -> WorkspaceContext:
    partition = partition_of(workspace_id)
    caller = Principal("api_key", "setup", "setup", Scope.ADMIN)
    return WorkspaceContext(workspace_id, caller, Snapshot(partition, 1, RevisionCache(parts.store)), "bench")


def _server(parts: Container, workspace_id: str, number: int) -> Server:
    now = parts.clock.now()
    return Server(
        id=new_id("server", workspace_id, now),
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
    )


def _callable_server(parts: Container, workspace_id: str, number: int, port: int) -> Server:
    url = f"http://{upstream.HOST}:{port}{upstream.PATH.format(number)}"
    server = _server(parts, workspace_id, number)
    return replace(server, name=f"Forecasts {number}", slug=slug(number), url=url, exposure="tools")


def _sealed(server: Server, sealing: Sealer, egress: EgressPolicy) -> Server:
    credential = bind_credential(CREDENTIAL, credential_binding(server, egress))
    sealed = sealing.seal(SecretLocation(server_key(server.id), "headerValue"), credential)
    return replace(server, sealed={"headerValue": sealed.text})


def slug(number: int) -> str:
    """The slug of a callable server."""
    return f"forecasts-{number}"


def _agent(parts: Container, workspace_id: str, servers: Sequence[Server]) -> Agent:
    now = parts.clock.now()
    return Agent(
        id=new_id("agent", workspace_id, now),
        name=f"Agent of {len(servers)}",
        description="",
        instructions="",
        enabled_mcp_server_ids=[server.id for server in servers],
        enabled_mcp_server_tool_names={},
        created_at=rfc3339(now),
        updated_at=rfc3339(now),
    )


def _changes(
    parts: Container, context: WorkspaceContext, servers: Iterable[Server], agents: Iterable[Agent]
) -> Iterator[Change]:
    kept = ServerRepository(parts.store, context)
    for server in servers:
        event = AuditEvent(Action.SERVER_CREATED, server.id, server.name, tuple(sorted(server.sealed)))
        yield from kept.add(server)
        yield from parts.journal.records(context.workspace_id, context, event)
    for agent in agents:
        yield from AgentRepository(parts.store, context).add(agent)
    yield Put(revision_key(context.partition), {}, IfPresent())


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
