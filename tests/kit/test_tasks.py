import asyncio

import pytest

from api.kit.tasks import BackgroundTasks, SingleFlight


async def test_background_tasks_are_kept_until_they_end() -> None:
    tasks, gate = BackgroundTasks(), asyncio.Event()
    task = tasks.start(gate.wait())
    assert len(tasks) == 1

    gate.set()
    await tasks.finish()

    assert task.done()
    assert len(tasks) == 0


async def test_tasks_that_outlast_the_grace_are_cancelled() -> None:
    tasks = BackgroundTasks()
    quick, endless = tasks.start(asyncio.sleep(0)), tasks.start(asyncio.Event().wait())

    await tasks.finish(grace_seconds=0.01)

    assert not quick.cancelled()
    assert endless.cancelled()


async def test_a_task_started_while_the_others_finish_is_finished_too() -> None:
    tasks, ended = BackgroundTasks(), []

    async def first() -> None:
        tasks.start(second())

    async def second() -> None:
        await asyncio.sleep(0)
        ended.append("second")

    tasks.start(first())
    await tasks.finish()

    assert ended == ["second"]


class Loads:
    """Counts the loads that were started, and lets them end together."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.started: list[str] = []
        self.fails = False

    async def load(self, key: str) -> str:
        self.started.append(key)
        await self.gate.wait()
        if self.fails:
            raise ValueError(key)
        return key.upper()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_callers_share_the_task_of_their_key() -> None:
    flight, loads = SingleFlight[str, str](), Loads()
    waiting = [asyncio.create_task(flight.get(key, lambda key=key: loads.load(key))) for key in "aab"]
    await settle()
    loads.gate.set()

    assert await asyncio.gather(*waiting) == ["A", "A", "B"]
    assert loads.started == ["a", "b"]
    assert len(flight) == 0


async def test_a_cancelled_caller_does_not_cancel_the_task() -> None:
    flight, loads = SingleFlight[str, str](), Loads()
    first, second = (asyncio.create_task(flight.get("a", lambda: loads.load("a"))) for _ in range(2))
    await settle()
    first.cancel()
    loads.gate.set()

    assert await second == "A"
    assert loads.started == ["a"]


async def test_a_failure_reaches_the_waiting_callers_and_is_not_kept() -> None:
    kept: dict[str, str] = {}
    flight, loads = SingleFlight[str, str](kept.__setitem__), Loads()
    loads.gate.set()
    loads.fails = True
    with pytest.raises(ValueError, match="a"):
        await flight.get("a", lambda: loads.load("a"))
    loads.fails = False

    assert await flight.get("a", lambda: loads.load("a")) == "A"
    await settle()
    assert kept == {"a": "A"}


async def test_a_result_forgotten_during_its_computation_is_not_kept() -> None:
    kept: dict[str, str] = {}
    flight, loads = SingleFlight[str, str](kept.__setitem__), Loads()
    old = flight.start("a", lambda: loads.load("a"))
    other = flight.start("b", lambda: loads.load("b"))
    flight.forget(lambda key: key == "a")
    new = flight.start("a", lambda: loads.load("a"))
    loads.gate.set()

    assert await asyncio.gather(old, other, new) == ["A", "B", "A"]
    assert new is not old
    await flight.finish()
    assert kept == {"a": "A", "b": "B"}
    assert loads.started == ["a", "b", "a"]


async def test_cancelling_ends_every_task() -> None:
    flight, loads = SingleFlight[str, str](), Loads()
    task = flight.start("a", lambda: loads.load("a"))

    await flight.cancel()

    assert task.cancelled()
    await settle()
    assert len(flight) == 0
