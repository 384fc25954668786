import asyncio

import pytest

from api.kit.storage.conflict_retry import PAUSES, TRIES, retry_on_conflict
from api.kit.storage.store import Conflict, Key, StoreUnavailable

CONFLICT = Conflict([Key("WS#a", "SERVER#s")])


class Work:
    """Meets a conflict so many times, then gets through."""

    def __init__(self, conflicts: int) -> None:
        self.conflicts = conflicts
        self.runs = 0
        self.runs_again = asyncio.Event()

    async def __call__(self) -> str:
        self.runs += 1
        if self.runs > 1:
            self.runs_again.set()
        if self.runs <= self.conflicts:
            raise CONFLICT
        return f"at run {self.runs}"


async def test_work_without_a_conflict_runs_once() -> None:
    work = Work(0)

    assert await retry_on_conflict(work) == "at run 1"
    assert work.runs == 1


async def test_work_that_met_a_conflict_runs_again_from_the_start() -> None:
    assert await retry_on_conflict(Work(3)) == "at run 4"


async def test_retries_end() -> None:
    work = Work(TRIES)

    with pytest.raises(StoreUnavailable, match="too many concurrent"):
        await asyncio.wait_for(retry_on_conflict(work), TRIES * PAUSES.longest)
    assert work.runs == TRIES


@pytest.mark.parametrize("error", [StoreUnavailable("down"), ValueError("a mistake"), KeyError("k")])
async def test_only_a_conflict_is_retried(error: Exception) -> None:
    runs = []

    async def work() -> None:
        runs.append(1)
        raise error

    with pytest.raises(type(error)):
        await retry_on_conflict(work)
    assert len(runs) == 1


async def test_a_retry_can_be_cancelled() -> None:
    work = Work(TRIES)
    trying = asyncio.create_task(retry_on_conflict(work))
    await work.runs_again.wait()
    trying.cancel()

    with pytest.raises(asyncio.CancelledError):
        await trying
    assert work.runs < TRIES


async def test_all_concurrent_increments_succeed() -> None:
    count = 0

    async def add_one() -> None:
        nonlocal count
        read = count
        await asyncio.sleep(0)  # the others read meanwhile
        if count != read:
            raise CONFLICT
        count = read + 1

    await asyncio.gather(*(retry_on_conflict(add_one) for _ in range(30)))

    assert count == 30
