"""Creation, listing and revocation of the API keys of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from api.access.api_key import ApiKey
from api.access.context import WorkspaceContext
from api.access.last_used import LastUsedRecorder
from api.access.peppers import Peppers
from api.access.principal import Scope
from api.access.record_limits import CountedKind, RecordLimits
from api.access.repository import (
    OPERATORS,
    ApiKeyRecord,
    ApiKeyRepository,
    add_key,
    key_record,
    remove_key,
    revision_key,
)
from api.api_keys.schemas import ApiKeyDraft
from api.audit.events import Action, AuditEvent
from api.audit.journal import Journal
from api.errors import FieldError, LastAdminKey, NotFound, ValidationFailed
from api.http.preconditions import check_if_match
from api.kit.clock import Clock, rfc3339
from api.kit.crypto.secret import Secret
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.creation_order import CreationOrder, creation_order
from api.kit.storage.store import Always, Change, Check, IfPresent, Put, Store

READ_AT_ONCE = 100

Receipt = Callable[[ApiKeyRecord, Secret], Sequence[Change]]


class ExistingAgents(Protocol):
    async def missing(self, agent_ids: Sequence[str]) -> set[str]: ...


class KeyMaker:
    """Makes keys. The key itself is returned once; the record has a keyed hash of it."""

    def __init__(self, peppers: Peppers, clock: Clock) -> None:
        self._peppers = peppers
        self._clock = clock

    async def make(
        self,
        partition: str,
        name: str,
        scope: Scope,
        *,
        created_by: str,
        agent_ids: Sequence[str] | None = None,
        expires_at: str | None = None,
    ) -> tuple[ApiKeyRecord, Secret]:
        key = ApiKey.new()
        version, pepper = await self._peppers.current()
        record = ApiKeyRecord(
            id=key.key_id,
            name=name,
            scope=scope,
            hash="",
            pepper=version,
            created_at=rfc3339(self._clock.now()),
            created_by=created_by,
            agent_ids=None if agent_ids is None else tuple(agent_ids),
            expires_at=expires_at,
        )
        return replace(record, hash=key.hashed(pepper, record.rights(partition))), key.text()


class ApiKeyService:
    def __init__(
        self,
        ctx: WorkspaceContext,
        keys: ApiKeyRepository,
        maker: KeyMaker,
        journal: Journal,
        limits: RecordLimits,
        usage: LastUsedRecorder,
        agents: ExistingAgents,
        clock: Clock,
    ) -> None:
        self._ctx = ctx
        self._keys = keys
        self._maker = maker
        self._journal = journal
        self._limits = limits
        self._usage = usage
        self._agents = agents
        self._clock = clock

    def listing(self, start: str | None) -> CreationOrder[ApiKeyRecord]:
        return creation_order(self._keys.of(self._ctx.partition), start)

    async def last_uses(self, records: Sequence[ApiKeyRecord]) -> Mapping[str, str]:
        return await self._usage.get_many(self._ctx.partition, [record.id for record in records])

    async def create(self, draft: ApiKeyDraft, receipt: Receipt) -> tuple[ApiKeyRecord, Secret]:
        await self._check_agents(draft.agent_ids or [])
        if draft.expires_at is not None and draft.expires_at <= rfc3339(self._clock.now()):
            raise ValidationFailed.at("expiresAt", "Must be in the future.")
        record, key = await self._maker.make(
            self._ctx.partition,
            draft.name,
            Scope(draft.scope),
            created_by=self._ctx.principal.id,
            agent_ids=draft.agent_ids,
            expires_at=draft.expires_at,
        )
        event = AuditEvent(Action.API_KEY_CREATED, record.id, record.name)
        added, done = add_key(self._ctx.partition, record), receipt(record, key)

        async def write() -> None:
            async with self._limits.adding(self._ctx, CountedKind.API_KEYS) as counted:
                await self._journal.commit(self._ctx, [*added, counted], event, receipt=done)

        await retry_on_conflict(write)
        return record, key

    async def get(self, key_id: str) -> ApiKeyRecord:
        record = await self._keys.get(self._ctx.partition, key_id)
        if record is None:
            raise NotFound
        return record

    async def revoke(self, key_id: str, if_match: str | None, *, last: bool) -> None:
        """With `last`, also the last admin key of the workspace."""

        async def write() -> None:
            record = await self.get(key_id)
            check_if_match(if_match, record.version)
            event = AuditEvent(Action.API_KEY_REVOKED, record.id, record.name)
            others = [] if last or record.scope is not Scope.ADMIN else await self._another_admin_key(record)
            removed = remove_key(self._ctx.partition, record)
            async with self._limits.removing(self._ctx, CountedKind.API_KEYS) as counted:
                await self._journal.commit(self._ctx, [*removed, *others, counted], event)

        await retry_on_conflict(write)

    async def _another_admin_key(self, revoked: ApiKeyRecord) -> list[Change]:
        """Makes the write depend on another admin key: of two keys, only one can be revoked at a time.

        The journal already makes each write depend on the caller's own key.
        """
        own = key_record(self._ctx.partition, self._ctx.principal.id)
        if self._ctx.principal.id != revoked.id and own in self._ctx.principal.records:
            return []
        after: str | None = None
        keys = self._keys.of(self._ctx.partition)
        while page := await keys.page_by_id(READ_AT_ONCE, after):
            for record in page:
                if record.id != revoked.id and self._is_valid_admin_key(record):
                    return [Check(key_record(self._ctx.partition, record.id), IfPresent())]
            after = page[-1].id
        raise LastAdminKey

    def _is_valid_admin_key(self, record: ApiKeyRecord) -> bool:
        expired = record.expires_at is not None and record.expires_at <= rfc3339(self._clock.now())
        return record.scope is Scope.ADMIN and not expired

    async def _check_agents(self, agent_ids: Sequence[str]) -> None:
        missing = await self._agents.missing(agent_ids)
        errors = [
            FieldError(f"agentIds.{position}", f"There is no agent {agent_id} in this workspace.")
            for position, agent_id in enumerate(agent_ids)
            if agent_id in missing
        ]
        if errors:
            raise ValidationFailed("See `errors` for what to change.", errors=errors)


async def make_admin_key(ctx: WorkspaceContext, journal: Journal, limits: RecordLimits, maker: KeyMaker) -> Secret:
    """For admins who have lost their keys, so also where the workspace has as many as it may have."""
    record, key = await maker.make(ctx.partition, "Admin key", Scope.ADMIN, created_by=ctx.principal.id)
    event = AuditEvent(Action.API_KEY_CREATED, record.id, record.name)

    async def write() -> None:
        async with limits.adding(ctx, CountedKind.API_KEYS, limited=False) as counted:
            await journal.commit(ctx, [*add_key(ctx.partition, record), counted], event)

    await retry_on_conflict(write)
    return key


async def make_operator_key(store: Store, maker: KeyMaker) -> Secret:
    record, key = await maker.make(OPERATORS, "Operator key", Scope.OPERATOR, created_by="setup")
    await store.write(*add_key(OPERATORS, record), Put(revision_key(OPERATORS), {}, Always()))
    return key


async def revoke_operator_key(store: Store, keys: ApiKeyRepository, key_id: str) -> bool:
    record = await keys.get(OPERATORS, key_id)
    if record is None:
        return False
    await store.write(*remove_key(OPERATORS, record), Put(revision_key(OPERATORS), {}, Always()))
    return True
