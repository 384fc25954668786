"""Stored agents, and an index of the agents that enable each server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from api.access.context import WorkspaceContext
from api.agents.agent import Agent
from api.kit.storage.store import PAGE_BYTES, Always, Change, Delete, IfAbsent, IfVersion, Key, Put, Store

T = TypeVar("T")


class AgentRepository:
    """The agents of one workspace; it has no access to other workspaces."""

    def __init__(self, store: Store, ctx: WorkspaceContext) -> None:
        self._store = store
        self._snapshot = ctx.snapshot
        self._partition = ctx.partition

    async def render_cached(self, agent_id: str, show: Callable[[Agent], T]) -> T | None:
        """The agent rendered by `show`, at least as current as the request; cached per revision."""
        return await self._snapshot.get_rendered(_record(agent_id), Agent.of, show)

    async def get(self, agent_id: str) -> Agent | None:
        """The agent as it is stored now, to be changed."""
        item = await self._store.get(self._key(agent_id))
        return Agent.of(item) if item else None

    async def get_many(self, agent_ids: Sequence[str]) -> list[Agent]:
        items = await self._store.get_many([self._key(agent_id) for agent_id in agent_ids])
        return [Agent.of(item) for item in items.values()]

    async def page(self, limit: int, after: str | None, *, newest_first: bool = False) -> list[Agent]:
        start = None if after is None else _record(after)
        items = await self._store.query(
            self._partition, _record(""), limit=limit, after=start, newest_first=newest_first, max_bytes=PAGE_BYTES
        )
        return [Agent.of(item) for item in items]

    async def users(self, server_id: str, limit: int) -> list[str]:
        """The ids of agents that enable the server."""
        prefix = _use(server_id, "")
        items = await self._store.query(self._partition, prefix, limit=limit)
        return [item.key.sk.removeprefix(prefix) for item in items]

    def add(self, agent: Agent) -> list[Change]:
        return [Put(self._key(agent.id), agent.encode(), IfAbsent()), *self._uses(agent.id, (), agent)]

    def replace(self, old: Agent, new: Agent) -> list[Change]:
        changed = Put(self._key(new.id), new.encode(), IfVersion(old.version))
        return [changed, *self._uses(new.id, old.enabled_mcp_server_ids, new)]

    def remove(self, agent: Agent) -> list[Change]:
        uses = [self._without(agent.id, server_id) for server_id in agent.enabled_mcp_server_ids]
        return [Delete(self._key(agent.id), IfVersion(agent.version)), *uses]

    def _uses(self, agent_id: str, before: Sequence[str], agent: Agent) -> list[Change]:
        after = agent.enabled_mcp_server_ids
        added = [Put(self._use_key(agent_id, server), {}, Always()) for server in after if server not in before]
        return [*added, *(self._without(agent_id, server) for server in before if server not in after)]

    def _without(self, agent_id: str, server_id: str) -> Change:
        return Delete(self._use_key(agent_id, server_id), Always())

    def _use_key(self, agent_id: str, server_id: str) -> Key:
        return Key(self._partition, _use(server_id, agent_id))

    def _key(self, agent_id: str) -> Key:
        return Key(self._partition, _record(agent_id))


def _record(agent_id: str) -> str:
    return f"AGENT#{agent_id}"


def _use(server_id: str, agent_id: str) -> str:
    return f"USE#{server_id}#{agent_id}"
