import asyncio

import pytest

from api.kit.deadline import EVERY_SECONDS, Deadline, Ticker


def ticker() -> Ticker:
    return Ticker(asyncio.get_running_loop())


pytestmark = pytest.mark.requirement("REL-12")


async def test_work_that_takes_too_long_is_cancelled() -> None:
    with pytest.raises(TimeoutError), Deadline(ticker(), 0).enforce():
        await asyncio.Event().wait()


async def test_work_done_in_time_is_not_cancelled() -> None:
    with Deadline(ticker(), 60).enforce():
        await asyncio.sleep(0)

    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


async def test_a_task_may_continue_after_its_deadline() -> None:
    with pytest.raises(TimeoutError), Deadline(ticker(), 0).enforce():
        await asyncio.Event().wait()

    await asyncio.sleep(0)


async def test_a_task_cancelled_by_another_stays_cancelled() -> None:
    began = asyncio.Event()

    async def waits() -> None:
        with Deadline(ticker(), 60).enforce():
            began.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(waits())
    await began.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_late_task_cancelled_by_another_stays_cancelled() -> None:
    async def waits() -> None:
        with Deadline(ticker(), 0).enforce():
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                task.cancel()
                raise

    task = asyncio.create_task(waits())

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_work_is_not_a_timeout() -> None:
    with pytest.raises(ValueError, match="mine"), Deadline(ticker(), 60).enforce():
        raise ValueError("mine")


async def test_the_earlier_of_two_deadlines_applies() -> None:
    with pytest.raises(TimeoutError), Deadline(ticker(), 60).enforce(), Deadline(ticker(), 0).enforce():
        await asyncio.Event().wait()
    with Deadline(ticker(), 60).enforce():
        with pytest.raises(TimeoutError), Deadline(ticker(), 0).enforce():
            await asyncio.Event().wait()
        await asyncio.sleep(0)


async def test_a_deadline_gives_the_time_that_is_left() -> None:
    deadline = Deadline(ticker(), 60)

    assert 59 < deadline.remaining() <= 60
    assert 49 < deadline.earlier(10).remaining() <= 50
    assert Deadline(ticker(), -1).remaining() < 0


async def test_several_tasks_share_a_deadline() -> None:
    deadline = Deadline(ticker(), 0)

    async def waits() -> None:
        with deadline.enforce():
            await asyncio.Event().wait()

    outcomes = await asyncio.gather(waits(), waits(), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [TimeoutError, TimeoutError]


async def test_an_error_in_one_watched_object_ends_no_other_limit() -> None:
    shared, errors = ticker(), list[object]()
    shared.loop.set_exception_handler(lambda _, context: errors.append(context["exception"]))

    class Broken:
        def on_tick(self, _: float) -> None:
            shared.remove(self)
            raise LookupError

    shared.add(Broken())
    with pytest.raises(TimeoutError), Deadline(shared, EVERY_SECONDS * 2).enforce():
        await asyncio.Event().wait()

    assert [type(error) for error in errors] == [LookupError]
