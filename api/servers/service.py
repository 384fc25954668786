"""Creates, updates and deletes the servers of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar

from pydantic.alias_generators import to_camel

from api.access.context import WorkspaceContext
from api.access.record_limits import CountedKind, RecordLimits
from api.audit.events import Action, AuditEvent
from api.audit.journal import Journal
from api.errors import ConflictProblem, InUse, NotFound, ValidationFailed
from api.http.preconditions import check_change, check_if_match
from api.kit.clock import Clock, rfc3339
from api.kit.crypto.vault import Vault
from api.kit.egress.policy import EgressPolicy
from api.kit.ids import new_id
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.store import Change, Conflict, Store
from api.servers import credentials
from api.servers.config_sealing import ConfigSealer, MergedConfig
from api.servers.credential_binding import credential_binding
from api.servers.repository import AttachedKey, ServerRepository
from api.servers.rules import ProposedServer, Rules
from api.servers.schemas import ConfigDraft, ServerChange, ServerDraft, ServerView
from api.servers.server import AuthType, Server
from api.servers.slugs import is_reserved, slug_of

DETACHED_AT_ONCE = 10  # so many agents of maximal size still fit in one write of every store
LISTED_AGENTS = 10
FIELDS_WITH_RULES = {"url", "auth_type", "service_type", "exposure", "config", "oauth_grant"}

T = TypeVar("T")

Receipt = Callable[[Server], Sequence[Change]]


class GrantLifecycle(Protocol):
    """Ends the OAuth grant of a server that is deleted or points elsewhere."""

    async def end_changes(self, ctx: WorkspaceContext, server: Server) -> list[Change]:
        """Changes that delete the grant here and have it revoked at its issuer."""
        ...

    def after_commit(self) -> None:
        """Called once the changes are written."""
        ...


@dataclass(frozen=True, slots=True)
class ServerDeps:
    """The dependencies of `ServerService`, the same for every request."""

    store: Store
    vault: Vault
    journal: Journal
    clock: Clock
    rules: Rules
    egress: EgressPolicy
    grants: GrantLifecycle
    limits: RecordLimits
    attached_keys: Sequence[AttachedKey]
    """Of the records that other features attach to a server."""


class EnablingAgents(Protocol):
    """The agents that enable a server."""

    async def ids(self, server_id: str, limit: int) -> list[str]: ...

    async def detachment(self, server_id: str, agent_ids: Sequence[str]) -> tuple[list[Change], list[AuditEvent]]:
        """Changes after which these agents no longer enable the server."""
        ...


class ServerService:
    def __init__(self, ctx: WorkspaceContext, deps: ServerDeps) -> None:
        self._ctx = ctx
        self._deps = deps
        self._servers = ServerRepository(deps.store, ctx, deps.attached_keys)
        self._sealer = ConfigSealer(ctx, deps.vault)

    async def render_cached(self, server_id: str, show: Callable[[Server], T]) -> T:
        rendered = await self._servers.render_cached(server_id, show)
        if rendered is None:
            raise NotFound
        return rendered

    async def get_many_cached(self, server_ids: Sequence[str]) -> Mapping[str, Server]:
        """The existing ones, as of the beginning of the request or later. Reads the uncached ones at once."""
        return await self._servers.get_many_cached(server_ids)

    async def page(self, limit: int, after: str | None, *, newest_first: bool = False) -> Sequence[Server]:
        return await self._servers.page(limit, after, newest_first=newest_first)

    async def create(self, draft: ServerDraft, receipt: Receipt) -> Server:
        self._deps.rules.check(_proposal(draft, credentials.given_credentials(draft.config)), draft.config)
        if draft.slug is not None:
            _check_slug(draft.slug)
        return await retry_on_conflict(lambda: self._create(draft, receipt))

    async def _create(self, draft: ServerDraft, receipt: Receipt) -> Server:
        now = self._deps.clock.now()
        server_id = new_id("server", self._ctx.workspace_id, now)
        given = credentials.given_credentials(draft.config)
        sealed, guards = await self._sealer.seal(server_id, self._binding(draft), given)
        server = Server(
            **draft.model_dump(exclude={"config", "slug"}),
            id=server_id,
            slug=draft.slug or await self._servers.free_slug(slug_of(draft.name)),
            created_at=rfc3339(now),
            updated_at=rfc3339(now),
            sealed=sealed,
        )
        event = AuditEvent(Action.SERVER_CREATED, server.id, server.name, tuple(map(_config, sorted(sealed))))
        async with self._deps.limits.adding(self._ctx, CountedKind.SERVERS) as counted:
            await self._write([*self._servers.add(server), counted, *guards], event, draft.slug, receipt(server))
        return server

    async def update(self, server_id: str, change: ServerChange, if_match: str | None) -> Server:
        if "slug" in change.model_fields_set:
            _check_slug(change.slug)
        return await retry_on_conflict(lambda: self._update(server_id, change, if_match))

    async def _update(self, server_id: str, change: ServerChange, if_match: str | None) -> Server:
        old = _existing(await self._servers.get(server_id))
        check_change(change, if_match, old.version, ServerView.of(old))
        draft = replace(old, **self._fields(old, change))
        config = change.config if "config" in change.model_fields_set else None
        merged = await self._merged(old, draft, config)
        if change.model_fields_set & FIELDS_WITH_RULES:
            given = config if config and credentials.given_credentials(config) else None
            self._deps.rules.check(_proposal(draft, merged.names), given)
        sealed, guards = await self._sealer.seal(server_id, self._binding(draft), merged.fresh)
        changed = replace(draft, sealed={**merged.kept, **sealed})
        if changed == old:
            return old
        now = rfc3339(self._deps.clock.now())
        new, ended = await self._without_grant(old, replace(changed, updated_at=now, version=old.version + 1))
        event = AuditEvent(Action.SERVER_UPDATED, new.id, new.name, _changed_fields(old, new))
        slug = new.slug if new.slug != old.slug else None
        await self._write([*self._servers.replace(old, new), *guards, *ended], event, slug)
        self._deps.grants.after_commit()
        return new

    async def _without_grant(self, old: Server, new: Server) -> tuple[Server, list[Change]]:
        """A grant is kept only if the URL, the credentials and the OAuth grant type are unchanged."""
        same = (old.url, old.oauth_grant, old.sealed) == (new.url, new.oauth_grant, new.sealed)
        same = same and self._binding(old) == self._binding(new)
        if same or old.auth_type != AuthType.OAUTH:
            return new, []
        return replace(new, connection=None), await self._deps.grants.end_changes(self._ctx, old)

    def _fields(self, old: Server, change: ServerChange) -> dict[str, Any]:
        """The fields to set. A service with a fixed URL replaces a stored one."""
        fields = change.set_fields()
        fields.pop("config", None)
        service_type = fields.get("service_type", old.service_type)
        if "url" not in fields and self._deps.rules.has_fixed_url(service_type):
            fields["url"] = None
        return fields

    async def _merged(self, old: Server, new: Server, config: ConfigDraft | None) -> MergedConfig:
        """The credentials after the request.

        A credential is bound to what it was entered for: if the origin, the service or the authType changes, no stored
        credential is kept.
        """
        if self._binding(old) != self._binding(new):
            return MergedConfig({}, credentials.given_credentials(config) if config else {})
        if config is None:
            return MergedConfig(old.sealed, {})
        return await self._sealer.merge(old, self._binding(old), config)

    def _binding(self, server: Server | ServerDraft) -> str:
        return credential_binding(server, self._deps.egress)

    async def _write(
        self, changes: Sequence[Change], event: AuditEvent, slug: str | None = None, receipt: Sequence[Change] = ()
    ) -> None:
        try:
            await self._deps.journal.commit(self._ctx, changes, event, receipt=receipt)
        except Conflict as conflict:
            if slug is not None and self._servers.slug_key(slug) in conflict.failed:
                raise ConflictProblem(f"Another server of this workspace has the slug `{slug}`.") from conflict
            raise

    async def delete(self, server_id: str, users: EnablingAgents, *, detach: bool, if_match: str | None) -> None:
        """Delete a server. With `detach`, first disable it in all agents, which may take several writes."""
        finished = False
        while not finished:
            finished = await retry_on_conflict(lambda: self._delete(server_id, users, detach, if_match))

    async def _delete(self, server_id: str, users: EnablingAgents, detach: bool, if_match: str | None) -> bool:
        revision = await self._deps.journal.revision(self._ctx)
        server = _existing(await self._servers.get(server_id))
        check_if_match(if_match, server.version)
        agents = await users.ids(server_id, DETACHED_AT_ONCE + 1)
        if agents and not detach:
            raise InUse(_in_use(agents))
        changes, events = await users.detachment(server_id, agents[:DETACHED_AT_ONCE])
        last = len(agents) <= DETACHED_AT_ONCE
        if not last:
            await self._deps.journal.commit(self._ctx, changes, *events, while_revision=revision)
            return False
        changes += [*self._servers.remove(server), *await self._deps.grants.end_changes(self._ctx, server)]
        events.append(AuditEvent(Action.SERVER_DELETED, server.id, server.name))
        async with self._deps.limits.removing(self._ctx, CountedKind.SERVERS) as counted:
            await self._deps.journal.commit(self._ctx, [*changes, counted], *events, while_revision=revision)
        self._deps.grants.after_commit()
        return True

    async def ids_of_slugs(self, slugs: Sequence[str]) -> Mapping[str, str]:
        """By slug, the ids of the servers of this workspace that have one of them."""
        return await self._servers.ids_of_slugs(slugs)

    async def missing(self, server_ids: Sequence[str]) -> set[str]:
        """The ids that are not servers of this workspace. Foreign and unknown ids are treated alike."""
        servers = await self._servers.get_many(server_ids)
        return set(server_ids) - {server.id for server in servers}


def _existing(server: Server | None) -> Server:
    if server is None:
        raise NotFound
    return server


def _in_use(agents: Sequence[str]) -> str:
    listed = ", ".join(agents[:LISTED_AGENTS]) + (" and more" if len(agents) > LISTED_AGENTS else "")
    return f"Enabled by {listed}. Disable it there first, or delete with `?detach=true`."


def _check_slug(slug: str) -> None:
    if is_reserved(slug):
        raise ValidationFailed.at("slug", "`server` and slugs that begin with `server-` are reserved.")


def _proposal(server: Server | ServerDraft, configured: Iterable[str]) -> ProposedServer:
    return ProposedServer(
        server.service_type,
        AuthType(server.auth_type),
        server.url,
        server.exposure,
        server.oauth_grant,
        frozenset(configured),
    )


def _changed_fields(old: Server, new: Server) -> tuple[str, ...]:
    """The names of the changed fields, and of the credentials that were added, changed or removed."""
    plain = [to_camel(field.name) for field in fields(Server) if getattr(old, field.name) != getattr(new, field.name)]
    names = {name for name in {*old.sealed, *new.sealed} if old.sealed.get(name) != new.sealed.get(name)}
    unlisted = {"sealed", "version", "updatedAt"}
    return tuple(sorted({*plain, *map(_config, names)} - unlisted))


def _config(name: str) -> str:
    return f"config.{name}"
