from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.kit.jobs import BackgroundJobs, Job, Outcome
from api.kit.metrics import Metrics
from api.kit.storage.job_lease import JobLease
from api.kit.storage.sqlite import SqliteStore
from tests.fakes.still_clock import StillClock

PARTITION = "SYSTEM"


class Work:
    """A job's work that counts its runs, and waits or fails where a test wants it to."""

    def __init__(self) -> None:
        self.runs = self.ended = 0
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> None:
        self.runs += 1
        await self.gate.wait()
        if self.error:
            raise self.error
        self.ended += 1


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def store(tmp_path: Path, clock: StillClock) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "test.db", clock)
    yield store
    await store.close()


def new_jobs(clock: StillClock, store: SqliteStore | None = None) -> BackgroundJobs:
    """In the middle of every range from which a random number is drawn."""
    return BackgroundJobs(clock, JobLease(store, PARTITION, clock) if store else None, random=lambda: 0.5)


def outcomes(job: Job) -> dict[Outcome, int]:
    return {outcome: count for outcome, count in job.counts.items() if count}


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_job_runs_once_in_each_interval(clock: StillClock) -> None:
    jobs, work = new_jobs(clock), Work()
    job = jobs.add("sweep", 60.0, work)
    await jobs.run_due()
    assert work.runs == 0

    clock.advance(30)  # the first run comes within an interval, not at its end in every process at once
    await jobs.run_due()
    await jobs.run_due()
    assert work.runs == 1

    clock.advance(59)
    await jobs.run_due()
    assert work.runs == 1
    clock.advance(1)
    await jobs.run_due()
    assert work.runs == 2
    assert outcomes(job) == {"succeeded": 2}


@pytest.mark.parametrize(("random", "seconds"), [(0.0, 80.0), (1.0, 120.0)])
async def test_intervals_are_spread_by_the_jitter(clock: StillClock, random: float, seconds: float) -> None:
    jobs, work = BackgroundJobs(clock, random=lambda: random), Work()
    jobs.add("sweep", 100.0, work, jitter=0.2).wake()
    await jobs.run_due()

    clock.advance(seconds - 1)
    await jobs.run_due()
    assert work.runs == 1
    clock.advance(1)
    await jobs.run_due()
    assert work.runs == 2


