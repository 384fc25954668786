"""Creation, update and deletion of the agents of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from pydantic.alias_generators import to_camel

from api.access.context import WorkspaceContext
from api.access.record_limits import CountedKind, RecordLimits
from api.agents.agent import Agent
from api.agents.repository import AgentRepository
from api.agents.schemas import AgentChange, AgentDraft, AgentView
from api.agents.tool_rules import KnownTools, Rules, rule_warnings, with_own_names
from api.audit.events import Action, AuditEvent
from api.audit.journal import Journal
from api.errors import FieldError, NotFound, ValidationFailed
from api.http.preconditions import check_change, check_if_match
from api.kit.clock import Clock, rfc3339
from api.kit.ids import new_id
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.store import Change, Store
from api.servers.service import ServerService

SLUG_GIVEN = "`{}` is the slug of a server. Give its id: `{}`."

T = TypeVar("T")

Warnings = Sequence[str]
Receipt = Callable[[Agent, Warnings], Sequence[Change]]


class AgentService:
    def __init__(
        self,
        ctx: WorkspaceContext,
        store: Store,
        servers: ServerService,
        journal: Journal,
        limits: RecordLimits,
        clock: Clock,
        known_tools: KnownTools,
    ) -> None:
        self._ctx = ctx
        self._agents = AgentRepository(store, ctx)
        self._servers = servers
        self._journal = journal
        self._limits = limits
        self._clock = clock
        self._known_tools = known_tools

    async def render_cached(self, agent_id: str, show: Callable[[Agent], T]) -> T:
        rendered = await self._agents.render_cached(agent_id, show)
        if rendered is None:
            raise NotFound
        return rendered

    async def page(self, limit: int, after: str | None, *, newest_first: bool = False) -> Sequence[Agent]:
        return await self._agents.page(limit, after, newest_first=newest_first)

    async def missing(self, agent_ids: Sequence[str]) -> set[str]:
        agents = await self._agents.get_many(agent_ids)
        return set(agent_ids) - {agent.id for agent in agents}

    async def warnings(self, agent: Agent) -> Warnings:
        """Names in its rules that their servers do not list, as far as that is known."""
        rules = agent.enabled_mcp_server_tool_names
        return await rule_warnings(rules, await self._known_tools.of(rules))

    async def create(self, draft: AgentDraft, receipt: Receipt) -> tuple[Agent, Warnings]:
        await self._refuse_slugs(draft.enabled_mcp_server_ids, draft.enabled_mcp_server_tool_names)
        now = self._clock.now()
        agent = Agent(
            **draft.model_dump(),
            id=new_id("agent", self._ctx.workspace_id, now),
            created_at=rfc3339(now),
            updated_at=rfc3339(now),
        )
        _check_rules(agent)
        agent, warnings = await self._reviewed(agent, agent.enabled_mcp_server_tool_names)

        async def write() -> tuple[Agent, Warnings]:
            event = AuditEvent(Action.AGENT_CREATED, agent.id, agent.name)
            async with self._limits.adding(self._ctx, CountedKind.AGENTS) as counted:
                await self._write((), agent, [*self._agents.add(agent), counted], event, receipt(agent, warnings))
            return agent, warnings

        return await retry_on_conflict(write)

    async def update(
        self, agent_id: str, change: AgentChange, if_match: str | None, *, merge: bool = False
    ) -> tuple[Agent, Warnings]:
        """With `merge`, tool rules of servers that the change does not name are kept. No change makes no version."""
        await self._refuse_slugs(change.enabled_mcp_server_ids, change.enabled_mcp_server_tool_names)

        async def write() -> tuple[Agent, Warnings]:
            old = _existing(await self._agents.get(agent_id))
            check_change(change, if_match, old.version, AgentView.of(old))
            new = _apply_change(old, change, rfc3339(self._clock.now()), merge=merge)
            new, warnings = await self._reviewed(new, _given_rules(change))
            if not _changed_fields(old, new):
                return old, warnings
            event = AuditEvent(Action.AGENT_UPDATED, new.id, new.name, _changed_fields(old, new))
            await self._write(old.enabled_mcp_server_ids, new, self._agents.replace(old, new), event)
            return new, warnings

        return await retry_on_conflict(write)

    async def _refuse_slugs(self, server_ids: Sequence[str], rules: Collection[str]) -> None:
        """People know a server by its slug, too."""
        slugs = [name for name in (*server_ids, *rules) if not name.startswith("server_")]
        ids = await self._servers.ids_of_slugs(slugs) if slugs else {}
        paths = {f"enabledMcpServerIds.{position}": name for position, name in enumerate(server_ids)}
        paths |= {f"enabledMcpServerToolNames.{name}": name for name in rules}
        errors = [FieldError(path, SLUG_GIVEN.format(name, ids[name])) for path, name in paths.items() if name in ids]
        if errors:
            raise ValidationFailed("See `errors` for what to change.", errors=errors)

    async def _reviewed(self, agent: Agent, given: Rules) -> tuple[Agent, Warnings]:
        """With the given rules in the tools' own names, and with the warnings about all rules."""
        rules = agent.enabled_mcp_server_tool_names
        known = await self._known_tools.of(rules)
        rules = {**rules, **await with_own_names(given, known)}
        return replace(agent, enabled_mcp_server_tool_names=rules), await rule_warnings(rules, known)

    async def delete(self, agent_id: str, if_match: str | None) -> None:
        async def write() -> None:
            agent = _existing(await self._agents.get(agent_id))
            check_if_match(if_match, agent.version)
            event = AuditEvent(Action.AGENT_DELETED, agent.id, agent.name)
            async with self._limits.removing(self._ctx, CountedKind.AGENTS) as counted:
                await self._journal.commit(self._ctx, [*self._agents.remove(agent), counted], event)

        await retry_on_conflict(write)

    async def _write(
        self,
        before: Sequence[str],
        agent: Agent,
        changes: Sequence[Change],
        event: AuditEvent,
        receipt: Sequence[Change] = (),
    ) -> None:
        """The revision makes sure that a newly enabled server still exists when the agent is stored."""
        added = [server_id for server_id in agent.enabled_mcp_server_ids if server_id not in before]
        revision = await self._journal.revision(self._ctx) if added else None
        missing = await self._servers.missing(added) if added else set[str]()
        if missing:
            raise ValidationFailed("See `errors` for what to change.", errors=_missing(agent, missing))
        await self._journal.commit(self._ctx, changes, event, receipt=receipt, while_revision=revision)


