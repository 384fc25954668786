import asyncio

import pytest

from api.kit.storage.revision_cache import CoalescedReads
from api.kit.storage.store import StoreUnavailable

WS = "WS#a"


class Reads:
    """Reads of a number that goes up; each begins when it is asked and ends when it is let go."""

    def __init__(self) -> None:
        self.value = 0
        self.waiting: list[asyncio.Future[None]] = []
        self.keys: list[str] = []
        self.fails = False

    async def __call__(self, key: str) -> int | None:
        value, fails = self.value, self.fails
        gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.keys.append(key)
        self.waiting.append(gate)
        await gate
        if fails:
            raise StoreUnavailable("down")
        return value

    def release(self) -> None:
        gate = self.waiting.pop(0)
        if not gate.cancelled():
            gate.set_result(None)


async def settle() -> None:
    """Lets everything run that can run now."""
    for _ in range(20):
        await asyncio.sleep(0)


def read(shared: CoalescedReads, times: int, key: str = WS) -> list[asyncio.Task[int | None]]:
    return [asyncio.create_task(shared(key)) for _ in range(times)]


async def test_a_single_caller_reads_at_once() -> None:
    reads = Reads()
    shared = CoalescedReads(reads)

    for value in range(3):
        reads.value = value
        (requested,) = read(shared, 1)
        await settle()
        reads.release()
        assert await requested == value


async def test_callers_that_arrive_just_after_a_read_join_the_next_one() -> None:
    reads = Reads()
    shared = CoalescedReads(reads)
    (first,) = read(shared, 1)
    await settle()
    (second,) = read(shared, 1)
    await settle()

    reads.value = 1
    reads.release()
    (third,) = read(shared, 1)
    await settle()
    reads.release()
    await settle()

    assert (await first, second.done(), third.done(), len(reads.keys)) == (0, True, True, 2)
    assert (await second, await third) == (1, 1)


async def test_a_read_in_progress_is_not_shared() -> None:
    reads = Reads()
    shared = CoalescedReads(reads)
    (first,) = read(shared, 1)
    await settle()

    reads.value = 1  # written now, and known to those who ask from now on
    later = read(shared, 5)
    await settle()
    assert len(reads.keys) == 1
    reads.release()
    await settle()
    assert len(reads.keys) == 2
    reads.release()

    assert await first == 0
    assert await asyncio.gather(*later) == [1] * 5


async def test_waiting_callers_share_one_read() -> None:
    reads = Reads()
    shared = CoalescedReads(reads)
    asked = read(shared, 1)
    await settle()

    for turn in range(1, 6):
        reads.value = turn
        asked += read(shared, 100)
        await settle()
        reads.release()
        await settle()
    reads.release()

    responses = await asyncio.gather(*asked)
    assert len(reads.keys) == 6
    assert responses == [0] + [turn for turn in range(1, 6) for _ in range(100)]


async def test_each_partition_has_its_own_reads() -> None:
    reads = Reads()
    shared = CoalescedReads(reads)

    requests = [*read(shared, 1, "WS#a"), *read(shared, 1, "WS#b")]
    await settle()
    assert reads.keys == ["WS#a", "WS#b"]
    reads.release()
    reads.release()

    assert await asyncio.gather(*requests) == [0, 0]


async def test_a_failed_read_fails_only_the_callers_that_share_it() -> None:
    reads = Reads()
    shared = CoalescedReads(reads)
    (first,) = read(shared, 1)
    await settle()
    reads.fails = True
    second = read(shared, 3)
    await settle()
    reads.release()
    await settle()
    reads.fails = False
    third = read(shared, 3)
    await settle()
    reads.release()
    await settle()
    reads.release()

    assert await first == 0
    assert [type(item) for item in await asyncio.gather(*second, return_exceptions=True)] == [StoreUnavailable] * 3
    assert await asyncio.gather(*third) == [0] * 3


@pytest.mark.parametrize("gone", [[0], [1], [2, 3], [0, 1, 2], [1, 2, 3]])
async def test_a_cancelled_caller_cancels_no_other(gone: list[int]) -> None:
    reads = Reads()
    shared = CoalescedReads(reads)
    asked = read(shared, 1)
    await settle()
    asked += read(shared, 3)
    await settle()

    for item in gone:
        asked[item].cancel()
    await settle()
    while reads.waiting:
        reads.release()
        await settle()

    responses = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(response) for response in responses] == [
        asyncio.CancelledError if number in gone else int for number in range(4)
    ]


async def test_after_all_callers_were_cancelled_the_next_one_reads_again() -> None:
    reads = Reads()
    shared = CoalescedReads(reads)
    asked = read(shared, 4)
    await settle()
    for item in asked:
        item.cancel()
    await settle()
    reads.value = 7
    (late,) = read(shared, 1)
    await settle()
    while reads.waiting:
        reads.release()
        await settle()

    assert await late == 7


async def test_no_state_is_left_after_the_last_result() -> None:
    reads = Reads()
    shared = CoalescedReads(reads)
    tasks = asyncio.all_tasks()
    for number in range(50):
        asked = read(shared, 3, f"WS#{number}")
        await settle()
        while reads.waiting:
            reads.release()
            await settle()
        await asyncio.gather(*asked)

    assert shared._waiting == {}
    assert asyncio.all_tasks() == tasks
