"""Creates, updates and deletes workspaces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from api.access.context import OperatorContext, WorkspaceContext, partition_of
from api.access.idempotency.creates import raise_if_completed
from api.access.principal import Principal, Scope
from api.access.record_limits import RecordLimits
from api.access.repository import add_key
from api.api_keys.service import KeyMaker
from api.audit.events import Action, AuditEvent
from api.audit.journal import Journal
from api.errors import NotFound
from api.http.preconditions import check_change, check_if_match
from api.kit.clock import Clock, rfc3339
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.secret import Secret
from api.kit.ids import random_text
from api.kit.storage.conflict_retry import retry_on_conflict
from api.kit.storage.creation_order import CreationOrder, creation_order
from api.kit.storage.store import Change, Conflict, Store
from api.workspaces.purge import WorkspacePurge
from api.workspaces.repository import Workspace, WorkspaceDirectory, WorkspaceRecord
from api.workspaces.schemas import WorkspaceChange, WorkspaceView

Receipt = Callable[["CreatedWorkspace"], Sequence[Change]]


@dataclass(frozen=True, slots=True)
class CreatedWorkspace:
    workspace: Workspace
    key: Secret


class GrantRevocation(Protocol):
    """Revokes the OAuth grants of a workspace that is deleted."""

    async def revoke_all(self, ctx: WorkspaceContext) -> None:
        """Prepares the revocations. They have no effect while the workspace exists."""
        ...

    def after_commit(self) -> None:
        """Called once the workspace is deleted."""
        ...


class WorkspaceService:
    """The workspace of the context, for its own keys."""

    def __init__(
        self,
        ctx: WorkspaceContext,
        store: Store,
        journal: Journal,
        limits: RecordLimits,
        keyring: KeyRing,
        clock: Clock,
        purge: WorkspacePurge,
        grants: GrantRevocation,
    ) -> None:
        self._ctx = ctx
        self._one = WorkspaceRecord(store, ctx)
        self._journal = journal
        self._limits = limits
        self._keyring = keyring
        self._clock = clock
        self._purge = purge
        self._grants = grants

    async def get(self) -> Workspace:
        return _existing(await self._one.get_cached())

    async def update(self, change: WorkspaceChange, if_match: str | None) -> Workspace:
        async def write() -> Workspace:
            old = _existing(await self._one.get())
            check_change(change, if_match, old.version, WorkspaceView.of(old))
            changed = replace(old, **change.set_fields())
            if changed == old:
                return old
            new = replace(changed, updated_at=rfc3339(self._clock.now()), version=old.version + 1)
            event = AuditEvent(Action.WORKSPACE_UPDATED, new.id, new.name, tuple(sorted(change.model_fields_set)))
            await self._journal.commit(self._ctx, self._one.replace(old, new), event)
            return new

        return await retry_on_conflict(write)

    async def delete(self, if_match: str | None) -> None:
        """Deletes the data keys in the same write: from then on no backup of the workspace can be read.

        The grants have to be revoked at their issuers. Their tokens can be read only before the write.
        """

        async def write() -> None:
            workspace = _existing(await self._one.get())
            check_if_match(if_match, workspace.version)
            await self._grants.revoke_all(self._ctx)
            keys = await self._keyring.deletion_writes(self._ctx.partition)
            event = AuditEvent(Action.WORKSPACE_DELETED, workspace.id, workspace.name)
            async with self._limits.removing_workspace() as counted:
                await self._journal.close(self._ctx, [*self._one.remove(workspace), *keys, counted], event)

        await retry_on_conflict(write)
        self._keyring.forget(self._ctx.partition)
        self._purge.wake()
        self._grants.after_commit()


class Workspaces:
    """All workspaces, for operators and for the first start."""

    def __init__(
        self, store: Store, journal: Journal, limits: RecordLimits, keyring: KeyRing, clock: Clock, keys: KeyMaker
    ) -> None:
        self._store = store
        self._all = WorkspaceDirectory(store)
        self._journal = journal
        self._limits = limits
        self._keyring = keyring
        self._clock = clock
        self._keys = keys

    def listing(self, start: str | None) -> CreationOrder[Workspace]:
        return creation_order(self._all, start)

    async def ids(self, after: str | None = None) -> Sequence[str]:
        return await self._all.ids(after)

    async def partitions(self) -> AsyncIterator[str]:
        after = None
        while page := await self.ids(after):
            for workspace_id in page:
                yield partition_of(workspace_id)
            after = page[-1]

    async def create(self, ctx: OperatorContext, name: str, receipt: Receipt) -> CreatedWorkspace:
        """Creates a workspace with its data key and its first admin key in one write."""
        now = rfc3339(self._clock.now())
        workspace = Workspace(f"ws_{random_text()}", name, now, now)
        partition = partition_of(workspace.id)
        record, text = await self._keys.make(partition, "First admin key", Scope.ADMIN, created_by=ctx.principal.id)
        created = CreatedWorkspace(workspace, text)
        receipts = receipt(created)
        changes = [
            *self._all.add(workspace),
            *await self._keyring.first_key_changes(partition),
            *add_key(partition, record),
            *self._journal.records(
                workspace.id,
                ctx,
                AuditEvent(Action.WORKSPACE_CREATED, workspace.id, name),
                AuditEvent(Action.API_KEY_CREATED, record.id, record.name),
            ),
        ]

        async def write() -> None:
            async with self._limits.adding_workspace() as counted:
                try:
                    await self._journal.write(ctx.principal, [*changes, counted, *receipts])
                except Conflict as conflict:
                    raise_if_completed(conflict, receipts)
                    raise

        await retry_on_conflict(write)
        return created


def setup_context() -> OperatorContext:
    """The context of commands, which an operator runs on the machine."""
    return OperatorContext(Principal("operator", "setup", "setup", Scope.OPERATOR), request_id="setup")


def _existing(workspace: Workspace | None) -> Workspace:
    if workspace is None:
        raise NotFound
    return workspace