class AgentsOfServers:
    """The agents that enable a server, as the servers' module needs them."""

    def __init__(self, ctx: WorkspaceContext, store: Store, clock: Clock) -> None:
        self._agents = AgentRepository(store, ctx)
        self._clock = clock

    async def ids(self, server_id: str, limit: int) -> list[str]:
        return await self._agents.users(server_id, limit)

    async def detachment(self, server_id: str, agent_ids: Sequence[str]) -> tuple[list[Change], list[AuditEvent]]:
        changes: list[Change] = []
        events: list[AuditEvent] = []
        for old in await self._agents.get_many(agent_ids):
            new = _without(old, server_id, rfc3339(self._clock.now()))
            changes += self._agents.replace(old, new)
            events.append(AuditEvent(Action.AGENT_UPDATED, new.id, new.name, _changed_fields(old, new)))
        return changes, events


def _existing(agent: Agent | None) -> Agent:
    if agent is None:
        raise NotFound
    return agent


def _apply_change(old: Agent, change: AgentChange, at: str, *, merge: bool = False) -> Agent:
    values = change.set_fields()
    named = values.pop("enabled_mcp_server_tool_names", {})
    new = replace(old, **values, updated_at=at, version=old.version + 1)
    _check_rules(replace(new, enabled_mcp_server_tool_names=_given(named)))
    replaces = "enabled_mcp_server_tool_names" in change.model_fields_set and not merge
    kept = {} if replaces else old.enabled_mcp_server_tool_names
    rules = {server: names for server, names in kept.items() if _enables(new, server) and server not in named}
    return replace(new, enabled_mcp_server_tool_names=rules | _given(named))


def _given_rules(change: AgentChange) -> Rules:
    return _given(change.set_fields().get("enabled_mcp_server_tool_names", {}))


def _given(rules: Mapping[str, Sequence[str] | None]) -> dict[str, Sequence[str]]:
    """Without the nulls, which delete rules."""
    return {server: names for server, names in rules.items() if names is not None}


def _without(agent: Agent, server_id: str, at: str) -> Agent:
    ids = [enabled for enabled in agent.enabled_mcp_server_ids if enabled != server_id]
    return _apply_change(agent, AgentChange.model_construct({"enabled_mcp_server_ids"}, enabled_mcp_server_ids=ids), at)


def _check_rules(agent: Agent) -> None:
    errors = [
        FieldError(f"enabledMcpServerToolNames.{server_id}", "The agent does not enable this server.")
        for server_id in agent.enabled_mcp_server_tool_names
        if not _enables(agent, server_id)
    ]
    if errors:
        raise ValidationFailed("See `errors` for what to change.", errors=errors)


def _enables(agent: Agent, server_id: str) -> bool:
    return server_id in agent.enabled_mcp_server_ids


def _missing(agent: Agent, missing: set[str]) -> list[FieldError]:
    """Foreign and unknown ids get the same text."""
    return [
        FieldError(f"enabledMcpServerIds.{position}", f"There is no MCP server {server_id} in this workspace.")
        for position, server_id in enumerate(agent.enabled_mcp_server_ids)
        if server_id in missing
    ]


def _changed_fields(old: Agent, new: Agent) -> tuple[str, ...]:
    differing = {field.name for field in fields(Agent) if getattr(old, field.name) != getattr(new, field.name)}
    return tuple(sorted(to_camel(name) for name in differing - {"version", "updated_at"}))
