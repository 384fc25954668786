"""Deletion of client registrations (RFC 7591) that no grant uses, such as those of abandoned consents."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from api.access.context import WorkspaceContext
from api.connections.client_repository import ClientRegistrationRepository, registration_key
from api.connections.repository import GrantRepository
from api.kit.jobs import BackgroundJobs
from api.kit.storage.store import Store
from integrations import AuthorizationServer

NAME = "client_registrations"
EVERY_SECONDS = 3600.0
PAGES_FOR_A_RUN = 10
PAGE = 100

WorkspaceIds = Callable[[str | None], Awaitable[Sequence[str]]]
EnterWorkspace = Callable[[str, str], Awaitable[WorkspaceContext | None]]

log = logging.getLogger(__name__)


class RegistrationPruner:
    """A registration that was used for a consent within the last day is kept, because the consent may be pending."""

    def __init__(self, store: Store, workspace_ids: WorkspaceIds, enter: EnterWorkspace) -> None:
        self._store = store
        self._workspace_ids = workspace_ids
        self._enter = enter
        self._after: str | None = None

    def schedule(self, background: BackgroundJobs) -> None:
        background.add(NAME, EVERY_SECONDS, self.run, lease=True)

    async def run(self) -> None:
        """Prune some pages of workspaces; the next run continues after them, and starts again after the last one."""
        deleted = 0
        for _ in range(PAGES_FOR_A_RUN):
            page = await self._workspace_ids(self._after)
            for workspace_id in page:
                self._after = workspace_id  # before the work, so that a workspace that fails does not stop the others
                ctx = await self._enter(workspace_id, NAME)
                deleted += await self._prune(ctx) if ctx else 0
            if not page:
                self._after = None
                break
        if deleted:
            log.info("%d unused client registrations were deleted", deleted)

    async def _prune(self, ctx: WorkspaceContext) -> int:
        registrations = ClientRegistrationRepository(self._store, ctx)
        deleted, after, used = 0, None, None
        while items := await registrations.page(PAGE, after):
            used = await self._keys_in_use(ctx) if used is None else used
            for item in items:
                if item.key.sk not in used:
                    deleted += await registrations.delete_if_unused(item)
            after = items[-1].key.sk
        return deleted

    async def _keys_in_use(self, ctx: WorkspaceContext) -> set[str]:
        """The registrations in use. Read after the list, since those of later grants were used within the last day."""
        grants, keys, after = GrantRepository(self._store, ctx), set(), None
        while page := await grants.page(PAGE, after):
            for grant in page:
                if grant.client.kind == "registered":
                    issuer = msgspec.convert(grant.provider, AuthorizationServer).identity
                    keys.add(registration_key(issuer, grant.client.id))
            after = page[-1].server_id
        return keys