async def test_a_failed_run_is_logged_and_counted_and_the_next_one_follows(
    clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    jobs, work = new_jobs(clock), Work()
    work.error = RuntimeError("canary")
    job = jobs.add("sweep", 60.0, work)
    other = jobs.add("other", 60.0, Work())
    clock.advance(30)
    with caplog.at_level(logging.ERROR):
        await jobs.run_due()
    assert [(record.message, record.__dict__["detail"]) for record in caplog.records] == [
        ("a background job failed", "sweep")
    ]
    assert job.status.last_run == clock.now()
    assert job.status.last_success is None

    work.error = None
    clock.advance(60)
    await jobs.run_due()

    assert outcomes(job) == {"failed": 1, "succeeded": 1}
    assert outcomes(other) == {"succeeded": 2}
    assert job.status.last_success == clock.now()


async def test_runs_of_one_job_do_not_overlap_and_delay_no_other(clock: StillClock) -> None:
    jobs, slow, quick = new_jobs(clock), Work(), Work()
    slow.gate.clear()
    job = jobs.add("slow", 60.0, slow)
    jobs.add("quick", 60.0, quick)
    jobs.start()
    for _ in range(3):
        clock.advance(60)
        jobs.add(f"more {clock.seconds}", 60.0, Work()).wake()  # lets the scheduler look at the clock
        await settle()

    assert (slow.runs, quick.runs) == (1, 3)
    assert job.status.is_running
    slow.gate.set()
    await jobs.close()
    assert slow.ended == 1


async def test_a_woken_job_runs_at_once_and_again_after_the_run_in_which_it_was_woken(clock: StillClock) -> None:
    jobs, work = new_jobs(clock), Work()
    work.gate.clear()
    job = jobs.add("queue", 60.0, work)
    jobs.start()
    await settle()
    assert work.runs == 0
    job.wake()
    await settle()
    assert work.runs == 1

    job.wake()
    await settle()
    assert work.runs == 1
    work.gate.set()
    await settle()
    assert work.runs == 2

    await jobs.close()


async def test_a_woken_job_still_rests_after_a_long_run(clock: StillClock) -> None:
    jobs, work = new_jobs(clock), Work()
    work.gate.clear()
    job = jobs.add("queue", 60.0, work, rest_factor=10)
    job.wake()
    run = asyncio.create_task(jobs.run_due())
    await settle()
    clock.advance(2)
    work.gate.set()
    await run

    job.wake()
    clock.advance(19)
    await jobs.run_due()
    assert work.runs == 1
    clock.advance(1)
    await jobs.run_due()
    assert work.runs == 2


async def test_closing_finishes_runs_within_the_grace_and_cancels_the_others(clock: StillClock) -> None:
    jobs, endless, quick = new_jobs(clock), Work(), Work()
    endless.gate.clear()
    cancelled = jobs.add("endless", 60.0, endless)
    jobs.add("quick", 60.0, quick)
    jobs.start()
    clock.advance(60)
    cancelled.wake()
    await settle()
    await jobs.close(grace_seconds=0.01)

    cancelled.wake()
    await settle()
    assert (endless.runs, endless.ended, quick.ended) == (1, 0, 1)
    assert not cancelled.is_running
    assert outcomes(cancelled) == {}


async def test_in_a_fleet_one_process_runs_a_leased_job(clock: StillClock, store: SqliteStore) -> None:
    fleet = [new_jobs(clock, store) for _ in range(3)]
    works = [Work() for _ in fleet]
    leased = [jobs.add("prune", 60.0, work, lease=True) for jobs, work in zip(fleet, works, strict=True)]
    clock.advance(30)
    await asyncio.gather(*(jobs.run_due() for jobs in fleet))
    assert sum(work.runs for work in works) == 1
    assert sorted(outcomes(job) == {"skipped": 1} for job in leased) == [False, True, True]

    holder = next(number for number, work in enumerate(works) if work.runs)
    clock.advance(61)
    others = [jobs for number, jobs in enumerate(fleet) if number != holder]
    await asyncio.gather(*(jobs.run_due() for jobs in others))  # the holder has gone
    assert sum(work.runs for work in works) == 2
    assert works[holder].runs == 1


async def test_the_holder_renews_its_lease_before_it_expires(clock: StillClock, store: SqliteStore) -> None:
    first, second = (JobLease(store, PARTITION, clock) for _ in range(2))
    assert await first.acquire("prune", 60)
    clock.advance(59)
    assert await first.acquire("prune", 60)
    clock.advance(59)
    assert not await second.acquire("prune", 60)
    assert await second.acquire("other", 60)
    clock.advance(1)
    assert await second.acquire("prune", 60)
    assert not await first.acquire("prune", 60)


async def test_a_leased_run_ends_with_its_lease(clock: StillClock, store: SqliteStore) -> None:
    jobs, work = new_jobs(clock, store), Work()
    work.gate.clear()
    job = jobs.add("prune", 0.01, work, lease=True)
    clock.advance(1)
    await jobs.run_due()

    assert outcomes(job) == {"failed": 1}


async def test_job_names_are_unique_and_a_lease_needs_a_store(clock: StillClock) -> None:
    jobs = new_jobs(clock)
    jobs.add("sweep", 60.0, Work())
    with pytest.raises(ValueError, match="sweep already"):
        jobs.add("sweep", 60.0, Work())
    with pytest.raises(ValueError, match="no lease"):
        jobs.add("prune", 60.0, Work(), lease=True)


async def test_metrics_show_how_runs_ended(clock: StillClock) -> None:
    jobs, metrics, failing = new_jobs(clock), Metrics("1.0"), Work()
    failing.error = RuntimeError()
    metrics.jobs(jobs.status)
    jobs.add("sweep", 60.0, Work())
    jobs.add("prune", 60.0, failing)
    clock.advance(30)
    await jobs.run_due()

    text = metrics.text().decode()
    for line in (
        'plugboard_job_runs_total{job="sweep",outcome="succeeded"} 1.0',
        'plugboard_job_runs_total{job="prune",outcome="failed"} 1.0',
        'plugboard_job_runs_total{job="prune",outcome="skipped"} 0.0',
        'plugboard_job_running{job="sweep"} 0.0',
        'plugboard_job_last_success_timestamp_seconds{job="sweep"} 1.80000003e+09',
    ):
        assert line in text.splitlines()
    assert 'last_success_timestamp_seconds{job="prune"}' not in text
