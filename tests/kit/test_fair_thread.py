import asyncio
import threading

import pytest

from api.kit.fair_thread import FairThread


async def test_owners_have_their_work_done_in_turn() -> None:
    thread, done = FairThread(), list[str]()
    may_begin = threading.Event()

    first = asyncio.create_task(thread.run("first", lambda: may_begin.wait(10)))
    await asyncio.sleep(0)
    many = [asyncio.create_task(thread.run("many", lambda: done.append("many"))) for _ in range(5)]
    await asyncio.sleep(0)
    one = asyncio.create_task(thread.run("one", lambda: done.append("one")))
    await asyncio.sleep(0)
    may_begin.set()
    await asyncio.wait_for(asyncio.gather(first, *many, one), 10)

    assert done == ["many", "one", "many", "many", "many", "many"]


async def test_a_failure_reaches_the_caller_and_the_thread_goes_on() -> None:
    thread = FairThread()

    with pytest.raises(RecursionError):
        await thread.run("a", lambda: _raise(RecursionError()))

    assert await thread.run("a", lambda: 5) == 5


async def test_work_of_a_cancelled_caller_is_dropped() -> None:
    thread, done, may_begin = FairThread(), list[int](), threading.Event()
    running = asyncio.create_task(thread.run("a", lambda: may_begin.wait(10)))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(thread.run("a", lambda: done.append(1)))
    await asyncio.sleep(0)

    running.cancel()
    waiting.cancel()
    may_begin.set()

    assert await thread.run("a", lambda: 5) == 5
    assert not done


def _raise(error: Exception) -> None:
    raise error
