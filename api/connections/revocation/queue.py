"""The durable queue of tokens to revoke at authorization servers. Jobs survive outages and restarts."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import msgspec

from api.access.context import WorkspaceContext
from api.access.peppers import SYSTEM
from api.connections.dependencies import AuthServerHttpFactory
from api.connections.repository import Grant
from api.connections.revocation.job import PREFIX, RevocationJob, RevocationJobs, RevocationSecrets
from api.kit.backoff import Backoff
from api.kit.clock import Clock
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.jobs import BackgroundJobs, Job
from api.kit.storage.store import Change, Conflict, Delete, IfVersion, Item, Put, Store, StoreUnavailable
from api.servers.server import Server
from integrations import AuthorizationServer, GrantRefused, GrantUnavailable, OAuthClient, revoke

NAME = "revocations"
PAGE = 25
EVERY_SECONDS = CLAIM_SECONDS = 60.0
REST_FACTOR = 10
"""After reading all jobs, the next reading waits for this multiple of its duration: there may be very many jobs."""
LONGEST_WAIT = 6 * 3600.0
BACKOFF = Backoff(first=30.0, longest=LONGEST_WAIT)
KEPT_SECONDS = 7 * 24 * 3600.0
LEAVING_SECONDS = 900.0
"""A workspace that still exists after this time was not deleted: the deletion failed."""
GONE_WAIT = 2.0
IN_TOTAL, FOR_A_HOST, FOR_A_WORKSPACE = 64, 4, 16
"""A slow host, or a workspace with very many jobs, delays only its own jobs."""

WorkspaceExists = Callable[[str], Awaitable[bool]]

log = logging.getLogger(__name__)


class RevocationConcurrency:
    """The limits within one process."""

    def __init__(self) -> None:
        self._workspaces: Counter[str] = Counter()
        self._hosts: Counter[str] = Counter()

    @property
    def is_exhausted(self) -> bool:
        return self._workspaces.total() >= IN_TOTAL

    def acquire(self, workspace: str, host: str) -> bool:
        if self.is_exhausted or self._hosts[host] >= FOR_A_HOST or self._workspaces[workspace] >= FOR_A_WORKSPACE:
            return False
        self._workspaces[workspace] += 1
        self._hosts[host] += 1
        return True

    def release(self, workspace: str, host: str) -> None:
        self._workspaces[workspace] -= 1
        self._hosts[host] -= 1
        self._workspaces, self._hosts = +self._workspaces, +self._hosts  # drops the zeros


class RevocationQueue:
    """The queue of one process. Processes share the stored jobs; a claim ensures that only one runs each job."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        jobs: RevocationJobs,
        auth_http: AuthServerHttpFactory,
        apps: Mapping[str, OAuthClient],
        workspace_exists: WorkspaceExists,
    ) -> None:
        self._store = store
        self._clock = clock
        self._jobs = jobs
        self._auth_http = auth_http
        self._apps = apps
        self._workspace_exists = workspace_exists
        self._job: Job | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._concurrency = RevocationConcurrency()
        self._has_postponed = False
        self._unreadable: set[str] = set()

    async def job_changes(
        self,
        ctx: WorkspaceContext,
        server: Server,
        grant: Grant,
        revoked: RevocationSecrets,
        client: OAuthClient | None,
        *,
        unless_there: bool = False,
    ) -> list[Change]:
        """Empty if the authorization server has no revocation endpoint."""
        if not grant.provider.get("revocation"):
            return []
        return await self._jobs.creation(ctx, server, grant, revoked, client, unless_there=unless_there)

    async def save(self, changes: Sequence[Change]) -> None:
        if changes:
            await self._store.write(*changes)

    def schedule(self, background: BackgroundJobs) -> None:
        """Start with the jobs of earlier processes. Without a schedule, jobs run only in `work_off`."""
        self._job = background.add(NAME, EVERY_SECONDS, self._start_due_and_rest)
        self._job.wake()

    def wake(self) -> None:
        if self._job:
            self._job.wake()

    async def close(self) -> None:
        """Cancels revocations in progress: their jobs remain stored for the next process."""
        tasks = tuple(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def work_off(self) -> None:
        """Run all due jobs, and wait for them."""
        while await self._start_due() or self._running:
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _start_due_and_rest(self) -> None:
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        await self._start_due()
        await asyncio.sleep(REST_FACTOR * (loop.time() - started_at))

    async def _start_due(self) -> bool:
        """Start the due jobs without waiting for them, so that a slow authorization server delays no others.
        Jobs beyond the limits start when others have ended. True if any job was started."""
        after, started = None, 0
        while not self._is_exhausted() and (items := await self._store.query(SYSTEM, PREFIX, limit=PAGE, after=after)):
            started += sum(map(self._start_job, items))
            after = items[-1].key.sk
        return started > 0

    def _start_job(self, item: Item) -> bool:
        sk = item.key.sk
        try:
            job = RevocationJob.of(item)
            host = job.host
        except ValueError as error:
            if sk not in self._unreadable:
                _log_failure(error)
            self._unreadable.add(sk)
            return False
        if job.due > self._clock.now() or sk in self._running:
            return False
        if not self._concurrency.acquire(job.workspace_id, host):
            self._has_postponed = True
            return False
        self._running[sk] = task = asyncio.create_task(self._claim_and_process(item, job))
        task.add_done_callback(partial(self._on_end, sk, job.workspace_id, host))
        return True

    def _is_exhausted(self) -> bool:
        self._has_postponed = self._has_postponed or self._concurrency.is_exhausted
        return self._concurrency.is_exhausted

    def _on_end(self, sk: str, workspace: str, host: str, task: asyncio.Task[None]) -> None:
        del self._running[sk]
        self._concurrency.release(workspace, host)
        if not task.cancelled() and (error := task.exception()):
            _log_failure(error)
        if self._has_postponed:
            self._has_postponed = False
            self.wake()

    async def _claim_and_process(self, item: Item, job: RevocationJob) -> None:
        claim = Put(item.key, replace(job, due=self._clock.now() + CLAIM_SECONDS).encode(), IfVersion(item.version))
        with suppress(Conflict):  # another process has claimed it
            await self._store.write(claim)
            await self._process(replace(item, version=claim.version), job)

    async def _process(self, item: Item, job: RevocationJob) -> None:
        if job.unless_there and await self._workspace_exists(job.unless_there):
            await self._wait_for_deletion(item, job)
            return
        try:
            await self._revoke(item, job)
        except GrantUnavailable as error:
            await self._retry_later(item, job, error)
        except (GrantRefused, CannotOpen, ValueError, KeyError):
            log.warning("a token could not be revoked: the failure is permanent")
            await self._delete(item)
        else:
            await self._delete(item)

    async def _revoke(self, item: Item, job: RevocationJob) -> None:
        revoked = await self._jobs.secrets(item.key, job)
        http = self._auth_http.for_revocation(job.workspace_id, job.service_type, item.key.sk)
        provider = msgspec.convert(job.provider, AuthorizationServer)
        client = self._client(job, provider, revoked)
        await revoke(http, provider, client, access=revoked.access, refresh=revoked.refresh)

    def _client(self, job: RevocationJob, provider: AuthorizationServer, revoked: RevocationSecrets) -> OAuthClient:
        """The client that revokes. For an operator's app, the job waits until it is configured again."""
        if job.client.kind == "service" and provider.revocation and provider.revocation.with_client:
            app = self._apps.get(job.service_type)
            if app is None or app.id != job.client.id:
                raise GrantUnavailable("not_set_up", sent=False)
            return app
        client = {"id": job.client.id, "auth": job.client.auth}
        return msgspec.convert(
            client | {"secret": revoked.client_secret, "private_key": revoked.private_key}, OAuthClient
        )

    async def _wait_for_deletion(self, item: Item, job: RevocationJob) -> None:
        if self._clock.now() - job.since > LEAVING_SECONDS:
            await self._delete(item)
        else:
            await self._postpone(item, job, GONE_WAIT)

    async def _retry_later(self, item: Item, job: RevocationJob, error: GrantUnavailable) -> None:
        if self._clock.now() - job.since > KEPT_SECONDS:
            log.error("a token could not be revoked for a week: giving up")
            await self._delete(item)
            return
        retry_after = min(error.retry_after or 0.0, LONGEST_WAIT)
        await self._postpone(item, job, max(BACKOFF.pause(job.tries), retry_after))

    async def _postpone(self, item: Item, job: RevocationJob, seconds: float) -> None:
        postponed = replace(job, due=self._clock.now() + seconds, tries=job.tries + 1)
        await self._store.write(Put(item.key, postponed.encode(), IfVersion(item.version)))

    async def _delete(self, item: Item) -> None:
        await self._store.write(Delete(item.key, IfVersion(item.version)))


def _log_failure(error: BaseException) -> None:
    if isinstance(error, StoreUnavailable | RootKeyUnavailable):
        log.info("revocations are waiting for the store or the root key")
    else:
        log.error("a revocation job failed", exc_info=error)
