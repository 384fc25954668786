"""The journal writes each configuration change together with its audit record and a new revision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from api.access.context import OperatorContext, WorkspaceContext
from api.access.idempotency.creates import raise_if_completed
from api.access.principal import Principal
from api.access.repository import beginning_of, existence_checks, revision_key
from api.audit.call_packing import SPAN_SECONDS
from api.audit.events import AuditEvent
from api.audit.repository import (
    USUAL_DAYS,
    AuditRecord,
    AuditRepository,
    RecordKind,
    add_record,
    record_position,
)
from api.errors import NotFound, Unauthorized
from api.kit.clock import Clock, rfc3339
from api.kit.storage.store import Change, Conflict, IfPresent, IfVersion, Put, Store


class Journal:
    def __init__(self, store: Store, clock: Clock, kept_days: int = USUAL_DAYS) -> None:
        self._store = store
        self._clock = clock
        self._kept_days = kept_days

    async def commit(
        self,
        ctx: WorkspaceContext,
        changes: Sequence[Change],
        *events: AuditEvent,
        receipt: Sequence[Change] = (),
        while_revision: int | None = None,
    ) -> None:
        """Writes everything or nothing. With `while_revision`, only if the workspace still has that revision."""
        revision = revision_key(ctx.partition)
        when = IfPresent() if while_revision is None else IfVersion(while_revision)
        written = [*changes, Put(revision, {}, when), *self.records(ctx.workspace_id, ctx, *events), *receipt]
        try:
            await self.write(ctx.principal, written)
        except Conflict as conflict:
            raise_if_completed(conflict, receipt)
            if while_revision is None and revision in conflict.failed:  # the workspace was deleted meanwhile
                raise NotFound from conflict
            raise

    async def close(self, ctx: WorkspaceContext, changes: Sequence[Change], event: AuditEvent) -> None:
        """The last write of a workspace: it deletes the revision instead of renewing it."""
        await self.write(ctx.principal, [*changes, *self.records(ctx.workspace_id, ctx, event)])

    async def write(self, principal: Principal, changes: Sequence[Change]) -> None:
        """Write only if the principal still has its rights, which may have been revoked while the body arrived."""
        if principal.has_expired(self._clock.now()):
            raise Unauthorized
        checks = existence_checks(principal)
        guards = [check for check in checks if all(check.key != change.key for change in changes)]
        try:
            await self._store.write(*changes, *guards)
        except Conflict as conflict:
            if any(check.key in conflict.failed for check in guards):
                raise Unauthorized from conflict
            raise

    async def revision(self, ctx: WorkspaceContext) -> int:
        """Read before other reads and passed to `commit`, it makes sure that those reads are still current."""
        item = await self._store.get(revision_key(ctx.partition))
        if item is None:
            raise NotFound
        return item.version

    def records(self, workspace_id: str, ctx: WorkspaceContext | OperatorContext, *events: AuditEvent) -> list[Change]:
        now = self._clock.now()
        records = [self._record(ctx, event, now) for event in events]
        return [
            add_record(workspace_id, record, now, position, self._kept_days) for position, record in enumerate(records)
        ]

    async def page(
        self,
        ctx: WorkspaceContext,
        limit: int,
        after: str | None,
        *,
        kinds: Iterable[RecordKind] = RecordKind,
        since: float | None = None,
        until: float | None = None,
    ) -> list[AuditRecord]:
        """Newest first, back to the creation of the workspace.

        With `since` and `until`, the records of that time and some of up to a second before and after: a batch of calls
        has one position.
        """
        now = self._clock.now()
        beginning = await beginning_of(ctx.snapshot) or rfc3339(now)
        start = after if until is None or after else record_position(min(until, now) + 2 * SPAN_SECONDS)
        earliest = "" if since is None else rfc3339(max(since - SPAN_SECONDS, 0))
        oldest = max(earliest, beginning)
        page = await AuditRepository(self._store, ctx.workspace_id).page(limit, start, now, oldest, kinds)
        return [record for record in page if record.at >= earliest]

    @staticmethod
    def _record(ctx: WorkspaceContext | OperatorContext, event: AuditEvent, now: float) -> AuditRecord:
        principal = ctx.principal
        return AuditRecord(
            at=rfc3339(now),
            action=event.action.value,
            target_type=event.target_type,
            target_id=event.target_id,
            target_name=event.target_name,
            actor_type=principal.kind,
            actor_id=principal.id,
            actor_name=principal.name,
            request_id=ctx.request_id,
            fields=event.fields,
            client_address=ctx.client_address,
            cause=event.cause,
        )
