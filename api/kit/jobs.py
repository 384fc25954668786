"""Periodic background jobs: named, spread in time, counted, and finished when the process ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

from api.kit.backoff import share
from api.kit.clock import Clock
from api.kit.tasks import BackgroundTasks

JITTER = 0.2
GRACE_SECONDS = 5.0

Work = Callable[[], Awaitable[object]]
Outcome = Literal["succeeded", "failed", "skipped"]

log = logging.getLogger(__name__)


class Lease(Protocol):
    async def acquire(self, name: str, seconds: float) -> bool:
        """Whether this process, and no other, may run the job for the next `seconds`."""
        ...


@dataclass(frozen=True, slots=True)
class JobStatus:
    name: str
    is_running: bool
    last_run: float | None
    """When the last run began, in seconds since 1970."""

    last_success: float | None
    """When the last successful run ended."""

    succeeded: int
    failed: int
    skipped: int
    """Runs that were left to the process that holds the lease."""


@dataclass(slots=True, eq=False)
class Job:
    """One job, when it is due, and how its runs ended. Its runs never overlap."""

    name: str
    interval: float
    work: Work
    jitter: float
    rest_factor: float
    lease: Lease | None
    woken: Callable[[], None]
    due_at: float
    rests_until: float
    is_running: bool = False
    is_wanted: bool = False
    last_run: float | None = None
    last_success: float | None = None
    counts: dict[Outcome, int] = field(default_factory=lambda: {"succeeded": 0, "failed": 0, "skipped": 0})

    def wake(self) -> None:
        """Runs the job as soon as possible; during a run, once more after it."""
        self.is_wanted = True
        self.woken()

    def is_due(self, now: float) -> bool:
        return not self.is_running and now >= self.starts_at

    @property
    def starts_at(self) -> float:
        return self.rests_until if self.is_wanted else self.due_at

    @property
    def status(self) -> JobStatus:
        return JobStatus(self.name, self.is_running, self.last_run, self.last_success, **self.counts)


class BackgroundJobs:
    """The jobs of one process.

    Each job runs in its own task: a slow job delays no other, and a failed run is logged, counted and followed by
    the next one.
    """

    def __init__(self, clock: Clock, lease: Lease | None = None, random: Callable[[], float] = share) -> None:
        self._clock = clock
        self._lease = lease
        self._random = random
        self._jobs: dict[str, Job] = {}
        self._runs = BackgroundTasks()
        self._changed = asyncio.Event()
        self._scheduler: asyncio.Task[None] | None = None

    def add(
        self,
        name: str,
        interval: float,
        work: Work,
        *,
        jitter: float = JITTER,
        lease: bool = False,
        rest_factor: float = 0.0,
    ) -> Job:
        """Runs `work` every `interval` seconds, give or take the share `jitter`; for the first time within an interval.

        With `lease`, one process of a fleet runs it in each interval, and a run ends with its lease. After a run the
        job rests at least `rest_factor` times as long as the run took, also when it is woken.
        """
        if name in self._jobs:
            raise ValueError(f"there is a job {name} already")
        if lease and self._lease is None:
            raise ValueError(f"no lease is available for the job {name}")
        now = self._clock.monotonic()
        due_at = now + interval * self._random()
        held = self._lease if lease else None
        job = Job(name, interval, work, jitter, rest_factor, held, self._changed.set, due_at, rests_until=now)
        self._jobs[name] = job
        self._changed.set()
        return job

    def status(self) -> list[JobStatus]:
        return [job.status for job in list(self._jobs.values())]

    def start(self) -> None:
        self._scheduler = asyncio.create_task(self._schedule())

    async def run_due(self) -> None:
        """Runs what is due now, to its end."""
        self._start_due()
        await self._runs.finish()

    async def close(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """Starts no more runs, and cancels those that outlast the grace."""
        if self._scheduler is not None:
            self._scheduler.cancel()
            await asyncio.wait([self._scheduler])
        await self._runs.finish(grace_seconds)

    async def _schedule(self) -> None:
        while True:
            self._changed.clear()
            self._start_due()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds_to_next()):
                    await self._changed.wait()

    def _seconds_to_next(self) -> float | None:
        """The time of the next run; None if a job has to end, or be added, before there is one."""
        times = [job.starts_at for job in self._jobs.values() if not job.is_running]
        return min(times) - self._clock.monotonic() if times else None

    def _start_due(self) -> None:
        now = self._clock.monotonic()
        for job in self._jobs.values():
            if job.is_due(now):
                job.is_running, job.is_wanted = True, False
                job.last_run = self._clock.now()
                self._runs.start(self._run(job)).add_done_callback(partial(self._on_end, job, now))

    async def _run(self, job: Job) -> Outcome:
        if job.lease is None:
            await job.work()
            return "succeeded"
        if not await job.lease.acquire(job.name, job.interval):
            return "skipped"
        async with asyncio.timeout(job.interval):
            await job.work()
        return "succeeded"

    def _on_end(self, job: Job, began: float, task: asyncio.Task[Outcome]) -> None:
        now = self._clock.monotonic()
        job.is_running = False
        job.rests_until = now + job.rest_factor * (now - began)
        spread = 1 + job.jitter * (2 * self._random() - 1)
        job.due_at = max(now + job.interval * spread, job.rests_until)
        self._changed.set()
        if not task.cancelled():
            self._count(job, task)

    def _count(self, job: Job, task: asyncio.Task[Outcome]) -> None:
        error = task.exception()
        outcome: Outcome = "failed" if error else task.result()
        job.counts[outcome] += 1
        if outcome == "succeeded":
            job.last_success = self._clock.now()
        if error:
            log.error("a background job failed", extra={"detail": job.name}, exc_info=error)
