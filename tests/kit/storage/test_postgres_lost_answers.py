"""A write whose commit or its answer is lost happens once, and its caller gets the true result."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from api.kit.storage.postgres.store import PostgresStore
from api.kit.storage.store import (
    Always,
    Change,
    Check,
    Conflict,
    Delete,
    IfAbsent,
    IfPresent,
    IfVersion,
    Item,
    Key,
    Put,
    StoreUnavailable,
)
from api.main.postgres_url import parse_postgres_url
from tests.fakes.postgres import PostgresServer, make_table, new_store
from tests.fakes.postgres_faults import CommitFault, FaultyPostgres, faulty_postgres

OLD = Key("WS#1", "OLD")
NEW = Key("WS#1", "NEW")
OTHER = Key("WS#1", "OTHER")

WRITES: dict[str, Callable[[], list[Change]]] = {
    "put absent": lambda: [Put(NEW, {"by": "us"}, IfAbsent())],
    "put unchanged": lambda: [Put(OLD, {"by": "us"}, IfVersion(1))],
    "put present": lambda: [Put(OLD, {"by": "us"}, IfPresent())],
    "put always": lambda: [Put(OLD, {"by": "us"}, Always())],
    "delete present": lambda: [Delete(OLD, IfPresent())],
    "delete unchanged": lambda: [Delete(OLD, IfVersion(1))],
    "delete always": lambda: [Delete(OLD, Always())],
    "redeem": lambda: [Delete(OLD, IfPresent()), Put(NEW, {"by": "us"}, Always())],
    "move": lambda: [Delete(OLD, IfVersion(1)), Put(NEW, {"by": "us"}, IfAbsent()), Check(OTHER, IfPresent())],
    "check": lambda: [Check(OTHER, IfVersion(1))],
}


@pytest.fixture
async def table(postgres: PostgresServer, postgres_database: str) -> str:
    return await make_table(postgres, postgres_database)


@pytest.fixture
async def theirs(postgres: PostgresServer, postgres_database: str, table: str) -> AsyncIterator[PostgresStore]:
    """The same table over a reliable connection."""
    store = new_store(postgres, postgres_database, table)
    await store.write(Put(OLD, {"by": "someone"}, IfAbsent()), Put(OTHER, {"by": "someone"}, IfAbsent()))
    yield store
    await store.close()


@pytest.fixture
async def wire(postgres: PostgresServer) -> AsyncIterator[FaultyPostgres]:
    async with faulty_postgres(postgres.port) as wire:
        yield wire


@pytest.fixture
async def ours(
    postgres: PostgresServer,
    postgres_database: str,
    table: str,
    wire: FaultyPostgres,
    theirs: PostgresStore,  # noqa: ARG001  it stores what the tests begin with
) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(parse_postgres_url(postgres.url_of(postgres_database, wire.port)), table)
    yield store
    await store.close()


async def everything(store: PostgresStore) -> list[Item]:
    return await store.query("WS#1")


async def after_one(store: PostgresStore, changes: list[Change]) -> list[Item]:
    """What there must be after the changes happened once."""
    items = {item.key: item for item in await everything(store)}
    for change in changes:
        if isinstance(change, Put):
            items[change.key] = Item(change.key, change.data, change.version)
        if isinstance(change, Delete):
            items.pop(change.key)
    return [items[key] for key in sorted(items)]


@pytest.mark.requirement("REL-08")
@pytest.mark.parametrize(
    ("fault", "commits"), [(CommitFault.LOST_ANSWER, 1), (CommitFault.LOST_REQUEST, 2)], ids=["answer", "request"]
)
@pytest.mark.parametrize("kind", WRITES)
async def test_a_write_whose_commit_or_answer_is_lost_happens_once(
    ours: PostgresStore, theirs: PostgresStore, wire: FaultyPostgres, kind: str, fault: CommitFault, commits: int
) -> None:
    changes = WRITES[kind]()
    expected = await after_one(theirs, changes)
    wire.put(fault)

    await ours.write(*changes)

    assert await everything(theirs) == expected
    assert wire.commits == commits


@pytest.mark.requirement("REL-08")
async def test_an_outcome_is_awaited_while_the_server_has_not_decided(
    ours: PostgresStore, theirs: PostgresStore, wire: FaultyPostgres
) -> None:
    wire.put(CommitFault.HELD)

    writing = asyncio.create_task(ours.write(Put(NEW, {"by": "us"}, IfAbsent())))
    await wire.second_connection.wait()
    assert not writing.done()
    assert await theirs.get(NEW) is None
    wire.release()
    await writing

    assert [item.key for item in await everything(theirs)] == [NEW, OLD, OTHER]
    assert wire.commits == 2


@pytest.mark.requirement("REL-08")
async def test_losing_answer_after_answer_still_writes_once(ours: PostgresStore, wire: FaultyPostgres) -> None:
    for number in range(1, 11):
        item = await ours.get(OLD)
        assert item is not None
        wire.put(CommitFault.LOST_REQUEST, CommitFault.LOST_REQUEST, CommitFault.LOST_ANSWER)
        await ours.write(Put(OLD, {"n": item.data.get("n", 0) + 1}, IfVersion(item.version)))
        item = await ours.get(OLD)
        assert item is not None
        assert (item.data, item.version) == ({"n": number}, number + 1)


async def test_a_conflict_behind_a_lost_commit_is_still_a_conflict(
    ours: PostgresStore, theirs: PostgresStore, wire: FaultyPostgres
) -> None:
    wire.put(CommitFault.HELD)
    writing = asyncio.create_task(ours.write(Put(OLD, {"by": "us"}, IfVersion(1))))
    await wire.second_connection.wait()
    overtaking = asyncio.create_task(theirs.write(Put(OLD, {"by": "them"}, Always())))
    while not await waits_for_a_lock(theirs):
        pass

    wire.release()

    await overtaking
    with pytest.raises(Conflict):
        await writing
    item = await theirs.get(OLD)
    assert item is not None
    assert item.data == {"by": "them"}


async def waits_for_a_lock(store: PostgresStore) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    rows = await store.pool.run(lambda session: session.fetch(query), 5)
    return bool(rows[0][0])


@pytest.mark.slow
async def test_an_outcome_that_cannot_be_read_is_neither_success_nor_conflict(
    ours: PostgresStore, theirs: PostgresStore, wire: FaultyPostgres
) -> None:
    wire.put(CommitFault.LOST_ANSWER)
    wire.refuse_after_a_fault()

    with pytest.raises(StoreUnavailable, match="it may have happened"):
        await ours.write(Delete(OLD, IfPresent()))

    assert await theirs.get(OLD) is None


async def test_the_marks_of_connections_are_no_items_of_a_partition(theirs: PostgresStore) -> None:
    await theirs.write(Put(NEW, {}, IfAbsent()))

    assert [item.key for item in await everything(theirs)] == [NEW, OLD, OTHER]
