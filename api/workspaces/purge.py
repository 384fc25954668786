"""Deletes the items that deleted workspaces leave behind, as a periodic job."""

from __future__ import annotations

import asyncio

from api.kit.jobs import BackgroundJobs, Job
from api.kit.storage.store import Store
from api.workspaces.repository import WorkspaceDirectory

NAME = "workspace_purge"
EVERY_SECONDS = 3600.0


class WorkspacePurge:
    """A deletion wakes the job, and so does a start: it continues what an earlier process has left."""

    def __init__(self, store: Store) -> None:
        self._workspaces = WorkspaceDirectory(store)
        self._job: Job | None = None

    def schedule(self, jobs: BackgroundJobs) -> None:
        self._job = jobs.add(NAME, EVERY_SECONDS, self._run)
        self._job.wake()

    def wake(self) -> None:
        if self._job:
            self._job.wake()

    async def _run(self) -> None:
        """All at once, so that a large workspace, or one that fails, delays no other."""
        while ids := await self._workspaces.deleted():
            outcomes = await asyncio.gather(*map(self._workspaces.purge, ids), return_exceptions=True)
            if failures := [outcome for outcome in outcomes if outcome is not None]:
                raise failures[0]
