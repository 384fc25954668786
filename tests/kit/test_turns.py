import asyncio

from api.kit.turns import Turns


async def test_a_turn_of_the_loop_has_one_piece_of_all_the_work() -> None:
    turns, pieces, pieces_by_turn = Turns(), 0, list[int]()

    async def work() -> None:
        nonlocal pieces
        for _ in range(10):
            await turns.next()
            pieces += 1

    async def count_by_turn() -> None:
        nonlocal pieces
        while any(not task.done() for task in working):
            pieces_by_turn.append(pieces)
            pieces = 0
            await asyncio.sleep(0)

    working = [asyncio.create_task(work()) for _ in range(16)]
    await count_by_turn()

    assert max(pieces_by_turn) == 1
    assert sum(pieces_by_turn) + pieces == 160


async def test_work_that_is_cancelled_keeps_nobody_from_its_turn() -> None:
    turns = Turns()
    first, second = asyncio.create_task(turns.next()), asyncio.create_task(turns.next())
    await asyncio.sleep(0)

    first.cancel()
    await asyncio.wait_for(second, 1)

    assert first.cancelled()
    await asyncio.wait_for(turns.next(), 1)
